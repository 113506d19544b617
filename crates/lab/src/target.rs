//! From what the user wrote to an address and a protocol, before anything is sent. Source: RFC 3986 section 3,
//! RFC 1918, RFC 3927, RFC 4193, RFC 4291.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use run::Protocol;

use crate::LabError;

/// A target that can be loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Where connections go.
    pub addr: SocketAddr,
    /// What is said there.
    pub protocol: Protocol,
}

/// What a scheme stands for.
struct Scheme {
    name: &'static str,
    default_port: Option<u16>,
}

const fn scheme(name: &'static str, default_port: Option<u16>) -> Scheme {
    Scheme { name, default_port }
}

const SCHEMES: &[Scheme] = &[
    scheme("http", Some(80)),
    scheme("tcp", None),
    scheme("echo", Some(7)),
    scheme("discard", Some(9)),
    scheme("source", Some(19)),
    scheme("record", None),
];

/// Bytes of one message where the target's scheme has messages and the user named no size.
const MESSAGE_BYTES: u64 = 64;

/// Reads a target and resolves its host. `asked` is the protocol with the details that flags or a plan gave; the scheme
/// decides its kind, and details of the same kind are kept.
pub fn resolve(target: &str, asked: &Protocol) -> Result<Resolved, LabError> {
    let fail = |why: String| LabError::Target { target: target.into(), why };
    let (scheme, rest) = target.split_once("://").unwrap_or(("http", target));
    let row = SCHEMES.iter().find(|s| s.name.eq_ignore_ascii_case(scheme)).ok_or_else(|| fail(unknown(scheme)))?;
    let rest = rest.split('#').next().unwrap_or(rest);
    let (authority, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
    if authority.contains('@') {
        return Err(fail("it has user information; give credentials with --header 'Authorization: …'".into()));
    }
    if authority.is_empty() {
        return Err(fail("it names no host; write it as http://HOST:PORT/PATH".into()));
    }
    let (host, port) = host_and_port(authority).map_err(&fail)?;
    let port = port.or(row.default_port);
    let port = port.ok_or_else(|| fail(format!("{scheme}:// needs a port: {scheme}://{authority}:PORT")))?;
    let addr = look_up(host, port).map_err(&fail)?;
    if path.bytes().any(|b| b <= b' ' || b == 0x7f) {
        return Err(fail("its path has blanks or control characters; write them as %20 and the like".into()));
    }
    Ok(Resolved { addr, protocol: protocol(row.name, authority, path, asked) })
}

fn unknown(scheme: &str) -> String {
    if scheme.eq_ignore_ascii_case("https") {
        return "TLS is not spoken by this version; load the plain http:// port behind it".into();
    }
    let names: Vec<&str> = SCHEMES.iter().map(|s| s.name).collect();
    let near =
        run::nearest(scheme, names.iter().copied()).map_or(String::new(), |n| format!(" (did you mean {n}://?)"));
    format!("{scheme}:// is not spoken here{near}; possible are {}://", names.join("://, "))
}

fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), String> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or("an address in [ has no ]")?;
            (host, after.strip_prefix(':'))
        }
        None if authority.matches(':').count() > 1 => {
            return Err(format!("an IPv6 address stands in brackets: [{authority}]"));
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map(|p| p.parse().ok().filter(|p| *p > 0).ok_or(format!("{p:?} is not a port (1 to 65535)")));
    Ok((host, port.transpose()?))
}

fn look_up(host: &str, port: u16) -> Result<SocketAddr, String> {
    let unknown = |e: &dyn std::fmt::Display| {
        format!("the host {host:?} cannot be found ({e}); check the name, or give its address")
    };
    let found: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(|e| unknown(&e))?.collect();
    // IPv4 first: servers that listen on one family only mostly listen on that one.
    found.iter().find(|a| a.is_ipv4()).or(found.first()).copied().ok_or_else(|| unknown(&"no address"))
}

fn protocol(scheme: &str, authority: &str, path: &str, asked: &Protocol) -> Protocol {
    let message_bytes = match asked {
        Protocol::Echo { message_bytes } | Protocol::Discard { message_bytes } | Protocol::Source { message_bytes } => {
            *message_bytes
        }
        _ => MESSAGE_BYTES,
    };
    match (scheme, asked) {
        ("echo", _) => Protocol::Echo { message_bytes },
        ("discard", _) => Protocol::Discard { message_bytes },
        ("source", _) => Protocol::Source { message_bytes },
        ("record", Protocol::Record { .. }) | ("tcp", Protocol::Raw { .. }) => asked.clone(),
        ("record", _) => Protocol::Record { record_bytes: 2048 },
        ("tcp", _) => Protocol::Raw { send_file: None, expect_bytes: None },
        _ => http(authority, path, asked),
    }
}

fn http(authority: &str, path: &str, asked: &Protocol) -> Protocol {
    let (method, headers, body_file, expect_status) = match asked {
        Protocol::Http1 { method, headers, body_file, expect_status, .. } => {
            (method.clone(), headers.clone(), body_file.clone(), *expect_status)
        }
        _ => ("GET".into(), Vec::new(), None, None),
    };
    let path = if path.starts_with('/') { path.to_string() } else { format!("/{path}") };
    Protocol::Http1 { method, path, host: authority.into(), headers, body_file, expect_status }
}

/// Whether an address is one that a person may load without asking anybody: this machine, private and link-local ranges.
pub fn is_own_ground(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_unspecified(),
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_own_ground(IpAddr::V4(v4)),
            None => v6.is_loopback() || v6.is_unspecified() || v6.is_unique_local() || v6.is_unicast_link_local(),
        },
    }
}

/// Refuses targets outside the own ground unless the user says that it is allowed.
pub fn check_authorized(target: &str, addr: SocketAddr, authorized: bool) -> Result<(), LabError> {
    if authorized || is_own_ground(addr.ip()) {
        return Ok(());
    }
    let why = format!(
        "{} is outside loopback, private and link-local ranges, and full load on somebody else's server is an attack; \
         repeat with --authorized if its owner agreed",
        addr.ip()
    );
    Err(LabError::Target { target: target.into(), why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(target: &str) -> Result<Resolved, String> {
        resolve(target, &Protocol::default()).map_err(|e| e.to_string())
    }

    #[test]
    fn reads_what_people_write() {
        let r = of("http://127.0.0.1:8080/a/b?c=1#d").unwrap();
        assert_eq!(r.addr, "127.0.0.1:8080".parse().unwrap());
        let Protocol::Http1 { path, host, method, .. } = r.protocol else { panic!() };
        assert_eq!((path.as_str(), host.as_str(), method.as_str()), ("/a/b?c=1", "127.0.0.1:8080", "GET"));
        assert_eq!(of("127.0.0.1:81").unwrap().addr.port(), 81);
        assert_eq!(of("HTTP://127.0.0.1").unwrap().addr.port(), 80);
        assert_eq!(of("http://[::1]:8/").unwrap().addr, "[::1]:8".parse().unwrap());
        assert!(matches!(of("echo://127.0.0.1:7").unwrap().protocol, Protocol::Echo { message_bytes: 64 }));
        let Protocol::Http1 { path, .. } = of("http://127.0.0.1:1?x").unwrap().protocol else { panic!() };
        assert_eq!(path, "/?x");
    }

    #[test]
    fn says_what_is_wrong_and_what_to_do() {
        for (target, words) in [
            ("https://127.0.0.1/", "TLS is not spoken"),
            ("ftp://127.0.0.1/", "possible are http://"),
            ("htp://127.0.0.1/", "did you mean http://"),
            ("tcp://127.0.0.1", "needs a port"),
            ("http://127.0.0.1:99999/", "not a port"),
            ("http://u:p@127.0.0.1/", "--header"),
            ("http:///x", "names no host"),
            ("http://::1:80/", "brackets"),
            ("http://127.0.0.1/a b", "%20"),
            ("http://no-such-host.invalid/", "cannot be found"),
        ] {
            let error = of(target).unwrap_err();
            assert!(error.contains(words), "{target}: {error}");
        }
    }

    #[test]
    fn details_of_the_same_kind_are_kept() {
        let asked = Protocol::Raw { send_file: Some("f".into()), expect_bytes: Some(9) };
        assert_eq!(resolve("tcp://127.0.0.1:1", &asked).unwrap().protocol, asked);
    }

    #[test]
    fn only_own_ground_is_loaded_without_leave() {
        for own in [
            "127.0.0.9",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "169.254.1.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_own_ground(own.parse().unwrap()), "{own}");
        }
        for other in ["8.8.8.8", "172.32.0.1", "2001:db8::1", "::ffff:8.8.8.8"] {
            assert!(!is_own_ground(other.parse().unwrap()), "{other}");
        }
        let addr = "192.0.2.1:80".parse().unwrap();
        assert!(check_authorized("http://192.0.2.1", addr, false).unwrap_err().to_string().contains("--authorized"));
        assert!(check_authorized("http://192.0.2.1", addr, true).is_ok());
    }
}
