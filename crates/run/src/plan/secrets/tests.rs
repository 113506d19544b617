//! Tests of secrets that a saved plan must not contain.

use super::*;
use crate::Plan;

fn sealed(url: &str) -> String {
    unify_placeholders(&Secrets::default().redact_url(url))
}

#[test]
fn a_redacted_value_becomes_a_salted_hash() {
    let mut secrets = Secrets::default();
    let placeholder = secrets.redact("abc");
    assert_eq!(unify_placeholders(&format!("a {placeholder} b {placeholder}")), "a <redacted> b <redacted>");
    // The SHA-256 digest of "abc" without a salt begins with the digits `ba7816bf`.
    assert_ne!(placeholder, "<redacted:ba7816bf>", "without a salt, a list of words would find it");
    assert_eq!(secrets.redact(&placeholder), placeholder);
    assert_eq!(Secrets::default().redact("abc"), placeholder, "equal within a run");
    assert_eq!(secrets.reveal(&format!("a {placeholder}")), "a abc");
    assert!(!format!("{secrets:?}").contains("abc"));
}

#[test]
fn urls_lose_user_information_and_tokens_and_nothing_else() {
    for url in ["http://h:1/a?b=c&page=2#top", "127.0.0.1:80/x?key", "tcp://[::1]:7", "", "http://h/?q=a;b"] {
        assert_eq!(sealed(url), url);
    }
    assert_eq!(sealed("http://u:p@h/"), "http://<redacted>@h/");
    assert_eq!(sealed("/x?a=1&access_token=abc&b=2"), "/x?a=1&access_token=<redacted>&b=2");
    assert_eq!(sealed("h/x?API-Key=abc#id_token=abc"), "h/x?API-Key=<redacted>#id_token=<redacted>");
    assert!(sealed("/x?blob=0123456789abcdef0123456789abcdef").ends_with("<redacted>"));
}

#[test]
fn words_of_a_command_line_are_cleaned_however_they_are_joined() {
    let cleaned = |word: &str| unify_placeholders(&Secrets::default().redact_word(word));
    assert_eq!(cleaned("-HCookie: abc"), "-HCookie: <redacted>");
    assert_eq!(cleaned("--header=X-Api-Key:abc"), "--header=X-Api-Key: <redacted>");
    assert_eq!(cleaned("Authorization: $env:TOKEN"), "Authorization: $env:TOKEN");
    assert_eq!(cleaned("Accept: text/html"), "Accept: text/html");
    assert_eq!(cleaned("http://h/?token=abc"), "http://h/?token=<redacted>");
    assert_eq!(cleaned("--command-a=./server --token abc"), "--command-a=./server --token <redacted>");
}

#[test]
fn a_server_that_echoes_part_of_a_secret_is_scrubbed() {
    let mut secrets = Secrets::default();
    let bearer = secrets.redact("Bearer topsecret1");
    let cookie = secrets.redact("theme=dark; session=cookiesecret");
    assert_eq!(secrets.scrub("no topsecret1 for Bearer topsecret1"), format!("no {bearer} for {bearer}"));
    assert_eq!(secrets.scrub("you sent cookiesecret, a session"), format!("you sent {cookie}, a session"));
}

#[test]
fn the_password_of_a_database_is_revealed_only_to_the_generator() {
    let mut plan = Plan::default();
    let with = |password: &str| Protocol::Postgres {
        user: "app".into(),
        database: String::new(),
        password: password.into(),
        prepared: false,
        local: true,
    };
    plan.load.protocol = with("swordfish");
    plan.redact_secrets(&[]);
    assert!(!serde_json::to_string(&plan).unwrap().contains("swordfish"));
    assert_eq!(plan.load.revealed().protocol, with("swordfish"));
}

/// The token of this test has letters that no hexadecimal digest has, so no placeholder contains the token by
/// chance. If the token were "abc", about one in 200 random digests would contain it.
#[test]
fn a_sealed_plan_reveals_itself_only_for_the_request() {
    let mut plan = Plan::default();
    plan.target.url = "http://h/?token=swordfish".into();
    let headers = [("Cookie", "c=1"), ("X-Mine", "mine"), ("Accept", "a")];
    let headers: Vec<_> = headers.map(|(n, v)| (n.to_string(), v.to_string())).into();
    let (path, slot) = plan.load.protocol.path_and_headers().unwrap();
    (*slot, *path) = (headers.clone(), "/?token=swordfish".into());
    plan.redact_secrets(&["x-mine".into()]);
    let text = serde_json::to_string(&plan).unwrap() + &format!("{plan:?}");
    assert!(!text.contains("swordfish") && !text.contains("c=1") && !text.contains("\"mine\""), "{text}");
    let once = plan.clone();
    plan.redact_secrets(&[]);
    assert_eq!(plan, once, "a second time changes nothing");
    let shown = plan.load.revealed().protocol;
    let shown = shown.http().unwrap();
    assert_eq!((&shown.headers, shown.path.as_str()), (&headers, "/?token=swordfish"));
}
