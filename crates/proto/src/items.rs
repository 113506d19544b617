//! Requests of HTTP clients, from a set of requests or from the single request of the protocol's settings. Headers that
//! belong to all requests of a set are added to each request.

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
    pub(crate) expected: ExpectedStatus,
    pub(crate) expect_text: String,
    /// Names of the captured values, and their locations in the response.
    pub(crate) capture: Vec<(String, String)>,
}

/// Name and version of loadline, which are sent as the `User-Agent`.
pub(crate) const USER_AGENT: &str = concat!("loadline/", env!("CARGO_PKG_VERSION"));

impl Item {
    /// Returns true if the request has a header called `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
    }
}

/// HTTP statuses that an answer may have to count as expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ExpectedStatus {
    /// 2xx and 3xx.
    #[default]
    Usual,
    /// Only the status that the user named.
    Only(u16),
    /// 2xx, 3xx, and the status that the server usually gave in a log or recording.
    UsualOr(u16),
}

impl ExpectedStatus {
    /// Returns the statuses of a right answer: only the named status, or 2xx, 3xx and the accepted status.
    fn new(named: Option<u16>, accepted: Option<u16>) -> Self {
        match (named, accepted) {
            (Some(status), _) => Self::Only(status),
            (None, Some(status)) => Self::UsualOr(status),
            (None, None) => Self::Usual,
        }
    }

    /// Returns true if an answer with the given status is right.
    pub(crate) fn takes(self, status: u16) -> bool {
        let is_usual = (200..400).contains(&status);
        match self {
            Self::Usual => is_usual,
            Self::Only(expected) => status == expected,
            Self::UsualOr(accepted) => is_usual || status == accepted,
        }
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
        let (expect_text, capture) = (String::new(), Vec::new());
        let expected = ExpectedStatus::new(*expect_status, None);
        let user_agent = Some(USER_AGENT);
        let one = Item { method, path, host, headers, user_agent, body, expected, expect_text, capture };
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
        expected: ExpectedStatus::new(request.expect_status.or(expect_status), request.accept_status),
        expect_text: request.expect_text.clone(),
        capture: request.capture.iter().map(|(name, from)| (name.clone(), from.clone())).collect(),
    })
}

fn not_base64() -> ProtoError {
    let (what, value) = ("the body", "(base64)".into());
    ProtoError::Invalid { what, value, advice: "write it in base64 with padding (RFC 4648, section 4)" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_status_replaces_the_usual_ones_and_an_accepted_one_joins_them() {
        let taken = |named, accepted| {
            let expected = ExpectedStatus::new(named, accepted);
            [200, 201, 301, 404, 500].into_iter().filter(|status| expected.takes(*status)).collect::<Vec<u16>>()
        };
        assert_eq!(taken(None, None), [200, 201, 301]);
        assert_eq!(taken(Some(200), None), [200]);
        assert_eq!(taken(Some(404), Some(500)), [404]);
        assert_eq!(taken(None, Some(404)), [200, 201, 301, 404]);
    }
}
