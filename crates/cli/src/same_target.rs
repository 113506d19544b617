//! Warning about a comparison of a server with itself.

use std::net::IpAddr;

use run::{Address, UrlParts};

/// Returns a warning if two URLs are one target: the same path at the same address. `at` contains the address of each
/// URL, if it is known. Different host names give no warning, because a proxy at one address may serve several servers.
pub(crate) fn warning(urls: [&str; 2], at: [Option<Address>; 2]) -> Option<String> {
    let [a, b] = urls.map(UrlParts::parse);
    let path = |url: &UrlParts<'_>| if url.path.is_empty() { "/".to_owned() } else { url.path.to_owned() };
    let is_same_name = a.authority.eq_ignore_ascii_case(b.authority) || !(is_name(&a) || is_name(&b));
    let [first, second] = at;
    let place = first.filter(|first| second.as_ref() == Some(first))?;
    (path(&a) == path(&b) && is_same_name).then(|| {
        format!("both are the same address, {place}, so the differences show only how much one server's figures vary")
    })
}

/// Returns true if the host of a URL is a name other than localhost.
fn is_name(url: &UrlParts<'_>) -> bool {
    let host = url.authority.rsplit('@').next().unwrap_or_default();
    let host = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(host, _)| host);
    let is_ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
    !is_ip && !host.eq_ignore_ascii_case("localhost") && !host.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_under_two_spellings_is_one_target_and_two_pages_are_two() {
        let at = |urls: [&str; 2], ports: [u16; 2]| {
            warning(urls, ports.map(|port| Some(Address::Inet(([127, 0, 0, 1], port).into()))))
        };
        for [a, b] in [
            ["http://h:1/", "http://h:1"],
            ["http://127.0.0.1:1/", "http://localhost:1/"],
            ["http://[::1]:1/x", "http://127.0.0.1:1/x"],
        ] {
            let said = at([a, b], [1, 1]).unwrap();
            assert!(said.starts_with("both are the same address, 127.0.0.1:1, so"), "{said}");
        }
        assert_eq!(at(["http://h:1/", "http://h:2/"], [1, 2]), None);
        assert_eq!(at(["http://h:1/a", "http://h:1/b"], [1, 1]), None, "two pages");
        assert_eq!(at(["http://a:1/", "http://b:1/"], [1, 1]), None, "two servers behind one proxy");
        assert_eq!(warning(["http://h/", "http://h/"], [None, None]), None);
        let unix = Address::Unix("/run/a".into());
        assert!(warning(["unix:///run/a", "unix:///run/a"], [Some(unix.clone()), Some(unix)]).is_some());
    }
}
