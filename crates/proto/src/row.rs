//! Row type of the protocol table.

use run::Protocol;

/// A row of [`PROTOCOLS`](crate::PROTOCOLS). The functions of a row receive plans of their own protocol and leave
/// others unchanged.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolSpec {
    /// Name in plans and tables.
    pub name: &'static str,
    /// One-line description of the bytes on the wire.
    pub help: &'static str,
    /// URL schemes; the first is the usual one.
    pub schemes: &'static [Scheme],
    /// Returns the default settings.
    pub defaults: fn() -> Protocol,
    /// Command-line flags that change the settings, in the order in which they take effect.
    pub flags: &'static [Flag],
    /// Completes the settings once all flags have taken effect.
    pub complete: fn(&mut Protocol),
    /// Returns true if a target of this protocol may use these settings of another protocol that a flag selected.
    pub takes: fn(&Protocol) -> bool,
    /// Makes each request this many bytes longer, including the header line. Returns false if that is impossible.
    pub pad: fn(&mut Protocol, usize) -> bool,
    /// Puts the path of a URL into the settings, for schemes without a path; an error refuses the URL.
    pub set_path: fn(&mut Protocol, &str) -> Result<(), String>,
    /// Puts the authority and the path of a URL into the settings.
    pub set_target: fn(&mut Protocol, &str, &str),
    /// Changes the settings for connections with one request: the server is asked to close, so that it keeps TIME_WAIT.
    pub one_request: fn(&mut Protocol),
    /// True if the protocol has responses.
    pub answers: bool,
    /// Name in TLS's negotiation of the inner protocol (ALPN); empty for none.
    pub alpn: &'static str,
    /// Converts the settings to equivalent work without a network: no handshake, and constant answers.
    pub without_network: fn(Protocol) -> Protocol,
    /// Returns a response to one request of these bytes, for drivers without a server.
    pub canned: fn(&Protocol, &[u8]) -> Vec<u8>,
}

impl ProtocolSpec {
    /// Defaults for most rows.
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
        without_network: |plan| plan,
        canned: |_, _| Vec::new(),
    };
}

/// A URL scheme of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Name before `://`.
    pub name: &'static str,
    /// Default port; if absent, a target must name one.
    pub port: Option<u16>,
    /// True if a target has a path.
    pub path: bool,
    /// True if the scheme runs within TLS.
    pub tls: bool,
}

/// A command-line flag.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Name after the two dashes.
    pub name: &'static str,
    /// Letter after one dash.
    pub short: Option<char>,
    /// Placeholder of the flag's value in the help.
    pub value: &'static str,
    /// Description of the flag for help texts, in one line.
    pub help: &'static str,
    /// Another flag that this flag requires.
    pub requires: Option<&'static str>,
    /// Effect of the flag on a plan.
    pub set: FlagValue,
}

/// Value type of a flag, and its effect on a plan.
#[derive(Clone, Copy, Debug)]
pub enum FlagValue {
    /// Accepts any text.
    Text(fn(&mut Protocol, &str)),
    /// A number of bytes.
    Bytes(fn(&mut Protocol, u64)),
    /// A number up to 65535, such as a status.
    Number(fn(&mut Protocol, u16)),
    /// A name and a value; may be repeated.
    Pair(fn(&mut Protocol, &str, &str)),
    /// No value: switches the settings to another protocol.
    Switch(fn(&mut Protocol)),
}
