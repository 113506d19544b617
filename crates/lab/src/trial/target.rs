//! Resolves a target, as the user wrote it, to an address and a protocol, before anything is sent. Source: RFC 3986
//! section 3.

use std::net::SocketAddr;

use proto::{PROTOCOLS, ProtocolSpec};
use run::{Address, Protocol, UrlParts};

use crate::LabError;
use crate::preflight::{look_up, not_found};

/// A target with its address, to which a load can be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Address to connect to.
    pub addr: Address,
    /// Further addresses of the name, in the order of the resolver.
    pub others: Vec<SocketAddr>,
    /// Protocol of the load.
    pub protocol: Protocol,
    /// Server name for TLS; `None` without TLS.
    pub tls_name: Option<String>,
}

/// A target before its host name is looked up.
pub(crate) struct ParsedTarget {
    url: String,
    place: Place,
    protocol: Protocol,
    tls_name: Option<String>,
}

enum Place {
    Unix(String),
    Inet { host: String, port: u16 },
}

impl ParsedTarget {
    /// Looks up the host with `look_up`. Fails if `look_up` returns no address.
    pub(crate) fn resolved(
        self,
        look_up: impl FnOnce(&str, u16) -> Result<Vec<SocketAddr>, String>,
    ) -> Result<Resolved, LabError> {
        let fail = |why: String| LabError::Target { target: self.url.clone(), why };
        let (addr, others) = match &self.place {
            Place::Unix(socket) => (Address::Unix(socket.into()), Vec::new()),
            Place::Inet { host, port } => {
                let mut all = look_up(host, *port).map_err(&fail)?;
                if all.is_empty() {
                    return Err(fail(not_found(host, &"no address")));
                }
                (all.remove(0).into(), all)
            }
        };
        Ok(Resolved { addr, others, protocol: self.protocol, tls_name: self.tls_name })
    }
}

/// Parses a target and looks up its host name on this host. `asked` is the protocol with settings from flags or from a
/// plan. The scheme of the target determines the protocol. The settings in `asked` are kept if they belong to this
/// protocol.
pub fn resolve(target: &str, asked: &Protocol) -> Result<Resolved, LabError> {
    parse(target, asked)?.resolved(look_up)
}

/// Parses a target without looking up its host name; see [`resolve`].
pub(crate) fn parse(target: &str, asked: &Protocol) -> Result<ParsedTarget, LabError> {
    let fail = |why: String| LabError::Target { target: target.into(), why };
    if let Some(path) = target.strip_prefix("unix:/").filter(|path| !path.starts_with('/')) {
        return Err(fail(format!("a socket's path follows unix://; write unix:///{path}")));
    }
    let parts = UrlParts::parse(target);
    let (scheme, (_, by_unix)) = (parts.scheme_or_http(), parts.transport());
    let (row, written) = proto::by_url(target).ok_or_else(|| fail(unknown(scheme)))?;
    if by_unix {
        let (socket, path) = socket_and_path(without_fragment(parts.rest)).map_err(&fail)?;
        check_path(path).map_err(&fail)?;
        return Ok(ParsedTarget {
            url: target.into(),
            place: Place::Unix(socket.into()),
            protocol: protocol((row, written), "localhost", path, asked).map_err(&fail)?,
            tls_name: written.tls.then(|| "localhost".into()),
        });
    }
    let (authority, path) = (parts.authority, without_fragment(parts.path));
    if authority.contains('@') {
        return Err(fail(format!("it contains a user name; give credentials with {}", credentials_flag(row))));
    }
    if authority.is_empty() || authority.strip_prefix(':').is_some_and(|port| !port.contains(':')) {
        return Err(fail("it has no host; write http://HOST:PORT/PATH".into()));
    }
    if is_scheme(authority) && target.starts_with(&format!("{authority}//")) {
        return Err(fail(format!("write {authority}:// instead of {authority}//")));
    }
    let (host, port) = host_and_port(authority).map_err(&fail)?;
    let port = port.or(written.port);
    let port = port.ok_or_else(|| fail(format!("{scheme}:// needs a port: {scheme}://{authority}:PORT")))?;
    check_path(path).map_err(&fail)?;
    Ok(ParsedTarget {
        url: target.into(),
        place: Place::Inet { host: host.into(), port },
        protocol: protocol((row, written), authority, path, asked).map_err(&fail)?,
        tls_name: written.tls.then(|| host.to_owned()),
    })
}

fn without_fragment(text: &str) -> &str {
    text.split('#').next().unwrap_or(text)
}

/// Splits `/run/app.sock:/path` into the socket and the path of the request.
fn socket_and_path(rest: &str) -> Result<(&str, &str), String> {
    let (socket, path) = rest.find(":/").map_or((rest, ""), |at| (&rest[..at], &rest[at + 1..]));
    match socket {
        "" => Err("it has no socket; write unix:///run/app.sock:/path".into()),
        _ => Ok((socket, path)),
    }
}

fn check_path(path: &str) -> Result<(), String> {
    match path.bytes().any(|b| b <= b' ' || b == 0x7f) {
        true => Err("its path has spaces or control characters; write them as %20 and so on".into()),
        false => Ok(()),
    }
}

fn unknown(scheme: &str) -> String {
    let names: Vec<&str> = PROTOCOLS.iter().flat_map(|row| row.schemes).map(|s| s.name).collect();
    let near =
        run::nearest(scheme, names.iter().copied()).map_or(String::new(), |n| format!(" (did you mean {n}://?)"));
    format!("{scheme}:// is not supported{near}; supported are {}://", names.join("://, "))
}

/// Returns a known scheme that is followed by one colon, but not by `//` or a port, as in `http:127.0.0.1:80`. Returns
/// `None` for other texts.
fn scheme_without_slashes(authority: &str) -> Option<&str> {
    let (scheme, rest) = authority.split_once(':')?;
    let is_port = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    (is_scheme(scheme) && !is_port).then_some(scheme)
}

fn is_scheme(name: &str) -> bool {
    PROTOCOLS.iter().flat_map(|row| row.schemes).any(|known| known.name == name)
}

fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), String> {
    if let Some(scheme) = scheme_without_slashes(authority) {
        return Err(format!("write {scheme}:// instead of {scheme}:"));
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or("a [ is not closed by a ]")?;
            (host, after.strip_prefix(':'))
        }
        None if authority.matches(':').count() > 1 => {
            let address = authority.split('%').next().unwrap_or_default();
            let is_ipv6 = address.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
            return Err(match is_ipv6 {
                true => format!("an IPv6 address needs brackets: {}", bracketed(authority)),
                false => "it has several colons: write HOST:PORT".into(),
            });
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map(|p| p.parse().ok().filter(|p| *p > 0).ok_or(format!("{p:?} is not a port (1 to 65535)")));
    Ok((host, port.transpose()?))
}

/// Adds brackets to an IPv6 address. If the text before the last colon is also an address, the digits after this colon
/// count as the port.
fn bracketed(authority: &str) -> String {
    let is_address = |text: &str| text.parse::<std::net::Ipv6Addr>().is_ok();
    match authority.rsplit_once(':') {
        Some((host, port)) if is_address(host) && port.parse::<u16>().is_ok() => format!("[{host}]:{port}"),
        _ => format!("[{authority}]"),
    }
}

/// Returns the flag with which the user sets the credentials for a protocol.
fn credentials_flag(row: &ProtocolSpec) -> &'static str {
    let has = |name: &str| row.flags.iter().any(|flag| flag.name == name);
    match (has("auth-file"), has("header")) {
        (true, _) => "--auth-file FILE",
        (false, true) => "--header 'Authorization: …'",
        (false, false) => "nothing: this protocol has none, so leave them out",
    }
}

/// Returns the settings in `asked` if they belong to the scheme's protocol, otherwise the default settings of that
/// protocol. The function always fills in host and path of the target. A protocol without paths refuses a path, because
/// the user would expect the path to have an effect.
fn protocol(
    (row, scheme): (&ProtocolSpec, &proto::Scheme),
    authority: &str,
    path: &str,
    asked: &Protocol,
) -> Result<Protocol, String> {
    let defaults = (row.defaults)();
    // If the scheme does not determine the version of HTTP, a flag does.
    let asked_for = (row.takes)(asked);
    let same = asked_for || std::mem::discriminant(asked) == std::mem::discriminant(&defaults);
    let mut protocol = if same { asked.clone() } else { defaults };
    if !scheme.path && !path.trim_matches('/').is_empty() {
        (row.set_path)(&mut protocol, path)?;
    }
    (row.set_target)(&mut protocol, authority, path);
    Ok(protocol)
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
