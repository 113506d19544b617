//! Unexpected response statuses, with their meanings.

use run::Tally;
use run::number::count;

/// Maximum number of statuses that the report names.
const NAMED: usize = 4;

/// Returns one text for each of the [`NAMED`] most frequent unexpected statuses, and one text for all other unexpected
/// statuses together. An example is `12 of status 429 (Too Many Requests: a rate limit)`.
pub(super) fn each(tally: &Tally) -> Vec<String> {
    let mut known: Vec<(&String, u64)> = tally.unexpected_statuses.iter().map(|(status, n)| (status, *n)).collect();
    known.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    known.truncate(NAMED);
    let rest = tally.unexpected_status.saturating_sub(known.iter().map(|(_, n)| n).sum());
    let known_any = !known.is_empty();
    let texts = known.into_iter().map(|(status, n)| format!("{} of status {}", count(n), name(status)));
    let rest_name = if known_any { "of other unexpected statuses" } else { "error answers" };
    texts.chain((rest > 0).then(|| format!("{} {rest_name}", count(rest)))).collect()
}

/// Returns the most frequent unexpected status, if it accounts for at least half of all failures.
pub(super) fn main(tally: &Tally) -> Option<String> {
    let failed = tally.error_count() + tally.unexpected_status + tally.unanswered;
    let (status, n) = tally.unexpected_statuses.iter().max_by_key(|(_, n)| **n)?;
    (2 * n >= failed && *n > 0).then(|| name(status))
}

/// Returns the number of responses with a status of 4xx and of 5xx that count as good, because the user or the replayed
/// log expects this status. Returns only the classes that occurred, and an empty list if the numbers are not known.
pub(super) fn expected_errors(tally: &Tally) -> Vec<(&'static str, u64)> {
    let listed: u64 = tally.unexpected_statuses.values().sum();
    // If more statuses were unexpected than are listed, the number of the expected ones is not known.
    if listed != tally.unexpected_status {
        return Vec::new();
    }
    let expected = |class: &'static str| {
        let is_of_class = |status: &str| status.len() == 3 && status.starts_with(&class[..1]);
        let refused = tally.unexpected_statuses.iter().filter(|(status, _)| is_of_class(status)).map(|(_, n)| n);
        (class, tally.status.get(class).copied().unwrap_or(0).saturating_sub(refused.sum()))
    };
    ["4xx", "5xx"].map(expected).into_iter().filter(|(_, n)| *n > 0).collect()
}

fn name(status: &str) -> String {
    let meaning = match status {
        "400" => "Bad Request",
        "401" => "Unauthorized: give credentials with -H 'Authorization: …'",
        "403" => "Forbidden",
        "404" => "Not Found: check the path",
        "405" => "Method Not Allowed: check --method",
        "407" => "Proxy Authentication Required",
        "408" => "Request Timeout",
        "413" => "Content Too Large",
        "415" => "Unsupported Media Type: give a Content-Type",
        "429" => "Too Many Requests: a rate limit",
        "500" => "Internal Server Error",
        "502" => "Bad Gateway: a proxy got no valid answer from its upstream",
        "503" => "Service Unavailable",
        "504" => "Gateway Timeout: a proxy got no answer from its upstream",
        _ => return status.into(),
    };
    format!("{status} ({meaning})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_named_and_the_rest_is_counted() {
        let statuses = [("401", 5), ("404", 7), ("429", 100), ("UNAVAILABLE", 1), ("418", 2)];
        let unexpected_statuses = statuses.map(|(status, n)| (status.to_string(), n)).into();
        let mut tally = Tally { unexpected_status: 120, unexpected_statuses, ..Tally::default() };
        let texts = each(&tally);
        assert_eq!(texts.len(), 5);
        assert!(texts[0].starts_with("100 of status 429 (Too Many Requests"), "{texts:?}");
        assert!(texts[1].contains("404 (Not Found") && texts[2].contains("401 (Unauthorized"), "{texts:?}");
        assert_eq!(texts[4], "6 of other unexpected statuses");
        let redis = Tally { unexpected_status: 276, ..Tally::default() };
        assert_eq!(each(&redis), ["276 error answers"]);
        assert!(main(&tally).is_some_and(|status| status.starts_with("429")));
        tally.unanswered = 1000;
        assert_eq!(main(&tally), None);
    }
}
