//! Writes a set of requests as TOML.

use std::collections::BTreeMap;

use run::{RequestOrder, RequestPlan, RequestSet};

/// Writes a set of requests as TOML. Reading the written TOML gives the same set of requests.
pub fn to_toml(set: &RequestSet) -> String {
    let mut out = String::new();
    if set.order != RequestOrder::Weighted {
        let name = if set.order == RequestOrder::Sequence { "sequence" } else { "shuffle" };
        out += &format!("order = \"{name}\"\n\n");
    }
    if !set.templates && set.requests.iter().any(would_be_filled) {
        out += "# Braces and $env: are sent as they stand.\nverbatim = true\n\n";
    }
    set.requests.iter().for_each(|request| out += &format!("[[request]]\n{}\n", fields(request)));
    out
}

/// Writes the fields of a request, one per line. Leaves out fields with their default values.
fn fields(request: &RequestPlan) -> String {
    let mut out = String::new();
    let mut line = |key: &str, value: String| out += &format!("{key} = {value}\n");
    for (key, text) in [("name", &request.name), ("class", &request.class)] {
        if !text.is_empty() {
            line(key, quoted(text));
        }
    }
    if request.weight != 1.0 {
        line("weight", toml::Value::Float(request.weight).to_string());
    }
    line("method", quoted(&request.method));
    line("path", quoted(&request.path));
    if !request.headers.is_empty() {
        line("headers", headers(&request.headers));
    }
    if request.without_user_agent {
        line("without-user-agent", "true".into());
    }
    for (key, text) in
        [("body", &request.body), ("body-base64", &request.body_base64), ("expect-text", &request.expect_text)]
    {
        if !text.is_empty() {
            line(key, quoted(text));
        }
    }
    if !request.capture.is_empty() {
        let each: Vec<(String, String)> = request.capture.clone().into_iter().collect();
        line("capture", headers(&each));
    }
    if let Some(status) = request.expect_status.or(request.accept_status) {
        line("expect-status", status.to_string());
    }
    out
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}

/// Returns true if a request contains text that looks like a placeholder. If the saved file lacked the key `verbatim`,
/// loadline would replace the placeholder when it reads the file.
fn would_be_filled(request: &RequestPlan) -> bool {
    let holds = |text: &String| text.contains("{{") || text.contains("$env:");
    [&request.path, &request.body].into_iter().any(holds)
        || request.headers.iter().any(|(name, value)| holds(name) || holds(value))
}

/// Writes headers as a table if every name occurs once, otherwise as a list of pairs.
fn headers(all: &[(String, String)]) -> String {
    let names: BTreeMap<_, _> = all.iter().map(|(name, value)| (name, value)).collect();
    let each = |between: &'static str| all.iter().map(move |(name, value)| (name, value, between)).collect::<Vec<_>>();
    if names.len() == all.len() {
        let pairs: Vec<String> =
            each(" = ").iter().map(|(name, value, is)| format!("\"{name}\"{is}{}", quoted(value))).collect();
        return format!("{{ {} }}", pairs.join(", "));
    }
    let pairs: Vec<String> =
        each(", ").iter().map(|(name, value, and)| format!("  [{}{and}{}]", quoted(name), quoted(value))).collect();
    format!("[\n{},\n]", pairs.join(",\n"))
}
