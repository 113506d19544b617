//! Splits URLs into the server and the path.

use run::UrlParts;

/// Splits a URL into scheme and authority, and path with query. A path alone has no authority. The default scheme is `http`.
pub(crate) fn split(url: &str) -> Result<(Option<String>, String), String> {
    if url.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err("a URL has no blanks or control characters; write them as %20 and the like".into());
    }
    if url.starts_with('/') {
        return Ok((None, without_fragment(url)));
    }
    let written = UrlParts::parse(url);
    let scheme = written.scheme_or_http();
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        let near = run::nearest(scheme, ["http", "https"]).map_or(String::new(), |n| format!("; did you mean {n}://?"));
        return Err(format!("{scheme}:// is not http:// or https://{near}"));
    }
    let authority = written.authority.rsplit_once('@').map_or(written.authority, |(_, host)| host);
    if authority.is_empty() {
        return Err("it names no host; write http://HOST:PORT/PATH or /PATH".into());
    }
    let path = without_fragment(written.path);
    let path = if path.starts_with('/') { path } else { format!("/{path}") };
    Ok((Some(format!("{}://{}", scheme.to_ascii_lowercase(), authority.to_ascii_lowercase())), path))
}

fn without_fragment(path: &str) -> String {
    path.split('#').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_told_apart_and_mistakes_are_named() {
        let of = |url: &str| split(url).unwrap();
        assert_eq!(of("HTTP://H:1/a?b=c#d"), (Some("http://h:1".into()), "/a?b=c".into()));
        assert_eq!(of("https://h?x"), (Some("https://h".into()), "/?x".into()));
        assert_eq!(of("u:p@h/x"), (Some("http://h".into()), "/x".into()));
        assert_eq!(of("/x#y"), (None, "/x".into()));
        assert!(split("htp://h/").unwrap_err().contains("did you mean http://"));
        assert!(split("http:///x").unwrap_err().contains("names no host") && split("/a b").is_err());
    }
}
