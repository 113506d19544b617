//! Splits URLs into the server and the path.

use run::UrlParts;

/// Parts of a URL.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SplitUrl {
    /// Scheme and authority, without the scheme's default port; `None` if the text that was split contains only a path.
    pub(crate) origin: Option<String>,
    /// Path with query.
    pub(crate) path: String,
    /// Value of the `Authorization` header, made from the URL's user information; `None` if the URL has none.
    pub(crate) authorization: Option<String>,
}

/// Splits a URL, or a text that is only a path. The default scheme is `http`.
pub(crate) fn split(url: &str) -> Result<SplitUrl, String> {
    without_blanks(url)?;
    if url.starts_with('/') {
        return Ok(SplitUrl { path: without_fragment(url), ..SplitUrl::default() });
    }
    let written = UrlParts::parse(url);
    let scheme = written.scheme_or_http();
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        let near = run::nearest(scheme, ["http", "https"]).map_or(String::new(), |n| format!("; did you mean {n}://?"));
        return Err(format!("{scheme}:// is not http:// or https://{near}"));
    }
    let (user, authority) =
        written.authority.rsplit_once('@').map_or((None, written.authority), |(user, host)| (Some(user), host));
    if authority.is_empty() {
        return Err("it names no host; write http://HOST:PORT/PATH or /PATH".into());
    }
    let path = without_fragment(written.path);
    let path = if path.starts_with('/') { path } else { format!("/{path}") };
    let origin = Some(origin(scheme, authority));
    Ok(SplitUrl { origin, path, authorization: user.filter(|user| !user.is_empty()).map(basic) })
}

/// Returns true if a text begins like a path or like a full URL. A text such as `index.php` names no path that HTTP can
/// ask for, and [`split`] would take it for a host (RFC 9112, section 3.2).
pub(crate) fn is_path_or_full(url: &str) -> bool {
    url.starts_with('/') || UrlParts::parse(url).scheme.is_some()
}

/// Returns an error if a URL or a part of it contains blanks or control characters, which HTTP cannot send.
pub(crate) fn without_blanks(url: &str) -> Result<(), String> {
    match url.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        true => Err("a URL has no blanks or control characters; write them as %20 and the like".into()),
        false => Ok(()),
    }
}

/// Returns scheme and authority in lower case, without the scheme's default port.
pub(crate) fn origin(scheme: &str, authority: &str) -> String {
    let (scheme, authority) = (scheme.to_ascii_lowercase(), authority.to_ascii_lowercase());
    let usual = if scheme == "https" { ":443" } else { ":80" };
    format!("{scheme}://{}", authority.strip_suffix(usual).unwrap_or(&authority))
}

/// Returns the value of `Authorization` for the `NAME:PASSWORD` of a URL (RFC 7617). curl, browsers and Go send the
/// same value.
fn basic(user: &str) -> String {
    let decoded = percent_decoded(user);
    let named = if user.contains(':') { decoded } else { [&decoded[..], b":"].concat() };
    format!("Basic {}", run::to_base64(&named))
}

/// Decodes the escapes `%HH` of a URL.
fn percent_decoded(text: &str) -> Vec<u8> {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let coded = (byte == b'%').then(|| u8::from_str_radix(text.get(at + 1..at + 3)?, 16).ok()).flatten();
        out.push(coded.unwrap_or(byte));
        at += if coded.is_some() { 3 } else { 1 };
    }
    out
}

fn without_fragment(path: &str) -> String {
    path.split('#').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_and_path_are_separated_and_mistakes_named() {
        let of = |url: &str| split(url).map(|url| (url.origin, url.path)).unwrap();
        assert_eq!(of("HTTP://H:1/a?b=c#d"), (Some("http://h:1".into()), "/a?b=c".into()));
        assert_eq!(of("https://h?x"), (Some("https://h".into()), "/?x".into()));
        assert_eq!(of("u:p@h/x"), (Some("http://h".into()), "/x".into()));
        assert_eq!(of("https://h:443/x").0, of("https://h/").0, "the usual port");
        assert_eq!(of("http://h:443/x").0, Some("http://h:443".into()));
        assert_eq!(of("/x#y"), (None, "/x".into()));
        assert!(split("htp://h/").unwrap_err().contains("did you mean http://"));
        assert!(split("http:///x").unwrap_err().contains("names no host") && split("/a b").is_err());
    }

    #[test]
    fn user_information_becomes_a_header() {
        let of = |url: &str| split(url).unwrap().authorization;
        // The example is from RFC 7617, section 2: the user is Aladdin, and the password "open sesame".
        assert_eq!(of("http://Aladdin:open%20sesame@h/").as_deref(), Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
        assert_eq!(of("https://token@h/"), Some(format!("Basic {}", run::to_base64(b"token:"))));
        assert_eq!(of("http://a%é:%@h/"), Some(format!("Basic {}", run::to_base64("a%é:%".as_bytes()))));
        assert_eq!((of("http://@h/"), of("/a@b:c")), (None, None));
    }
}
