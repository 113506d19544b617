//! Requests of HTTP clients, from a set of requests or from the single request of the protocol's settings. Headers that
//! all requests of a set share are added to each request.

use std::sync::Arc;

use run::{HttpPlan, Protocol, RequestPlan, RequestSet};

use crate::ProtoError;
use crate::client::read;

/// One request, with all parts that are sent.
pub(crate) struct Item {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) host: String,
    pub(crate) headers: Vec<(String, String)>,
    /// The `User-Agent` that is sent unless a header gives one; `None` to send no `User-Agent`.
    pub(crate) user_agent: Option<&'static str>,
    /// The body; absent if the request has none.
    pub(crate) body: Option<Arc<[u8]>>,
    pub(crate) expect_status: Option<u16>,
    pub(crate) expect_text: String,
    /// Names of the captured values, and their locations in the response.
    pub(crate) capture: Vec<(String, String)>,
}

/// Name and version of loadline, which are sent as the `User-Agent`.
pub(crate) const USER_AGENT: &str = concat!("loadline/", env!("CARGO_PKG_VERSION"));

impl Item {
    /// Returns true if the request has a header of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
    }
}

/// Builds every request of a load with `build`: all requests of the set, or without a set, the single request of the
/// protocol's settings.
pub(crate) fn prepare<T>(
    plan: &Protocol,
    set: Option<&RequestSet>,
    build: impl Fn(Item) -> Result<T, ProtoError>,
) -> Result<Vec<T>, ProtoError> {
    let Some(HttpPlan { method, path, host, headers, body_file, expect_status }) = plan.http() else {
        return Err(ProtoError::Unknown(plan.name()));
    };
    let Some(set) = set else {
        let body = body_file.as_deref().map(|file| read("the request body", file)).transpose()?;
        let (method, path, host, headers) = (method.clone(), path.clone(), host.clone(), headers.clone());
        let (expect_status, expect_text, capture) = (*expect_status, String::new(), Vec::new());
        let user_agent = Some(USER_AGENT);
        let one = Item { method, path, host, headers, user_agent, body, expect_status, expect_text, capture };
        return Ok(vec![build(one)?]);
    };
    let each = |(at, request): (usize, &RequestPlan)| {
        let in_set = |error| ProtoError::InSet { place: at + 1, name: request.called(), error: Box::new(error) };
        item(request, host, headers, *expect_status).and_then(&build).map_err(in_set)
    };
    set.requests.iter().enumerate().map(each).collect()
}

/// Builds a request of a set. Adds the common headers that the request does not have itself.
fn item(
    request: &RequestPlan,
    host: &str,
    common: &[(String, String)],
    expect_status: Option<u16>,
) -> Result<Item, ProtoError> {
    let mut headers = request.headers.clone();
    let own = |name: &str| request.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    headers.extend(common.iter().filter(|(name, _)| !own(name)).cloned());
    let body: Option<Arc<[u8]>> = match (request.body.is_empty(), request.body_base64.is_empty()) {
        (false, _) => Some(request.body.as_bytes().into()),
        (true, false) => Some(run::from_base64(&request.body_base64).ok_or_else(not_base64)?.into()),
        (true, true) => None,
    };
    Ok(Item {
        method: request.method.clone(),
        path: request.path.clone(),
        host: host.into(),
        headers,
        user_agent: Some(USER_AGENT).filter(|_| !request.without_user_agent),
        body,
        expect_status: request.expect_status.or(expect_status),
        expect_text: request.expect_text.clone(),
        capture: request.capture.iter().map(|(name, from)| (name.clone(), from.clone())).collect(),
    })
}

fn not_base64() -> ProtoError {
    let (what, value) = ("the body", "(base64)".into());
    ProtoError::Invalid { what, value, advice: "write it in base64 with padding (RFC 4648, section 4)" }
}
