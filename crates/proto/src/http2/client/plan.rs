//! Settings of the client, shared by all connections of a load.

use std::sync::Arc;

use run::{Protocol, RequestSet, StreamFormat, StreamPlan};

use super::ClientSession;
use super::body_events::BodyEvents;
use crate::http2::hpack::HPACK;
use crate::http2::request::Prepared;
use crate::http2::request_template::TemplateState;
use crate::template::SharedPlan;
use crate::{Client, Mix, ProtoError};

/// Settings that all clients of a load share, checked and prepared.
#[derive(Clone)]
pub struct ClientPlan {
    requests: Arc<[Prepared]>,
    /// The requests for connections that use TLS.
    https: Arc<[Prepared]>,
    is_secure: bool,
    shared: SharedPlan,
    stream: Option<StreamPlan>,
}

impl ClientPlan {
    /// Checks the request, reads its body, and builds its bytes.
    pub fn new(plan: &Protocol) -> Result<Self, ProtoError> {
        Self::with_set(plan, None)
    }

    /// Prepares the requests of `set`, or without a set, the single request of `plan`.
    pub fn with_set(plan: &Protocol, set: Option<&RequestSet>) -> Result<Self, ProtoError> {
        let shared = SharedPlan::new(plan, set);
        let all = |https| Prepared::all(plan, set, https, shared.source.as_deref(), &HPACK);
        Ok(Self { requests: all(false)?, https: all(true)?, is_secure: false, shared, stream: None })
    }

    /// Prepares gRPC calls.
    pub(crate) fn calls(plan: &Protocol) -> Result<Self, ProtoError> {
        let call = |https| Prepared::call(plan, https).map(|call| Arc::new([call]));
        let shared = SharedPlan::new(plan, None);
        Ok(Self { requests: call(false)?, https: call(true)?, is_secure: false, shared, stream: None })
    }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        let live = self.shared.template();
        let live = live
            .map(|(source, seed, cookies)| Box::new(TemplateState::new(source, seed, cookies, self.is_secure, &HPACK)));
        let events = BodyEvents::new(self.stream.clone());
        ClientSession { live, events, ..ClientSession::new(self.requests.clone()) }
    }

    fn with_stream(mut self, stream: &StreamPlan) -> Result<Self, ProtoError> {
        let is_call = self.requests.iter().any(|request| request.grpc);
        let is_right = match stream.format {
            StreamFormat::Grpc => is_call && stream.end.is_empty(),
            StreamFormat::Sse | StreamFormat::Ndjson | StreamFormat::Chunks => !is_call,
            StreamFormat::Ws => false,
        };
        if !is_right {
            return Err(ProtoError::wrong_stream(stream));
        }
        // The requests were just built, so `self` has the only reference to them.
        let all = [Arc::get_mut(&mut self.requests), Arc::get_mut(&mut self.https)];
        all.into_iter().flatten().flatten().for_each(|request| request.is_examined = true);
        Ok(Self { stream: Some(stream.clone()), ..self })
    }

    fn fixed(&self) -> bool {
        self.shared.source.is_none()
    }

    fn within_tls(self) -> Self {
        Self { requests: self.https.clone(), is_secure: true, ..self }
    }

    fn is_idempotent(&self, item: u16) -> bool {
        self.requests.get(usize::from(item)).is_some_and(|request| request.is_idempotent)
    }

    fn mix(&self) -> &Mix {
        &self.shared.mix
    }
}
