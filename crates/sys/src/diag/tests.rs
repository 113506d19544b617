use super::*;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

fn listeners(port: u16, v6: bool) -> Vec<Listener> {
    let mut found = Vec::new();
    Diag::open().unwrap().listeners(v6, Some(port), |l| found.push(*l)).unwrap();
    found
}

#[test]
fn a_listener_reports_its_accept_queue() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = server.local_addr().unwrap();
    let _waiting = [TcpStream::connect(addr).unwrap(), TcpStream::connect(addr).unwrap()];
    let has_both = |found: &Vec<Listener>| found.len() == 1 && found[0].queue == 2;
    let found = testkit::eventually(|| Some(listeners(addr.port(), false)).filter(has_both));
    assert_eq!((found[0].local, found[0].drops), (addr, Some(0)));
    assert!(found[0].limit >= 1 && found[0].inode > 0);
    assert!(listeners(addr.port(), true).is_empty());
}

#[test]
fn the_filter_excludes_a_port_at_either_end() {
    let pair = || {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap();
        (client, server.accept().unwrap().0)
    };
    let (a, b) = (pair(), pair());
    let port = |stream: &std::net::TcpStream| stream.local_addr().unwrap().port();
    let mut filter = Vec::new();
    Diag::open().unwrap().others(false, port(&a.1), true, |c| filter.push((c.local.port(), c.remote.port()))).unwrap();
    assert!(filter.contains(&(port(&b.0), port(&b.1))) && filter.contains(&(port(&b.1), port(&b.0))), "{filter:?}");
    assert!(!filter.contains(&(port(&a.0), port(&a.1))) && !filter.contains(&(port(&a.1), port(&a.0))), "{filter:?}");
    let mut accepted = Vec::new();
    Diag::open()
        .unwrap()
        .accepted(false, port(&a.1), |c| accepted.push((c.remote.port(), c.traffic.is_some())))
        .unwrap();
    assert_eq!(accepted, [(port(&a.0), true)]);
}

#[test]
fn a_closed_connection_is_listed_without_a_holder() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = server.local_addr().unwrap();
    drop((TcpStream::connect(at).unwrap(), server.accept().unwrap()));
    let closed = |excluded: u16| {
        let mut found = 0;
        let end = Diag::open().unwrap().closed(false, excluded, |local, remote| {
            found += u32::from([local, remote].contains(&at));
            DumpControl::Continue
        });
        assert_eq!(end, Ok(DumpControl::Continue));
        found
    };
    assert!(testkit::eventually(|| Some(closed(0)).filter(|found| *found > 0)) > 0);
    assert_eq!(closed(at.port()), 0);
}

#[test]
fn a_connection_that_is_being_opened_is_listed() {
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let server = crate::peer::Peer::from(any).listen(0).unwrap();
    let at = crate::socket::local_addr(&server).unwrap();
    // The accept queue has room for one connection. The kernel drops the requests for further connections.
    let clients = [(); 3].map(|()| crate::socket::tcp(at).unwrap());
    assert!(clients.iter().all(|fd| crate::socket::connect(fd, at).is_ok()));
    let mut connecting = Vec::new();
    let look = |c: &OtherConnection| {
        if c.remote == at {
            connecting.push(c.is_connecting);
        }
    };
    Diag::open().unwrap().others(false, 0, true, look).unwrap();
    connecting.sort_unstable();
    assert_eq!(connecting, [false, true, true]);
}

#[test]
fn the_filter_excludes_the_highest_port_too() {
    let server = std::net::TcpListener::bind("127.0.0.65:65535").unwrap();
    let _client = std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap();
    let mut found = 0;
    let is_ours = |c: &OtherConnection| [c.local, c.remote].contains(&server.local_addr().unwrap());
    let mut diag = Diag::open().unwrap();
    diag.others(false, 65535, false, |c| found += u32::from(is_ours(c))).unwrap();
    assert_eq!(found, 0);
    diag.others(false, 65534, false, |c| found += u32::from(is_ours(c))).unwrap();
    assert_eq!(found, 2);
}

#[test]
fn the_filter_selects_a_remote_port_without_some_addresses() {
    let listeners = ["0.0.0.0:0", "[::]:0"].map(|at| std::net::TcpListener::bind(at).unwrap());
    let [port, port6] = listeners.each_ref().map(|listener| listener.local_addr().unwrap().port());
    let targets = [("127.0.0.1", port), ("127.0.0.2", port), ("::1", port6), ("::ffff:127.0.0.1", port6)];
    let _clients = targets.map(|target| std::net::TcpStream::connect(target).unwrap());
    let found = |v6: bool, port: u16, except: &[&str]| {
        let except: Vec<IpAddr> = except.iter().map(|ip| ip.parse().unwrap()).collect();
        let mut found = Vec::new();
        Diag::open().unwrap().to_port(v6, port, &except, false, |c| found.push(c.remote.ip().to_string())).unwrap();
        found.sort();
        found
    };
    assert_eq!(found(false, port, &[]), ["127.0.0.1", "127.0.0.2"]);
    assert_eq!(found(false, port, &["127.0.0.1"]), ["127.0.0.2"]);
    assert_eq!(found(false, port, &["::1", "127.0.0.2", "127.0.0.1"]), Vec::<String>::new());
    assert_eq!(found(true, port6, &["127.0.0.1"]), ["::1"], "an IPv4 address that an IPv6 socket uses");
    assert_eq!(found(true, port6, &["::1"]).len(), 1);
}

#[test]
fn requests_and_answers_of_a_connection_are_counted() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
    let mut accepted = server.accept().unwrap().0;
    let local = client.local_addr().unwrap();
    let look = || {
        let mut found = None;
        Diag::open().unwrap().others(false, 0, true, |c| found = found.or((c.local == local).then_some(*c))).unwrap();
        found.unwrap().traffic.unwrap()
    };
    for _ in 0..3 {
        client.write_all(b"question").unwrap();
        accepted.read_exact(&mut [0; 8]).unwrap();
        accepted.write_all(b"answer").unwrap();
        client.read_exact(&mut [0; 6]).unwrap();
    }
    let told = look();
    assert_eq!((told.data_out, told.data_in), (3, 3));
    // The times in `tcp_info` are multiples of a kernel tick, which is up to 10 ms long.
    thread::sleep(Duration::from_millis(30));
    client.write_all(b"question").unwrap();
    let told = look();
    assert!(told.data_out == 4 && told.sent_ms_ago < told.received_ms_ago, "{told:?}");
    let mut name = None;
    let mut diag = Diag::open().unwrap();
    diag.others(false, 0, false, |c| name = name.or((c.local == local).then_some(c.name))).unwrap();
    assert_eq!(diag.other(&name.unwrap()).unwrap().unwrap().traffic.unwrap().data_out, 4);
}

#[test]
fn a_sender_has_unsent_bytes_and_a_full_buffer_if_the_peer_does_not_read() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = server.local_addr().unwrap();
    let (_deaf, (mut sender, _)) = (TcpStream::connect(addr).unwrap(), server.accept().unwrap());
    let look = || {
        let (mut found, filter) = (None, ConnectionFilter { local_port: Some(addr.port()), remote_port: None });
        let end = Diag::open().unwrap().connections(false, filter, |c| {
            found = Some(*c);
            DumpControl::Stop
        });
        assert!(end.is_ok(), "{end:?}");
        found.unwrap()
    };
    let idle = look();
    assert_eq!((idle.write_full, idle.info.unwrap().unsent), (Some(false), Some(0)));
    sender.set_nonblocking(true).unwrap();
    // On a busy machine, the kernel may handle acknowledgements late. A late acknowledgement makes room in the buffer.
    let full = testkit::eventually(|| {
        while sender.write(&[0; 65536]).is_ok() {}
        Some(look()).filter(|seen| seen.write_full == Some(true))
    });
    assert!(full.info.unwrap().unsent.unwrap() > 0, "{full:?}");
}

#[test]
fn a_dump_of_one_port_returns_its_connections_with_tcp_info() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = server.local_addr().unwrap();
    let mut clients: Vec<_> = (0..5).map(|_| TcpStream::connect(addr).unwrap()).collect();
    let mut accepted: Vec<_> = (0..5).map(|_| server.accept().unwrap()).collect();
    clients[0].write_all(b"12345").unwrap();
    let mut ours = Vec::new();
    let filter = ConnectionFilter { local_port: Some(addr.port()), remote_port: None };
    let mut diag = Diag::open().unwrap();
    let end = diag.connections(false, filter, |c| {
        ours.push(*c);
        DumpControl::Continue
    });
    assert_eq!(end, Ok(DumpControl::Continue));
    assert_eq!(ours.len(), 5);
    assert!(ours.iter().all(|c| c.local == addr && c.info.is_some_and(|i| i.cwnd > 0 && i.rtt_us < 1_000_000)));
    assert_eq!(ours.iter().map(|c| c.receive_queue).sum::<u32>(), 5);
    for c in &ours {
        let again = diag.connection(&c.name).unwrap().unwrap();
        assert_eq!((again.local, again.remote, again.receive_queue), (c.local, c.remote, c.receive_queue));
    }
    let gone = ours.iter().find(|c| c.remote == clients[4].local_addr().unwrap()).unwrap();
    drop((clients.pop(), accepted.pop()));
    // A concurrent test may have forked a child that has copies of the descriptors until it calls exec. A connection
    // that this test closes may therefore end a little later.
    testkit::eventually(|| diag.connection(&gone.name).unwrap().is_none().then_some(()));
    let mut theirs = 0;
    let filter = ConnectionFilter { local_port: None, remote_port: Some(addr.port()) };
    let end = diag.connections(false, filter, |_| {
        theirs += 1;
        if theirs == 2 { DumpControl::Stop } else { DumpControl::Continue }
    });
    assert_eq!((end, theirs), (Ok(DumpControl::Stop), 2));
}
