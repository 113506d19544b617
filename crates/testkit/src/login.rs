//! A login sequence of two requests. The answer to POST /login contains a token in its body, another token in a header,
//! and a cookie. The second request, GET /me, must contain the two tokens and the cookie from the first answer.

use std::collections::BTreeMap;

use serde_json::Value;

/// Returns the request set in TOML. `body` is the body of the login request, and `more` are further lines for the
/// second request.
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

/// Returns the number of completed requests of each class in the first trial (one load) of a run.
pub fn completed_by_class(run: &Value) -> BTreeMap<String, u64> {
    let all = run["trials"][0]["classes"].as_array().unwrap().iter();
    all.map(|c| (c["name"].as_str().unwrap().to_owned(), c["total"]["completed"].as_u64().unwrap())).collect()
}

/// Checks that more than three requests GET /me completed, and that each login was followed by one completed GET /me.
/// Two exceptions are allowed. First, each connection may end between a login and the following GET /me. Second, the
/// test request before the load may be an additional login.
#[track_caller]
pub fn assert_logged_in(run: &Value, connections: u64) {
    let counts = completed_by_class(run);
    let (login, me) = (counts["login"], counts["me"]);
    assert!(me > 3 && (me..=me + connections + 1).contains(&login), "{login} log-ins, {me} after one");
}
