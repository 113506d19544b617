//! What the table of protocols says of one: its row.

use run::Protocol;

/// One row of [`PROTOCOLS`](crate::PROTOCOLS). Its functions are given plans of their own protocol; of others they leave everything as it is.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolSpec {
    /// Name in plans and tables.
    pub name: &'static str,
    /// What it says on the wire, in one line.
    pub help: &'static str,
    /// What targets are written with; the first is the usual one.
    pub schemes: &'static [Scheme],
    /// The settings of a plan that says nothing of them.
    pub defaults: fn() -> Protocol,
    /// Flags of the command line that change the settings, in the order in which they take effect.
    pub flags: &'static [Flag],
    /// Adds what follows from the settings once all are known.
    pub complete: fn(&mut Protocol),
    /// Whether the settings of this other protocol are spoken with targets of this one, since a flag asked for it.
    pub takes: fn(&Protocol) -> bool,
    /// Makes each request so many bytes longer, head line and all; false where that cannot be done.
    pub pad: fn(&mut Protocol, usize) -> bool,
    /// Puts the authority and the path of a URL into the settings.
    pub aim: fn(&mut Protocol, &str, &str),
    /// Changes the settings for connections that carry one request: the server is asked to close, so that TIME_WAIT is its.
    pub one_request: fn(&mut Protocol),
    /// Whether a response comes at all.
    pub answers: bool,
    /// Its name when TLS agrees on what is spoken within (ALPN); empty for none.
    pub alpn: &'static str,
    /// The same work where there is no network: no handshake, and answers that are always the same.
    pub without_network: fn(Protocol) -> Protocol,
    /// A response to one request of these bytes, for drivers without a server.
    pub canned: fn(&Protocol, &[u8]) -> Vec<u8>,
}

impl ProtocolSpec {
    /// What most rows leave as it is.
    pub(crate) const BASE: Self = Self {
        name: "",
        help: "",
        schemes: &[],
        defaults: Protocol::default,
        flags: &[],
        complete: |_| {},
        takes: |_| false,
        pad: |_, _| false,
        aim: |_, _, _| {},
        one_request: |_| {},
        answers: true,
        alpn: "",
        without_network: |plan| plan,
        canned: |_, _| Vec::new(),
    };
}

/// How targets of a protocol are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// What stands before `://`.
    pub name: &'static str,
    /// The port where a target names none; absent: it must name one.
    pub port: Option<u16>,
    /// Whether a target has a path.
    pub path: bool,
    /// Whether it is spoken within TLS.
    pub tls: bool,
}

/// One flag of the command line.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Name after the two dashes.
    pub name: &'static str,
    /// Letter after one dash.
    pub short: Option<char>,
    /// Its value as the help shows it.
    pub value: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// The flag without which it has no meaning.
    pub requires: Option<&'static str>,
    /// What it does to a plan.
    pub set: Set,
}

/// What kind of value a flag has and how it enters a plan.
#[derive(Clone, Copy, Debug)]
pub enum Set {
    /// Any text.
    Text(fn(&mut Protocol, &str)),
    /// A number of bytes.
    Bytes(fn(&mut Protocol, u64)),
    /// A number up to 65535, such as a status.
    Number(fn(&mut Protocol, u16)),
    /// A name and a value; may be given again and again.
    Pair(fn(&mut Protocol, &str, &str)),
    /// No value: the settings become those of another protocol.
    Switch(fn(&mut Protocol)),
}
