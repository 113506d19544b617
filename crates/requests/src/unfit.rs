//! Requests of a recording that HTTP cannot send as they stand. loadline leaves out these requests, because one wrong
//! request is no reason to refuse a whole recording.

use run::{RequestPlan, is_token};

/// Reason why a request with the method CONNECT is left out.
pub(crate) const TUNNEL: &str = "CONNECT (it opens a tunnel, and no load can use one)";

/// Returns the reason why HTTP cannot send a request as it stands; `None` if HTTP can send it.
pub(crate) fn why_unfit(request: &RequestPlan) -> Option<&'static str> {
    match () {
        () if !is_token(&request.method) => Some("whose method is not one word such as GET"),
        () if request.method == "CONNECT" => Some(TUNNEL),
        () if unfit_header(request).is_some() => Some("with a header that has a wrong name or a control character"),
        () if named(request, "transfer-encoding").next().is_some() => {
            Some("with a header Transfer-Encoding (bodies are sent whole, not in chunks)")
        }
        () if !states_its_length(request) => Some("with a Content-Length that is not the length of the body"),
        () => None,
    }
}

/// Returns the name of the first header whose name or value HTTP cannot send.
pub(crate) fn unfit_header(request: &RequestPlan) -> Option<&str> {
    let is_control = |byte: u8| byte != b'\t' && (byte < b' ' || byte == 0x7f);
    let is_unfit = |(name, value): &&(String, String)| !is_token(name) || value.bytes().any(is_control);
    request.headers.iter().find(is_unfit).map(|(name, _)| name.as_str())
}

/// Returns true if a request has no Content-Length, or one Content-Length that is the length of its body.
fn states_its_length(request: &RequestPlan) -> bool {
    let coded = || run::from_base64(&request.body_base64).map(|body| body.len());
    let length = if request.body_base64.is_empty() { Some(request.body.len()) } else { coded() };
    let is_length = |value: &str| value.bytes().all(|byte| byte.is_ascii_digit()) && value.parse().ok() == length;
    named(request, "content-length").all(is_length) && named(request, "content-length").count() <= 1
}

/// Returns the values of all headers with a name.
fn named<'a>(request: &'a RequestPlan, wanted: &'static str) -> impl Iterator<Item = &'a str> {
    let is_wanted = move |(name, _): &&(String, String)| name.eq_ignore_ascii_case(wanted);
    request.headers.iter().filter(is_wanted).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_http_cannot_send_is_named() {
        let of = |method: &str, headers: &[(&str, &str)]| {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let body = "abc".to_owned();
            why_unfit(&RequestPlan { method: method.into(), headers, body, ..RequestPlan::default() })
        };
        for (method, headers, says) in [
            ("FETCH IT", &[][..], "method"),
            ("CONNECT", &[], "a tunnel"),
            ("GET", &[("X A", "b")], "wrong name"),
            ("GET", &[("A", "b\nc")], "control character"),
            ("PUT", &[("transfer-encoding", "chunked")], "Transfer-Encoding"),
            ("PUT", &[("Content-Length", "9")], "Content-Length"),
            ("PUT", &[("Content-Length", "3"), ("content-length", "3")], "Content-Length"),
        ] {
            assert!(of(method, headers).is_some_and(|why| why.contains(says)), "{method} {headers:?}");
        }
        assert_eq!(of("PUT", &[("Content-Length", "3"), ("A", "\tü")]), None);
        let coded = RequestPlan {
            headers: vec![("Content-Length".into(), "1".into())],
            body_base64: "/w==".into(),
            ..RequestPlan::default()
        };
        assert_eq!(why_unfit(&coded), None);
    }
}
