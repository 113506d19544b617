//! Entry type of the table of protocols.

use run::Protocol;

/// Entry of [`PROTOCOLS`](crate::PROTOCOLS). The functions of an entry change only settings of the entry's own
/// protocol.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolSpec {
    /// Name of the protocol in settings and tables.
    pub name: &'static str,
    /// Description of the protocol for help texts, in one line.
    pub help: &'static str,
    /// URL schemes of the protocol. The first scheme is the usual one.
    pub schemes: &'static [Scheme],
    /// Returns the default settings.
    pub defaults: fn() -> Protocol,
    /// Command-line flags that change the settings of the protocol. The flags are applied in the order of this list.
    pub flags: &'static [Flag],
    /// After all flags were applied, adds settings that follow from other settings. For example, if a file is sent as
    /// the body, HTTP adds a Content-Type header for the file.
    pub complete: fn(&mut Protocol),
    /// Returns true if the user may combine a target URL of this protocol with a flag for another protocol. The
    /// argument contains the settings of the other protocol.
    pub takes: fn(&Protocol) -> bool,
    /// Adds a header to each request; the second argument is the length of the whole header in bytes. Returns false if
    /// the protocol cannot make requests longer.
    pub pad: fn(&mut Protocol, usize) -> bool,
    /// Takes settings from the path of a URL, for schemes whose [`Scheme::path`] is false. In Redis, the path is the
    /// number of the database. If this function returns an error, the URL is refused.
    pub set_path: fn(&mut Protocol, &str) -> Result<(), String>,
    /// Takes settings from the authority and the path of a URL.
    pub set_target: fn(&mut Protocol, &str, &str),
    /// Changes the settings for connections with a single request. With HTTP/1.1, the client asks the server to close
    /// the connection, so that TIME_WAIT is on the server's side.
    pub one_request: fn(&mut Protocol),
    /// True if the protocol has responses.
    pub answers: bool,
    /// Name of the protocol in ALPN (protocol negotiation of TLS); empty for none.
    pub alpn: &'static str,
    /// True if the protocol is spoken over UDP instead of TCP. With UDP, each connection has its own connected socket.
    pub datagrams: bool,
    /// Exchange in clear text before TLS; absent if a connection begins with TLS.
    pub before_tls: Option<BeforeTls>,
    /// Converts the settings for measurements without a network, which have no handshake and only constant answers.
    pub without_network: fn(Protocol) -> Protocol,
    /// Returns the prepared response to a request, whose bytes are the second argument, for measurements without a
    /// server. For an empty request, returns the first bytes that a server sends on a connection.
    pub canned: fn(&Protocol, &[u8]) -> Vec<u8>,
}

impl ProtocolSpec {
    /// Default values, which most entries use.
    pub(crate) const DEFAULT: Self = Self {
        name: "",
        help: "",
        schemes: &[],
        defaults: Protocol::default,
        flags: &[],
        complete: |_| {},
        takes: |_| false,
        pad: |_, _| false,
        set_path: |plan, path| Err(format!("{} has no paths: leave out {path:?}", plan.name())),
        set_target: |_, _, _| {},
        one_request: |_| {},
        answers: true,
        alpn: "",
        datagrams: false,
        before_tls: None,
        without_network: |plan| plan,
        canned: |_, _| Vec::new(),
    };
}

/// Request of a client to begin TLS, and the server's answer of one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeforeTls {
    /// Bytes with which the client asks for TLS.
    pub request: &'static [u8],
    /// Answer of a server that accepts TLS.
    pub accepted: u8,
    /// Sentence with advice, if the server gives any other answer.
    pub advice: &'static str,
}

/// A URL scheme of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Name of the scheme, which is in front of `://`.
    pub name: &'static str,
    /// Default port; if absent, a target must have a port.
    pub port: Option<u16>,
    /// True if a target may have any path. If false, [`ProtocolSpec::set_path`] accepts or refuses the target's path.
    pub path: bool,
    /// True if the scheme uses TLS.
    pub tls: bool,
}

/// A command-line flag.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Name of the flag, after the two dashes.
    pub name: &'static str,
    /// Letter of the flag's short form, after one dash.
    pub short: Option<char>,
    /// Placeholder of the flag's value in the help.
    pub value: &'static str,
    /// Description of the flag for help texts, in one line.
    pub help: &'static str,
    /// Name of another flag that this flag needs.
    pub requires: Option<&'static str>,
    /// Effect of the flag on the protocol's settings.
    pub set: FlagValue,
}

/// Type of a flag's value, and effect of the flag on the protocol's settings.
#[derive(Clone, Copy, Debug)]
pub enum FlagValue {
    /// The flag takes a text without restrictions.
    Text(fn(&mut Protocol, &str)),
    /// Any text is allowed, and the flag may be repeated.
    Texts(fn(&mut Protocol, &str)),
    /// The value is a time, which the function gets in seconds.
    Seconds(fn(&mut Protocol, f64)),
    /// The value is a number of bytes.
    Bytes(fn(&mut Protocol, u64)),
    /// The value is a number up to 65535, such as a status.
    Number(fn(&mut Protocol, u16)),
    /// The flag's argument consists of a name and a value, as in a header; the flag may be repeated.
    Pair(fn(&mut Protocol, &str, &str)),
    /// The flag has no value. A flag without a value selects another protocol, or switches a setting on.
    Switch(fn(&mut Protocol)),
}
