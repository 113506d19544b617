//! Command that a report recommends after a single load: the search for the bottleneck of the same target.

use run::{Protocol, Run};

/// Returns the sentence that recommends `loadline find` for the target of the run. The recommended command has the
/// flags that the target needs. If the load had its own set of requests, the sentence says that the flags for these
/// requests are needed, too.
pub(super) fn sentence(run: &Run) -> String {
    let load = &run.plan.load;
    let version = match &load.protocol {
        Protocol::Http2(_) if load.tls.is_some() => " --http2",
        Protocol::Http3(_) => " --http3",
        _ => "",
    };
    let tls = load.tls.as_ref();
    let insecure = if tls.is_some_and(|tls| tls.insecure) { " --insecure" } else { "" };
    let trusted = tls.and_then(|tls| tls.ca_file.as_ref());
    let trusted = trusted.map_or(String::new(), |file| format!(" --cacert {}", quoted(file)));
    let rest = match (has_plain_requests(run), is_long(run)) {
        (true, false) => "",
        (true, true) => ", with this load's URL",
        (false, false) => ", with the flags of this load's requests",
        (false, true) => ", with this load's URL and the flags of its requests",
    };
    format!("To learn why: `loadline find{}{version}{insecure}{trusted}`{rest}", target(run))
}

/// Returns true if the load sent only GET requests without headers or a body to its URL.
fn has_plain_requests(run: &Run) -> bool {
    let load = &run.plan.load;
    let is_plain = |http: &run::HttpPlan| {
        http.method == "GET" && http.headers.is_empty() && http.body_file.is_none() && http.expect_status.is_none()
    };
    load.requests.is_none() && load.stream.is_none() && load.protocol.http().is_some_and(is_plain)
}

/// Maximum length of a URL that is printed within a command, bytes: four lines of a terminal.
const MAX_URL_BYTES: usize = 320;

fn is_long(run: &Run) -> bool {
    run.plan.target.url.len() > MAX_URL_BYTES
}

/// Returns the target's URL as an argument of a shell command, after a space; empty for the embedded server. Instead of
/// a long URL, returns the placeholder `URL`.
fn target(run: &Run) -> String {
    let url = if is_long(run) { "URL" } else { run.plan.target.url.as_str() };
    if url.is_empty() { String::new() } else { format!(" {}", quoted(url)) }
}

/// Returns a text as one argument of a shell command. A backtick would end the code span that contains the command, so
/// each backtick is escaped as in a URL.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=[]".contains(c);
    if text.chars().all(is_plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''").replace('`', "%60"))
    }
}

#[cfg(test)]
mod tests {
    use run::{HttpPlan, TlsPlan};

    use super::*;

    #[test]
    fn the_next_command_quotes_its_target() {
        let told = |url: &str| {
            let mut run = Run::default();
            run.plan.target.url = url.into();
            target(&run)
        };
        assert_eq!((told(""), told("http://[::1]:80/a")), (String::new(), " http://[::1]:80/a".into()));
        assert_eq!(told(&format!("http://h/{}", "a".repeat(70_000))), " URL");
        assert_eq!(told("http://h/?a=1&b='c'`d`"), r" 'http://h/?a=1&b='\''c'\''%60d%60'");
    }

    #[test]
    fn the_next_command_reaches_the_same_server() {
        let mut run = Run::default();
        run.plan.target.url = "https://h/".into();
        assert_eq!(sentence(&run), "To learn why: `loadline find https://h/`");
        run.plan.load.protocol = Protocol::Http3(HttpPlan::default());
        run.plan.load.tls = Some(TlsPlan { insecure: true, ..TlsPlan::default() });
        assert_eq!(sentence(&run), "To learn why: `loadline find https://h/ --http3 --insecure`");
        run.plan.load.protocol = Protocol::Http2(HttpPlan { method: "POST".into(), ..HttpPlan::default() });
        run.plan.load.tls = Some(TlsPlan { ca_file: Some("my ca.pem".into()), ..TlsPlan::default() });
        let told = sentence(&run);
        let expected =
            "`loadline find https://h/ --http2 --cacert 'my ca.pem'`, with the flags of this load's requests";
        assert!(told.ends_with(expected), "{told}");
    }
}
