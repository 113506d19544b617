//! Messages about files in a wrong format, such as an access log that was given to `--requests`.

use crate::error::shown;
use crate::formats::{FORMATS, is_json_array};
use crate::log::text_looks_like_log;
use crate::vegeta_target::is_target;

/// Returns the message about a text whose format `--requests` does not read. If loadline knows the format, the message
/// names it.
pub(crate) fn other_form(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let begins = |words: &[&str]| words.iter().any(|word| first.starts_with(word));
    if text_looks_like_log(text) {
        return "it is an access log: give it with --replay FILE instead of --requests".into();
    }
    if is_json_array(text) {
        return "it is a JSON array, which is none of the forms; write one object per line (jq -c '.[]' FILE), with the keys \
                method, url, header and body"
            .into();
    }
    if begins(&["fetch(", "await fetch(", "Invoke-WebRequest", "Invoke-RestMethod", "$session"]) {
        return format!("{} is a request for another program; copy it \"as cURL (bash)\"", shown(first));
    }
    if first.is_empty() {
        return "it is empty: give a file with requests (`loadline list formats`)".into();
    }
    let names: Vec<&str> = FORMATS.iter().map(|row| row.name).collect();
    let first = shown(first);
    format!(
        "its form is not known: its first line is {first}; name the form with --requests-format (import: --format): {}",
        names.join(", ")
    )
}

/// Returns true if a text begins with a vegeta target in JSON, and does not look like an access log.
pub(crate) fn are_targets(text: &str) -> bool {
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(is_target) && !text_looks_like_log(text)
}

/// Returns the message about a text that is no access log, but has a format that loadline knows. Returns `None` for an
/// access log and for an unknown format.
pub(crate) fn no_log(text: &str) -> Option<String> {
    if text_looks_like_log(text) {
        return None;
    }
    if is_json_array(text) {
        return Some(
            "it is a JSON array, not lines of an access log; write one object per line (jq -c '.[]' FILE)".into(),
        );
    }
    let row = FORMATS.iter().find(|row| (row.matches)(text))?;
    Some(format!(
        "it is a file of requests ({}), not an access log: give it with --requests FILE instead of --replay (import: \
         without --format log, --allow and --replay-fields)",
        row.name
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{ReplayOptions, read_text, replay};

    /// An earlier version of loadline replayed vegeta's targets without their bodies and headers. The messages of that
    /// earlier version did not name `--requests`.
    #[test]
    fn a_file_of_requests_is_not_replayed_as_a_log() {
        for (text, form) in [
            (r#"{"method":"POST","url":"http://h/vj","body":"aGVsbG8=","header":{"X":["1"]}}"#, "vegeta"),
            ("{\"method\":\"GET\",\"url\":\"http://h/\"}\n{\"method\":\"GET\",\"url\":\"/b\"}\n", "vegeta"),
            ("GET http://h/a\nX-Id: 8\n", "vegeta"),
            (r#"{"log":{"entries":[{"request":{"method":"GET","url":"http://h/"}}]}}"#, "har"),
            ("{\n  \"log\": {\n    \"entries\": [\n", "har"),
            ("http://h/a\nhttp://h/b\n", "urls"),
            ("/a\nPOST /b\n", "urls"),
            ("# front\n[[request]]\npath = \"/\"\n", "toml"),
            ("[[request]]\npth = \"/\"\n", "toml"),
            ("curl -d \"a\" http://h/\n", "curl"),
        ] {
            let error = replayed(text, "").unwrap_err();
            assert!(
                error.contains(&format!("requests ({form})")) && error.contains("--requests FILE"),
                "{text}: {error}"
            );
        }
        let array = replayed("[{\"time\":1,\"method\":\"GET\",\"path\":\"/\"}]", "").unwrap_err();
        assert!(array.contains("JSON array") && array.contains("jq -c"), "{array}");
    }

    #[test]
    fn a_log_is_not_taken_for_a_file_of_requests() {
        let targets = r#"{"method":"GET","url":"http://h/"}"#;
        assert_eq!(replayed(targets, "path=url,method=method"), Ok(1), "the user says that these are lines of a log");
        let logfmt = "time=2024-05-01T10:00:00Z method=GET path=/x status=200\n";
        let error = replayed(logfmt, "").unwrap_err();
        assert!(error.contains("line 1, column 1: no line is a request to make"), "{error}");
        let error = read_text("f", logfmt, Path::new("."), None).unwrap_err().to_string();
        assert!(error.contains("its form is not known"), "{error}");
        let error = read_text("f", "API_TOKEN=hunter2hunter2\n", Path::new("."), None).unwrap_err().to_string();
        assert!(error.contains("API_TOKEN=<redacted>"), "{error}");
    }

    /// Prepares the replay of a log. Returns the number of different requests in the log.
    fn replayed(text: &str, fields: &str) -> Result<usize, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, text).unwrap();
        let options = ReplayOptions { fields: fields.into(), ..ReplayOptions::default() };
        replay(&path, &options).map(|log| log.requests.len()).map_err(|error| error.to_string())
    }
}
