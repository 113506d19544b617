use super::*;

fn of(target: &str) -> Result<Resolved, String> {
    resolve(target, &Protocol::default()).map_err(|e| e.to_string())
}

#[test]
fn reads_what_people_write() {
    let r = of("http://127.0.0.1:8080/a/b?c=1#d").unwrap();
    assert_eq!(r.addr.to_string(), "127.0.0.1:8080");
    let Protocol::Http1(http) = r.protocol else { panic!() };
    assert_eq!((http.path.as_str(), http.host.as_str(), http.method.as_str()), ("/a/b?c=1", "127.0.0.1:8080", "GET"));
    assert_eq!(of("127.0.0.1:81").unwrap().addr.to_string(), "127.0.0.1:81");
    assert_eq!(of("HTTP://127.0.0.1").unwrap().addr.to_string(), "127.0.0.1:80");
    assert_eq!(of("http://[::1]:8/").unwrap().addr.to_string(), "[::1]:8");
    let r = of("https://127.0.0.1/").unwrap();
    assert_eq!((r.addr.to_string().as_str(), r.tls_name.as_deref()), ("127.0.0.1:443", Some("127.0.0.1")));
    assert_eq!(of("http://127.0.0.1:1?x").unwrap().protocol.http().unwrap().path, "/?x");
}

/// If the user gives no message size, the default size in the protocol's row of `proto::PROTOCOLS` is used.
#[test]
fn a_target_has_the_defaults_of_its_protocols_row() {
    let rows = proto::PROTOCOLS.iter().flat_map(|row| row.schemes.iter().map(move |scheme| (row, scheme)));
    for (row, scheme) in rows.filter(|(_, scheme)| !scheme.path) {
        let target = of(&format!("{}://127.0.0.1:9", scheme.name)).unwrap();
        assert_eq!(target.protocol, (row.defaults)(), "{}", scheme.name);
    }
}

#[test]
fn a_unix_target_is_a_socket_path_and_a_request_path() {
    let r = of("unix:///run/app.sock:/a?b=1").unwrap();
    assert_eq!(r.addr, Address::Unix("/run/app.sock".into()));
    let Protocol::Http1(http) = r.protocol else { panic!() };
    assert_eq!((http.path.as_str(), http.host.as_str()), ("/a?b=1", "localhost"));
    assert_eq!(of("http+unix:///run/app.sock").unwrap().protocol.http().unwrap().path, "/");
    for (target, name) in [("echo+unix:///s", "echo"), ("tcp+UNIX:///s", "raw"), ("record+unix://s", "record")] {
        assert_eq!(of(target).unwrap().protocol.name(), name);
    }
}

#[test]
fn says_what_is_wrong_and_what_to_do() {
    for (target, words) in [
        ("http:127.0.0.1:80", "write http:// instead of http:"),
        ("http:/127.0.0.1/", "write http:// instead of http:"),
        ("http://127.0.0.1:80http://127.0.0.1", "several colons"),
        ("redis:207000", "\"207000\" is not a port"),
        ("ftp://127.0.0.1/", "supported are http://"),
        ("htp://127.0.0.1/", "did you mean http://"),
        ("unix:/run/app.sock", "write unix:///run/app.sock"),
        ("http://::1:8080/", "needs brackets: [::1]:8080"),
        ("http://fe80::1/", "needs brackets: [fe80::1]"),
        ("tcp://127.0.0.1", "needs a port"),
        ("http://127.0.0.1:99999/", "not a port"),
        ("http://u:p@127.0.0.1/", "--header"),
        ("redis://:pw@127.0.0.1/", "--auth-file"),
        ("redis://127.0.0.1/x", "is not a database"),
        ("redis://127.0.0.1/3?db=4", "is not a database"),
        ("redis://127.0.0.1?db=3", "is not a database"),
        ("rediss://127.0.0.1/70000", "is not a database"),
        ("memcached://127.0.0.1/x", "has no paths"),
        ("tcp://127.0.0.1:1/x", "has no paths"),
        ("echo://127.0.0.1:1?a=b", "has no paths"),
        ("echo+unix:///s:/x", "has no paths"),
        ("http:///x", "has no host"),
        (":8080", "has no host"),
        ("http://:8080/x", "has no host"),
        ("http//127.0.0.1:8080/", "http:// instead of http//"),
        ("unix://:/x", "has no socket"),
        ("unix:///s:/a b", "%20"),
        ("ftp+unix:///s", "supported are http://"),
        ("http://::1:80/", "brackets"),
        ("http://127.0.0.1/a b", "%20"),
        ("http://no-such-host.invalid/", "cannot be found"),
    ] {
        let error = of(target).unwrap_err();
        assert!(error.contains(words), "{target}: {error}");
    }
}

#[test]
fn the_path_of_redis_is_a_database() {
    let database = |target: &str, given: u32| {
        let Protocol::Redis { command, commands_file, auth_file, resp3, cluster, .. } =
            (proto::by_url(target).unwrap().0.defaults)()
        else {
            panic!()
        };
        let asked = Protocol::Redis { command, commands_file, auth_file, resp3, cluster, database: given };
        match resolve(target, &asked).map_err(|e| e.to_string())?.protocol {
            Protocol::Redis { database, .. } => Ok(database),
            other => Err(other.name().to_owned()),
        }
    };
    assert_eq!(database("redis://127.0.0.1/7", 0), Ok(7));
    assert_eq!(database("redis://127.0.0.1/", 4), Ok(4));
    assert_eq!(database("rediss://127.0.0.1/7", 7), Ok(7));
    assert!(database("redis://127.0.0.1/7", 4).unwrap_err().contains("--database 4"));
}

#[test]
fn details_of_the_same_kind_are_kept() {
    let asked = Protocol::Raw { send_file: Some("f".into()), expect_bytes: Some(9), read_first: None };
    assert_eq!(resolve("tcp://127.0.0.1:1", &asked).unwrap().protocol, asked);
}
