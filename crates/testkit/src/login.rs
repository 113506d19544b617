//! A sequence that logs in: POST /login gives a token in its body, another in a header, and a cookie; GET /me wants all three.

use std::collections::BTreeMap;

use serde_json::Value;

/// The set of requests, with this body of the log-in and these further lines of the second request.
pub fn login_sequence(body: &str, more: &str) -> String {
    format!(
        r#"
order = "sequence"

[[request]]
name = "login"
path = "/login"
headers = {{ Content-Type = "application/json" }}
body = '{body}'
capture = {{ token = "json:/auth/token", trace = "header:X-Trace" }}

[[request]]
name = "me"
path = "/me?trace={{{{trace}}}}"
headers = {{ Authorization = "Bearer {{{{token}}}}" }}
{more}
"#
    )
}

/// How many requests of each class were completed in the first trial of a run.
pub fn completed_by_class(run: &Value) -> BTreeMap<String, u64> {
    let all = run["trials"][0]["classes"].as_array().unwrap().iter();
    all.map(|c| (c["name"].as_str().unwrap().to_owned(), c["total"]["completed"].as_u64().unwrap())).collect()
}

/// A connection may end after its log-in, and one log-in is made before the load; every other is followed by its GET /me.
#[track_caller]
pub fn assert_logged_in(run: &Value, connections: u64) {
    let counts = completed_by_class(run);
    let (login, me) = (counts["login"], counts["me"]);
    assert!(me > 3 && (me..=me + connections + 1).contains(&login), "{login} log-ins, {me} after one");
}
