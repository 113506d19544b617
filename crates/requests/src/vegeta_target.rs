//! Distinguishes lines of vegeta's JSON format from lines of a log in JSON.

/// Returns true if a line is a vegeta target, possibly an invalid one. A line of a JSON log also has keys that a target
/// does not have.
pub(crate) fn is_target(line: &str) -> bool {
    let keys = ["method", "url", "header", "body"];
    let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line);
    object.is_ok_and(|all| all.contains_key("url") && all.keys().all(|key| keys.contains(&key.as_str())))
}
