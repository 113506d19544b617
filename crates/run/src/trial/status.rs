//! Classes for counting responses by status.

use super::sqlstate::{is_sqlstate, sqlstate_name};

/// Offset added to gRPC statuses, so that they differ from HTTP statuses.
pub const GRPC_STATUS: u16 = 1000;

/// Names of the status classes: `1xx` to `5xx` for HTTP, the name of each gRPC status, `ERROR` for failed SQL
/// statements, and `other` for numbers that HTTP does not define.
pub const STATUS_CLASSES: [&str; 24] = [
    "1xx",
    "2xx",
    "3xx",
    "4xx",
    "5xx",
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
    "ERROR",
    "other",
];

/// Returns the class of a status as an index into [`STATUS_CLASSES`]. The status is an HTTP status, a gRPC status plus
/// [`GRPC_STATUS`], or the status of a SQLSTATE code. A gRPC status without a name counts as `UNKNOWN`.
pub const fn status_class(status: u16) -> usize {
    match status {
        0..200 => 0,
        200..600 => status as usize / 100 - 1,
        600..GRPC_STATUS => STATUS_CLASSES.len() - 1,
        _ if status <= GRPC_STATUS + 16 => (status - GRPC_STATUS) as usize + 5,
        _ if is_sqlstate(status) => STATUS_CLASSES.len() - 2,
        _ => 7,
    }
}

/// Returns the name of a status: its number, the name of a gRPC status, or a SQLSTATE code with its words.
pub fn status_name(status: u16) -> std::borrow::Cow<'static, str> {
    match status {
        0..GRPC_STATUS => status.to_string().into(),
        _ => sqlstate_name(status).unwrap_or(STATUS_CLASSES[status_class(status)]).into(),
    }
}

/// Returns true if a class of statuses, such as `5xx`, means a refusal or an error, even if the user expects it.
pub fn is_refusing(class: &str) -> bool {
    !class.starts_with(['1', '2', '3']) && class != "OK"
}

/// Returns true if a status, such as 429 or 503, means that the server gets more requests than it accepts.
pub fn is_overload(status: &str) -> bool {
    matches!(status, "429" | "503" | "RESOURCE_EXHAUSTED" | "UNAVAILABLE")
}

/// Returns true if a gateway answered for an upstream that did not answer: the upstream is broken, or gets more
/// requests than it accepts. Only a comparison of loads tells the two apart.
pub fn is_gateway_failure(status: &str) -> bool {
    matches!(status, "502" | "504")
}

/// Returns true if the status by itself shows that a rate limit refused the request.
pub fn is_rate_limit(status: &str) -> bool {
    matches!(status, "429" | "RESOURCE_EXHAUSTED")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_class() {
        let class = |status| STATUS_CLASSES[status_class(status)];
        assert_eq!([100, 200, 404, 599, 600, 999].map(class), ["1xx", "2xx", "4xx", "5xx", "other", "other"]);
        assert_eq!(
            [1000, 1005, 1016, 1017, u16::MAX].map(class),
            ["OK", "NOT_FOUND", "UNAUTHENTICATED", "UNKNOWN", "UNKNOWN"]
        );
        let deadlock = crate::sqlstate_status("40P01");
        assert_eq!((class(deadlock), &*status_name(deadlock)), ("ERROR", "40P01 deadlock detected"));
        assert!(
            is_refusing("ERROR")
                && is_refusing("5xx")
                && is_refusing("UNAVAILABLE")
                && !is_refusing("OK")
                && !is_refusing("3xx")
        );
        assert!([429, 503, GRPC_STATUS + 8, GRPC_STATUS + 14].iter().all(|status| is_overload(&status_name(*status))));
        assert!(is_rate_limit("429") && !is_rate_limit("503"));
        assert!(is_gateway_failure("502") && !is_overload("502") && !is_gateway_failure("503"));
        assert!(!is_overload("404") && !is_overload("500") && !is_overload("INTERNAL"));
    }
}
