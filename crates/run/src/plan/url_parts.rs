//! Splits a target into its parts. Source: RFC 3986, section 3.

/// Parts of a URL or of a short form such as `host:80` or `/path`. The parts are unchanged pieces of the text, without
/// any check or decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrlParts<'a> {
    /// Text before `://`; `None` if there is no `://`.
    pub scheme: Option<&'a str>,
    /// Everything after the scheme: authority and path.
    pub rest: &'a str,
    /// User name, password, host and port; for a unix socket, the first part of its path.
    pub authority: &'a str,
    /// Path, query and fragment; empty if the authority ends the text.
    pub path: &'a str,
}

impl<'a> UrlParts<'a> {
    /// Splits a URL, or a short form of one, into its parts.
    pub fn parse(url: &'a str) -> Self {
        let (scheme, rest) = url.split_once("://").map_or((None, url), |(scheme, rest)| (Some(scheme), rest));
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        Self { scheme, rest, authority, path }
    }

    /// Returns the scheme as written, or `http` if there is none.
    pub fn scheme_or_http(&self) -> &'a str {
        self.scheme.unwrap_or("http")
    }

    /// Returns the protocol's scheme, and true if the URL names a unix socket. `unix` alone means HTTP over a unix
    /// socket; schemes such as `echo+unix` name the protocol.
    pub fn transport(&self) -> (&'a str, bool) {
        let scheme = self.scheme_or_http();
        let at = scheme.len().saturating_sub("+unix".len());
        match scheme.get(at..) {
            _ if scheme.eq_ignore_ascii_case("unix") => ("http", true),
            Some(end) if at > 0 && end.eq_ignore_ascii_case("+unix") => (&scheme[..at], true),
            _ => (scheme, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_to_pieces() {
        let of = |url| {
            let parts = UrlParts::parse(url);
            (parts.scheme, parts.authority, parts.path)
        };
        assert_eq!(of("HTTP://u@h:1/a?b#c"), (Some("HTTP"), "u@h:1", "/a?b#c"));
        assert_eq!(of("h:1?b"), (None, "h:1", "?b"));
        assert_eq!(of("unix:///s:/a"), (Some("unix"), "", "/s:/a"));
        assert_eq!(of("/a"), (None, "", "/a"));
        assert_eq!(of("http://h#f"), (Some("http"), "h", "#f"));
        assert_eq!(of(""), (None, "", ""));
    }

    #[test]
    fn a_scheme_says_protocol_and_transport() {
        let of = |url| UrlParts::parse(url).transport();
        assert_eq!((of("h:1"), of("https://h")), (("http", false), ("https", false)));
        assert_eq!((of("UNIX:///s"), of("echo+Unix:///s")), (("http", true), ("echo", true)));
        assert_eq!((of("+unix:///s"), of("é+unix://")), (("+unix", false), ("é", true)));
    }
}
