//! Settings of the client, shared by all connections of a load.

use std::sync::Arc;

use run::{Protocol, RequestSet, StreamFormat, StreamPlan};

use super::ClientSession;
use super::early_requests::may_be_early;
use crate::http2::client::body_events::BodyEvents;
use crate::http2::request::Prepared;
use crate::http2::request_template::TemplateState;
use crate::http3::qpack::QPACK;
use crate::quic::{ClientSetup, OverQuic};
use crate::template::SharedPlan;
use crate::{Client, Mix, ProtoError};

/// Settings that all clients of a load share, checked and prepared.
#[derive(Clone)]
pub struct ClientPlan {
    requests: Arc<[Prepared]>,
    shared: SharedPlan,
    stream: Option<StreamPlan>,
    /// Configuration of the connections; absent if the plan has no settings of TLS.
    setup: Option<Arc<ClientSetup>>,
}

impl ClientPlan {
    /// Prepares the requests of `set`, or without a set, the single request of `plan`.
    pub fn with_set(plan: &Protocol, set: Option<&RequestSet>) -> Result<Self, ProtoError> {
        let shared = SharedPlan::new(plan, set);
        let requests = Prepared::all(plan, set, true, shared.source.as_deref(), &QPACK)?;
        Ok(Self { requests, shared, stream: None, setup: None })
    }
}

impl OverQuic for ClientPlan {
    fn over(self, setup: Arc<ClientSetup>) -> Self {
        Self { setup: Some(setup), ..self }
    }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        let live = self
            .shared
            .template()
            .map(|(source, seed, cookies)| Box::new(TemplateState::new(source, seed, cookies, true, &QPACK)));
        let events = BodyEvents::new(self.stream.clone());
        ClientSession { live, events, ..ClientSession::new(self.requests.clone(), self.setup.clone()) }
    }

    fn with_stream(mut self, stream: &StreamPlan) -> Result<Self, ProtoError> {
        if !matches!(stream.format, StreamFormat::Sse | StreamFormat::Ndjson | StreamFormat::Chunks) {
            return Err(ProtoError::wrong_stream(stream));
        }
        // The requests were just built, so `self` has the only reference to them.
        let all = Arc::get_mut(&mut self.requests);
        all.into_iter().flatten().for_each(|request| request.is_examined = true);
        Ok(Self { stream: Some(stream.clone()), ..self })
    }

    fn fixed(&self) -> bool {
        self.shared.source.is_none()
    }

    fn is_idempotent(&self, item: u16) -> bool {
        self.requests.get(usize::from(item)).is_some_and(|request| request.is_idempotent)
    }

    fn may_be_early(&self, item: u16) -> bool {
        self.requests.get(usize::from(item)).is_some_and(may_be_early)
    }

    fn mix(&self) -> &Mix {
        &self.shared.mix
    }
}
