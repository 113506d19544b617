//! Table of curl's options and their effects.

/// Effect of an option on the request.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum OptionEffect {
    Method,
    Header,
    /// Adds the given text to the body, or the content of `@FILE` without line ends and NUL bytes.
    Data,
    /// Adds the given text to the body, or the unchanged content of `@FILE`.
    Binary,
    Raw,
    UrlEncoded,
    Json,
    /// Moves the data into the query of the URL.
    Get,
    Head,
    Upload,
    UserAgent,
    Referer,
    Cookie,
    User,
    Url,
    Compressed,
    /// Sends `{` and `[` in the URL as they are, instead of reading them as patterns for several URLs.
    GlobOff,
    /// Sends `.` and `..` in the path as they are.
    PathAsIs,
    /// The option takes no value, and has no effect on the request.
    Ignored,
    /// The option takes a value, and has no effect on the request.
    IgnoredWithValue,
    /// The option has an effect that loadline does not imitate. The text describes the effect of the option to the
    /// user.
    Remark(&'static str),
    /// The option takes a value, and has an effect that loadline does not imitate. The text describes the effect of the
    /// option to the user.
    RemarkWithValue(&'static str),
    /// A multipart form (`-F`), which is not supported.
    Form,
}

use OptionEffect::{
    Binary, Compressed, Cookie, Data, Form, Get, GlobOff, Head, Header, Ignored, IgnoredWithValue, Json, Method,
    PathAsIs, Raw, Referer, Remark, RemarkWithValue, Upload, Url, UrlEncoded, User, UserAgent,
};

const FOLLOW: &str = "redirects are not followed (-L): the redirect itself is measured";
const HTTP2: &str = "the version of HTTP is not taken from curl: give --http2 to loadline for HTTP/2";
const OLD: &str = "HTTP/1.1 is sent, not HTTP/1.0";
const RESOLVE: &str = "--resolve is not followed: give the address as TARGET, and the name with --header 'Host: NAME'";
const TRUST: &str = "certificates are not taken from curl: give --cacert or --insecure to loadline";

/// Each option's letter (a blank for none), name and effect.
pub(super) const OPTIONS: &[(char, &str, OptionEffect)] = &[
    ('X', "request", Method),
    ('H', "header", Header),
    ('d', "data", Data),
    (' ', "data-ascii", Data),
    (' ', "data-binary", Binary),
    (' ', "data-raw", Raw),
    (' ', "data-urlencode", UrlEncoded),
    (' ', "json", Json),
    ('G', "get", Get),
    ('I', "head", Head),
    ('T', "upload-file", Upload),
    ('A', "user-agent", UserAgent),
    ('e', "referer", Referer),
    ('b', "cookie", Cookie),
    ('u', "user", User),
    (' ', "url", Url),
    (' ', "compressed", Compressed),
    ('g', "globoff", GlobOff),
    (' ', "path-as-is", PathAsIs),
    ('F', "form", Form),
    ('s', "silent", Ignored),
    ('S', "show-error", Ignored),
    ('v', "verbose", Ignored),
    ('i', "include", Ignored),
    (' ', "show-headers", Ignored),
    (' ', "basic", Ignored),
    ('L', "location", Remark(FOLLOW)),
    ('k', "insecure", Remark(TRUST)),
    ('f', "fail", Ignored),
    (' ', "fail-with-body", Ignored),
    ('N', "no-buffer", Ignored),
    ('#', "progress-bar", Ignored),
    ('O', "remote-name", Ignored),
    ('0', "http1.0", Remark(OLD)),
    (' ', "http1.1", Ignored),
    (' ', "http2", Remark(HTTP2)),
    (' ', "http2-prior-knowledge", Remark(HTTP2)),
    (' ', "no-progress-meter", Ignored),
    (' ', "tcp-nodelay", Ignored),
    ('4', "ipv4", Ignored),
    ('6', "ipv6", Ignored),
    ('o', "output", IgnoredWithValue),
    ('w', "write-out", IgnoredWithValue),
    ('m', "max-time", IgnoredWithValue),
    (' ', "connect-timeout", IgnoredWithValue),
    (' ', "retry", IgnoredWithValue),
    (' ', "max-redirs", IgnoredWithValue),
    (' ', "resolve", RemarkWithValue(RESOLVE)),
    (' ', "cacert", RemarkWithValue(TRUST)),
    ('D', "dump-header", IgnoredWithValue),
    ('c', "cookie-jar", IgnoredWithValue),
];

/// Returns true if an option takes a value.
pub(super) fn takes_value(effect: OptionEffect) -> bool {
    !matches!(effect, Get | Head | Compressed | GlobOff | PathAsIs | Ignored | Remark(_))
}
