//! Header fields that determine framing, connection and routing. The fields are parsed so strictly that no other
//! program, such as a proxy, can understand them differently.

use std::net::Ipv6Addr;

use super::head::Framing;

/// Facts about the connection, from the fields of a head (RFC 9110, section 7.6.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Hop {
    /// True if the message has `Connection: close`.
    pub close: bool,
    /// True if the message has `Connection: keep-alive`.
    pub keep_alive: bool,
    /// True if there is a Connection or a Keep-Alive field.
    pub named: bool,
    /// True if the head has fields that an intermediary must not forward.
    pub fields: bool,
}

impl Hop {
    /// Returns true if the connection stays open after the exchange (RFC 9112, section 9.3).
    pub const fn persists(&self, minor: u8) -> bool {
        !self.close && (minor > 0 || self.keep_alive)
    }
}

/// Reason for refusing a head, and the status for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Status for the client: 400, 431, 501 or 505.
    pub status: u16,
    /// Reason for the error, in words.
    pub why: &'static str,
}

pub(super) const fn bad(why: &'static str) -> Refused {
    Refused { status: 400, why }
}

/// Values of the fields that determine framing, connection and routing.
#[derive(Default)]
pub(super) struct Fields {
    pub(super) length: Option<u64>,
    /// Number of transfer codings.
    pub(super) codings: u32,
    /// Number of `chunked` codings among the transfer codings.
    pub(super) chunked: u32,
    /// Number of unknown codings among the transfer codings.
    pub(super) unknown: u32,
    /// True if the last coding is `chunked`.
    pub(super) ends_chunked: bool,
    pub(super) coded: bool,
    pub(super) hosts: u32,
    pub(super) expects_continue: bool,
    pub(super) max_forwards: Option<u64>,
    pub(super) hop: Hop,
}

impl Fields {
    pub(super) fn read(lines: &[httparse::Header<'_>]) -> Result<Self, Refused> {
        let mut found = Self::default();
        for line in lines {
            let is = |name: &str| line.name.eq_ignore_ascii_case(name);
            // The length of a field's name is enough to rule out most fields that this function does not need.
            match line.name.len() {
                2 if is("te") => found.hop.fields = true,
                4 if is("host") => found.host(line.value)?,
                6 if is("expect") => found.expects_continue = line.value.eq_ignore_ascii_case(b"100-continue"),
                7 if is("upgrade") => found.hop.fields = true,
                10 if is("connection") => found.connection(line.value),
                10 if is("keep-alive") => (found.hop.named, found.hop.fields) = (true, true),
                12 if is("max-forwards") => once(&mut found.max_forwards, line.value, "Max-Forwards")?,
                14 if is("content-length") => once(&mut found.length, line.value, "Content-Length")?,
                16 if is("proxy-connection") => found.hop.fields = true,
                17 if is("transfer-encoding") => found.coding(line.value),
                _ => {}
            }
        }
        Ok(found)
    }

    pub(super) fn host(&mut self, value: &[u8]) -> Result<(), Refused> {
        self.hosts += 1;
        let right = std::str::from_utf8(value).is_ok_and(is_authority);
        if right { Ok(()) } else { Err(bad("Host is not HOST or HOST:PORT")) }
    }

    pub(super) fn connection(&mut self, value: &[u8]) {
        self.hop.named = true;
        for token in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
            match token {
                t if t.eq_ignore_ascii_case(b"close") => self.hop.close = true,
                t if t.eq_ignore_ascii_case(b"keep-alive") => self.hop.keep_alive = true,
                t => self.hop.fields |= !t.is_empty(),
            }
        }
    }

    pub(super) fn coding(&mut self, value: &[u8]) {
        self.coded = true;
        for token in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
            self.codings += 1;
            self.ends_chunked = token.eq_ignore_ascii_case(b"chunked");
            self.chunked += u32::from(self.ends_chunked);
            let known = ["gzip", "x-gzip", "deflate", "compress", "x-compress"];
            let known = known.iter().any(|name| token.eq_ignore_ascii_case(name.as_bytes()));
            self.unknown += u32::from(!known && !self.ends_chunked);
        }
    }

    /// Determines the framing (RFC 9112, sections 6.1 and 6.3).
    pub(super) fn framing(&self, minor: u8) -> Result<Framing, Refused> {
        match (self.coded, self.length) {
            (false, None) => Ok(Framing::Undeclared),
            (false, Some(length)) => Ok(Framing::Length(length)),
            (true, Some(_)) => Err(bad("Content-Length beside Transfer-Encoding")),
            (true, None) if minor == 0 => Err(bad("Transfer-Encoding in HTTP/1.0")),
            (true, None) if self.ends_chunked && self.codings == 1 => Ok(Framing::Chunked),
            (true, None) if self.ends_chunked && self.chunked == 1 && self.unknown == 0 => {
                Err(Refused { status: 501, why: "a transfer coding besides chunked" })
            }
            (true, None) => Err(bad("Transfer-Encoding does not end with one chunked")),
        }
    }
}

/// Parses the value of a field that may occur only once in a head, and whose value must consist only of digits.
fn once(into: &mut Option<u64>, value: &[u8], why: &'static str) -> Result<(), Refused> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(value).ok().filter(|_| digits).and_then(|t| t.parse().ok());
    match (number, into.is_some()) {
        (Some(number), false) => *into = Some(number),
        _ => return Err(bad(why)),
    }
    Ok(())
}

fn is_name(name: &[u8]) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&b);
    let hex = |b: Option<&u8>| b.is_some_and(u8::is_ascii_hexdigit);
    let right = |at: usize| match name[at] {
        b'%' => hex(name.get(at + 1)) && hex(name.get(at + 2)),
        b => plain(b),
    };
    !name.is_empty() && (0..name.len()).all(right)
}

/// Returns true for a host with an optional port and without a user name (RFC 9110, sections 4.2.4 and 7.2; RFC 3986,
/// section 3.2.2).
pub(super) fn is_authority(text: &str) -> bool {
    let (host_is_right, port) = match text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        Some((address, port)) => (address.parse::<Ipv6Addr>().is_ok(), port),
        None => {
            let (name, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            (is_name(name.as_bytes()), port)
        }
    };
    let number = port.strip_prefix(':').unwrap_or(port);
    let port_is_right =
        number.bytes().all(|b| b.is_ascii_digit()) && (number.is_empty() || number.parse::<u16>().is_ok());
    host_is_right && port_is_right && (port.is_empty() || port.starts_with(':'))
}
