use std::net::SocketAddr;

use super::*;
use crate::redis::ClientPlan;
use crate::{Client as _, Done, Outcome, Request, Requester as _};
use run::{ClusterSlots, Protocol};

/// The keys a, b and c have the hash slots 15495, 3300 and 7365.
fn plan() -> ClientPlan {
    plan_of("GET a\nGET b\nGET c", [(0, 5460, 1), (5461, 10_922, 2), (10_923, 16_383, 3)])
}

/// Makes a plan for a cluster with three nodes. Each item of `nodes` is a node's first hash slot, its last hash
/// slot, and its port.
fn plan_of(commands: &str, nodes: [(u16, u16, u16); 3]) -> ClientPlan {
    let node = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let cluster = nodes.map(|(first, last, port)| ClusterSlots { first, last, node: node(port) }).into();
    let command = commands.to_owned();
    let plan = Protocol::Redis { command, commands_file: None, auth_file: None, database: 0, resp3: false, cluster };
    ClientPlan::new(&plan).unwrap()
}

fn sent(session: &mut crate::redis::ClientSession) -> String {
    let (mut all, mut piece) = (Vec::new(), [0; 5]);
    while let n @ 1.. = session.transmit(&mut piece) {
        all.extend_from_slice(&piece[..n]);
    }
    String::from_utf8(all).unwrap().replace("\r\n", " ")
}

#[test]
fn each_connection_sends_the_commands_of_its_node_and_redirections_are_followed() {
    let plan = plan();
    let [mut first, mut third] = [0, 2].map(|node| {
        let mut session = plan.session();
        session.aim(node);
        session
    });
    (0..2).for_each(|_| first.begin(Request::default()));
    assert_eq!(sent(&mut first).matches("GET $1 b").count(), 2);
    // The hash slot of b has moved to the third node, and the slot of a is moving to the first node.
    let mut ended = Vec::new();
    let mut told = |done: Done| ended.push(done.outcome);
    first.receive(b"-MOVED 3300 127.0.0.1:3\r\n$-1\r\n", &mut told).unwrap();
    third.begin(Request::default());
    assert_eq!(sent(&mut third), "*2 $3 GET $1 a ");
    third.receive(b"-ASK 15495 127.0.0.1:1\r\n", &mut told).unwrap();
    first.begin(Request::default());
    assert_eq!(sent(&mut first), "*1 $6 ASKING *2 $3 GET $1 a ");
    first.receive(b"+OK\r\n$1\r\nv\r\n", &mut told).unwrap();
    (0..2).for_each(|_| third.begin(Request::default()));
    let both = sent(&mut third);
    assert!(both.contains("$1 b") && both.contains("$1 a"), "{both}");
    third.receive(b"-MOVED 3300 10.0.0.9:1\r\n", &mut told).unwrap();
    let failed = |fault| Outcome::Failed(fault);
    let good = Outcome::Expected;
    assert_eq!(ended, [failed(Fault::Moved), good, failed(Fault::Asked), good, Outcome::Unexpected]);
}

/// Of four commands, two belong to the second node and one to the third node. The last command has no key.
#[test]
fn a_node_has_the_weight_of_its_commands() {
    let nodes = [(5461, 10_922, 1), (0, 5460, 2), (10_923, 16_383, 3)];
    let weights = plan_of("GET b\nGET {b}1\nGET a\nPING", nodes).address_weights();
    assert_eq!(weights.iter().map(|weight| (3.0 * weight).round()).collect::<Vec<_>>(), [1.0, 7.0, 4.0]);
}

#[test]
fn a_node_without_commands_sends_those_of_others() {
    let mut session = plan().session();
    session.aim(7);
    session.begin(Request::default());
    assert!(sent(&mut session).contains("GET"));
    session.reset();
    assert!(!session.wants_transmit());
}

/// Redis writes an IPv6 address without brackets.
#[test]
fn a_redirection_to_an_ipv6_node_is_followed() {
    let node = SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, 7001));
    let cluster = [ClusterSlots { first: 0, last: 16_383, node }];
    let command = |_: &str| Ok(b"*2\r\n$3\r\nGET\r\n$1\r\nb\r\n".to_vec());
    let commands = Commands::read("GET b", None, "", &[], command).unwrap();
    let routes = Routes::new(&cluster, &commands).unwrap();
    for words in ["MOVED 3300 ::1:7001", "MOVED 3300 [::1]:7001"] {
        assert_eq!(routes.follow(words.as_bytes(), 0), Some(Fault::Moved), "{words}");
    }
    for words in ["MOVED 3300 ::1:7002", "MOVED 3300 7001", "MOVED 3300 ::1", "MOVED 3300 :7001"] {
        assert_eq!(routes.follow(words.as_bytes(), 0), None, "{words}");
    }
}
