//! Reads URLs as curl does: recognizes patterns that stand for several URLs, and resolves `..` in paths.

/// Escapes with which browsers mark that a character of a copied URL is no part of a pattern.
const ESCAPED: [&str; 4] = [r"\{", r"\}", r"\[", r"\]"];

/// Returns the first character that curl would read as the beginning of a pattern for several URLs (`{a,b}`, `[1-3]`);
/// `None` without a pattern. The brackets of an IPv6 address, empty brackets, and a character after a backslash are no
/// pattern.
pub(super) fn pattern(url: &str) -> Option<char> {
    let authority = run::UrlParts::parse(url).authority;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let is_address = host.starts_with('[') && host.contains(':');
    let searched = if is_address { url.replacen(host, "", 1) } else { url.to_owned() };
    // A blank replaces what is no pattern, so that the characters beside it do not become neighbours.
    let searched = ESCAPED.iter().chain(&["[]"]).fold(searched, |url, literal| url.replace(literal, " "));
    searched.chars().find(|c| "{}[]".contains(*c))
}

/// Removes the backslashes before `{`, `}`, `[` and `]`, as curl does.
pub(super) fn unescaped(url: &str) -> String {
    ESCAPED.iter().fold(url.to_owned(), |url, escaped| url.replace(escaped, &escaped[1..]))
}

/// Removes the segments `.` and `..` from a path, and keeps the query after the path (RFC 3986, section 5.2.4). curl
/// also removes these segments, except with `--path-as-is`.
pub(super) fn without_dot_segments(path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut kept: Vec<&str> = Vec::new();
    let mut ends_in_folder = false;
    for segment in path.split('/').skip(1) {
        ends_in_folder = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            other => kept.push(other),
        }
    }
    let end = if ends_in_folder && !kept.is_empty() { "/" } else { "" };
    format!("/{}{end}{query}", kept.join("/"))
}

/// Percent-encodes a file name for use in a URL path.
pub(super) fn encoded_name(name: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    name.bytes().map(|b| if keep(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_removed_as_curl_does() {
        for (path, sent) in [
            ("/a/b/../c", "/a/c"),
            ("/../../x", "/x"),
            ("/a/./b/.", "/a/b/"),
            ("/a/..", "/"),
            ("/a/b/..", "/a/"),
            ("/a//b/", "/a//b/"),
            ("/a?x=/../y", "/a?x=/../y"),
            ("/", "/"),
            ("/a...b/..c", "/a...b/..c"),
        ] {
            assert_eq!(without_dot_segments(path), sent, "{path}");
        }
    }

    #[test]
    fn an_ipv6_address_is_no_pattern() {
        assert_eq!(pattern("http://[::1]:80/a"), None);
        assert_eq!((pattern("http://[::1]:80/a[1-2]"), pattern("http://h[1-3]/")), (Some('['), Some('[')));
        assert_eq!(pattern("http://h/{a,b}"), Some('{'));
    }

    #[test]
    fn escaped_characters_and_empty_brackets_are_no_pattern() {
        for url in [r"h/?a\[\]=1", "h/?a[]=1", r"h/\{b\}", r"http://\[::1\]/"] {
            assert_eq!(pattern(url), None, "{url}");
        }
        assert_eq!((pattern(r"h/\[1-2]"), pattern(r"h/[\[]"), pattern("h/[[]]")), (Some(']'), Some('['), Some('[')));
        assert_eq!(unescaped(r"h/?a\[\]=\{1\}&b=\\[\x"), r"h/?a[]={1}&b=\[\x");
    }
}
