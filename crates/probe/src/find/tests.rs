use super::*;
use std::net::TcpListener;

#[test]
fn a_listener_is_found_by_any_of_its_addresses() {
    let server = TcpListener::bind("0.0.0.0:0").unwrap();
    let (port, me) = (server.local_addr().unwrap().port(), [std::process::id()]);
    for ip in ["127.0.0.1", "127.0.0.9"] {
        let at = Address::Inet(format!("{ip}:{port}").parse().unwrap());
        // A child forked by a concurrent test may hold a copy of the socket for a moment.
        let found = testkit::eventually(|| Some(find_server(at.clone()).unwrap()).filter(|f| f.pids == me));
        assert_eq!((found.netns_pid, found.listen), (None, server.local_addr().ok().map(Address::from)));
    }
}

#[test]
fn a_udp_socket_leads_to_its_holder() {
    let server = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let (at, me) = (server.local_addr().unwrap(), [std::process::id()]);
    let found = testkit::eventually(|| Some(find_server(at).unwrap()).filter(|f| f.pids == me));
    assert_eq!((found.netns_pid, found.listen), (None, Some(Address::Inet(at))));
}

#[test]
fn a_unix_socket_leads_to_its_holder() {
    let dir = tempfile::tempdir().unwrap();
    let at = Address::Unix(dir.path().join("s"));
    let error = find_server(at.clone()).unwrap_err();
    assert!(matches!(error, FindError::NoListener(_)) && error.to_string().contains("/s "), "{error}");
    let _server = std::os::unix::net::UnixListener::bind(dir.path().join("s")).unwrap();
    let me = [std::process::id()];
    let found = testkit::eventually(|| Some(find_server(at.clone()).unwrap()).filter(|f| f.pids == me));
    assert_eq!((found.netns_pid, found.listen), (None, Some(at)));
}

#[test]
fn a_named_process_is_found_with_those_below_it() {
    let below = testkit::ChildProcess::start(std::process::Command::new("sleep").arg("60"));
    let found = named_server(std::process::id(), None).unwrap();
    assert_eq!((found.pids[0], found.netns_pid, found.listen), (std::process::id(), None, None));
    assert!(found.pids.contains(&below.pid()), "{:?}", found.pids);
    let error = named_server(u32::MAX, None).unwrap_err();
    assert!(error.to_string().starts_with("there is no process 4294967295"), "{error}");
}

#[test]
fn each_reason_for_not_finding_a_server_has_advice() {
    let (_bound, free) = testkit::refusing();
    let error = find_server(free).unwrap_err();
    assert!(matches!(error, FindError::NoListener(_)) && error.to_string().contains("--server-pid"), "{error}");
    let error = find_server(Address::Inet("192.0.2.1:80".parse().unwrap())).unwrap_err();
    assert!(matches!(error, FindError::NotLocal(_)) && error.to_string().contains("--server-pid"), "{error}");
}
