//! Malformed messages that two parsers could understand differently, each with the section of the RFC that forbids it.
//! The request [`HIDDEN`] follows each message. A server that answers or forwards the hidden request after a malformed
//! message has failed the test.

/// The hidden request, which the client did not intend to make.
pub(crate) const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";

/// One message that a smuggling test sends.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Section of RFC 9110 or 9112.
    pub(crate) section: &'static str,
    /// Expected status of the response.
    pub(crate) status: u16,
    pub(crate) bytes: &'static str,
}

const fn shape(name: &'static str, section: &'static str, status: u16, bytes: &'static str) -> Shape {
    Shape { name, section, status, bytes }
}

/// Messages with a malformed head; the proxy must not forward any byte of them.
pub(crate) const HEADS: &[Shape] = &[
    shape("lines end with LF", "9112 2.2", 400, "GET / HTTP/1.1\nHost: x\n\n"),
    shape("one line ends with LF", "9112 2.2", 400, "GET / HTTP/1.1\r\nHost: x\nX: y\r\n\r\n"),
    shape("the last line ends with LF", "9112 2.2", 400, "GET / HTTP/1.1\r\nHost: x\r\n\n"),
    shape(
        "a request behind an LF",
        "9112 2.2",
        400,
        "GET / HTTP/1.1\r\nHost: x\r\nX: y\n\nGET /hidden HTTP/1.1\r\n\r\n",
    ),
    shape(
        "a length behind an LF",
        "9112 2.2",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nX: y\nContent-Length: 5\r\n\r\nhello",
    ),
    shape("an LF before the request", "9112 2.2", 400, "\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    shape("a bare CR in a value", "9112 2.2", 400, "GET / HTTP/1.1\r\nHost: x\r\nX: a\rContent-Length: 5\r\n\r\n"),
    shape("white space before the first field", "9112 2.2", 400, "GET / HTTP/1.1\r\n Host: x\r\n\r\n"),
    shape("two spaces in the request line", "9112 3", 400, "GET  / HTTP/1.1\r\nHost: x\r\n\r\n"),
    shape("no version", "9112 3", 400, "GET /\r\nHost: x\r\n\r\n"),
    shape("a version that is none", "9112 2.3", 505, "GET / HTTP/1.9\r\nHost: x\r\n\r\n"),
    shape("a tab in the request line", "9112 3", 400, "GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n"),
    shape("a target with a fragment", "9112 3.2", 400, "GET /#x HTTP/1.1\r\nHost: x\r\n\r\n"),
    shape("a target that is no path", "9112 3.2", 400, "GET x HTTP/1.1\r\nHost: x\r\n\r\n"),
    shape("an absolute target with a user", "9110 4.2.4", 400, "GET http://u@x/ HTTP/1.1\r\nHost: x\r\n\r\n"),
    shape("no Host", "9112 3.2", 400, "GET / HTTP/1.1\r\nX: y\r\n\r\n"),
    shape("two Hosts", "9112 3.2", 400, "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
    shape("the same Host twice", "9112 3.2", 400, "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"),
    shape("a Host with a path", "9112 3.2", 400, "GET / HTTP/1.1\r\nHost: x/y\r\n\r\n"),
    shape("a Host with a user", "9112 3.2", 400, "GET / HTTP/1.1\r\nHost: u@x\r\n\r\n"),
    shape("a Host with a space", "9112 3.2", 400, "GET / HTTP/1.1\r\nHost: x y\r\n\r\n"),
    shape("a Host with two ports", "9112 3.2", 400, "GET / HTTP/1.1\r\nHost: x:1:2\r\n\r\n"),
    shape("an empty Host", "9112 3.2", 400, "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
    shape("a space before the colon", "9112 5.1", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 5\r\n\r\nhello"),
    shape("a field without a colon", "9112 5", 400, "GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n"),
    shape("a field without a name", "9112 5", 400, "GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n"),
    shape("a folded line", "9112 5.2", 400, "POST / HTTP/1.1\r\nHost: x\r\nX: y\r\n Content-Length: 5\r\n\r\nhello"),
    shape(
        "a folded coding",
        "9112 5.2",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    ),
    shape("a NUL in a value", "9110 5.5", 400, "GET / HTTP/1.1\r\nHost: x\r\nX: \0\r\n\r\n"),
    shape("a NUL in a name", "9110 5.1", 400, "GET / HTTP/1.1\r\nHost: x\r\nX\0: y\r\n\r\n"),
    shape(
        "both framings",
        "9112 6.3",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    shape(
        "both framings, the other way round",
        "9112 6.3",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n",
    ),
    shape(
        "chunked twice",
        "9112 7",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    ),
    shape(
        "chunked in two fields",
        "9112 7",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    shape(
        "chunked is not the last",
        "9112 6.3",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    ),
    shape(
        "a coding that is none",
        "9112 6.3",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    ),
    shape(
        "a coding before chunked that nobody knows",
        "9112 6.3",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n",
    ),
    shape(
        "a coding before chunked",
        "9112 6.1",
        501,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ),
    shape(
        "a coding in quotes",
        "9112 6.3",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \"chunked\"\r\n\r\n",
    ),
    shape("an empty coding", "9112 6.3", 400, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n"),
    shape(
        "a VT before the coding",
        "9110 5.5",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \x0bchunked\r\n\r\n",
    ),
    shape(
        "a coding in HTTP/1.0",
        "9112 6.1",
        400,
        "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    shape(
        "two lengths",
        "9112 6.3",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    ),
    shape(
        "the same length twice",
        "9110 8.6",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    ),
    shape("a list of lengths", "9110 8.6", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\nhello"),
    shape("a length with a sign", "9110 8.6", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello"),
    shape("a negative length", "9110 8.6", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\nhello"),
    shape("a hexadecimal length", "9110 8.6", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x5\r\n\r\nhello"),
    shape("a length with a space", "9110 8.6", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5 5\r\n\r\nhello"),
    shape("an empty length", "9110 8.6", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\nhello"),
    shape(
        "a length beyond 64 bits",
        "9110 8.6",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551621\r\n\r\nhello",
    ),
    shape("TRACE with a body", "9110 9.3.8", 400, "TRACE / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"),
    shape(
        "Max-Forwards that is no number",
        "9110 7.6.2",
        400,
        "TRACE / HTTP/1.1\r\nHost: x\r\nMax-Forwards: -1\r\n\r\n",
    ),
];

/// Head that precedes each of [`CHUNKS`].
pub(crate) const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Malformed chunks after a valid head. The parser must refuse the chunks before it finds an end of the body.
pub(crate) const CHUNKS: &[Shape] = &[
    shape("a size ends with LF", "9112 7.1", 400, "5\nhello\r\n0\r\n\r\n"),
    shape("data ends with LF", "9112 7.1", 400, "5\r\nhello\n0\r\n\r\n"),
    shape("data ends with CR", "9112 7.1", 400, "5\r\nhello\r0\r\n\r\n"),
    shape("the last chunk ends with LF", "9112 7.1", 400, "0\n\n"),
    shape("the body ends with LF", "9112 7.1", 400, "0\r\n\n"),
    shape("an LF inside an extension", "9112 7.1.1", 400, "2;\nxx\r\n4c\r\n0\r\n\r\n"),
    shape("a CR inside an extension", "9112 7.1.1", 400, "5;a\rb\r\nhello\r\n0\r\n\r\n"),
    shape("a NUL inside an extension", "9112 7.1.1", 400, "5;\0\r\nhello\r\n0\r\n\r\n"),
    shape("an extension without a semicolon", "9112 7.1.1", 400, "5 x\r\nhello\r\n0\r\n\r\n"),
    shape("a space behind a size", "9112 7.1.1", 400, "5 \r\nhello\r\n0\r\n\r\n"),
    shape("a space before a size", "9112 7.1", 400, " 5\r\nhello\r\n0\r\n\r\n"),
    shape("a size with a prefix", "9112 7.1", 400, "0x5\r\nhello\r\n0\r\n\r\n"),
    shape("a size with a sign", "9112 7.1", 400, "+5\r\nhello\r\n0\r\n\r\n"),
    shape("a negative size", "9112 7.1", 400, "-5\r\nhello\r\n0\r\n\r\n"),
    shape("no size", "9112 7.1", 400, "\r\nhello\r\n0\r\n\r\n"),
    shape("a size beyond 64 bits", "9112 7.1", 400, "10000000000000005\r\nhello\r\n0\r\n\r\n"),
    shape("data beyond its size", "9112 7.1", 400, "4\r\nhello\r\n0\r\n\r\n"),
    shape("a trailer ends with LF", "9112 7.1.2", 400, "0\r\nX: y\n\r\n"),
    shape("a trailer without a colon", "9112 7.1.2", 400, "0\r\nnonsense\r\n\r\n"),
    shape("a folded trailer", "9112 5.2", 400, "0\r\nX: y\r\n z\r\n\r\n"),
];

/// Unusual but valid messages. Each message and the hidden request after it must be answered.
pub(crate) const RIGHT: &[&str] = &[
    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET / HTTP/1.1\r\nhost:  x:80  \r\n\r\n",
    "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
    "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET http://x/ HTTP/1.1\r\nHost: y\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 05\r\n\r\nhello",
    "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n5 ; a=\"b c\"\r\nhello\r\n0\r\nX: y\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0005\r\n0\r\n\r\n\r\n0\r\n\r\n",
];
