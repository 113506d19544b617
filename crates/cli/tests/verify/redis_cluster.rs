//! Test with a Redis cluster of three nodes. Each node must get the commands for its slots (the cluster's shares of the
//! keys). If a slot moves to another node, the commands for this slot must go to that node.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json as value};
use testkit::{Running, alone, binary, eventually, free_port, json, program, skip, total};

/// Sends a command to a node and returns the reply, which must arrive in one read.
fn ask(node: &Running, command: &str) -> String {
    let mut stream = TcpStream::connect(node.addr).unwrap();
    stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
    let mut reply = vec![0; 1 << 16];
    let n = stream.read(&mut reply).unwrap();
    String::from_utf8_lossy(&reply[..n]).into_owned()
}

/// Starts a cluster of three nodes. Each node holds a third of the slots.
fn cluster() -> Option<[Running; 3]> {
    let Some(redis) = program("redis-server") else {
        skip("a Redis cluster", "redis-server is not installed");
        return None;
    };
    let nodes = [0; 3].map(|_| {
        let (port, bus, dir) = (free_port(), free_port(), tempfile::tempdir().unwrap());
        let mut command = Command::new(&redis);
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.args(["--cluster-enabled", "yes", "--cluster-port", &bus.to_string(), "--dir"]).arg(dir.path());
        (Running::start(command, port, dir), bus)
    });
    for ((node, _), slots) in nodes.iter().zip(["0 5460", "5461 10922", "10923 16383"]) {
        assert!(ask(node, &format!("CLUSTER ADDSLOTSRANGE {slots}")).starts_with("+OK"));
    }
    for (node, bus) in &nodes[1..] {
        let meet = format!("CLUSTER MEET 127.0.0.1 {} {bus}", node.addr.port());
        assert!(ask(&nodes[0].0, &meet).starts_with("+OK"));
    }
    let nodes = nodes.map(|(node, _)| node);
    let is_up = |node: &Running| {
        let info = ask(node, "CLUSTER INFO");
        info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
    };
    eventually(|| nodes.iter().all(is_up).then_some(()));
    Some(nodes)
}

/// Returns the number of GET commands that a node executed, without the commands that the node redirected.
fn gets(node: &Running) -> u64 {
    let stats = ask(node, "INFO commandstats");
    let line = stats.lines().find(|line| line.starts_with("cmdstat_get:")).unwrap_or_default();
    line.split([':', ',']).find_map(|part| part.strip_prefix("calls=")?.parse().ok()).unwrap_or(0)
}

fn load(nodes: &[Running; 3], file: &str, more: &[&str]) -> Value {
    let url = format!("redis://{}", nodes[0].addr);
    let mut args = vec!["load", &url, "--commands", file, "--connections", "6", "--warmup", "0s", "--at-rest", "0s"];
    args.extend(more);
    json(binary!(), &args)
}

/// The keys a, b and c are in the slots 15495, 3300 and 7365, so each node has one of the keys.
#[test]
fn every_node_gets_the_commands_of_its_slots_and_moved_slots_are_followed() {
    let _alone = alone();
    let Some(nodes) = cluster() else { return };
    let file = nodes[0].dir.path().join("commands");
    std::fs::write(&file, "GET a\nGET b\nGET c\n").unwrap();
    let file = file.display().to_string();
    for more in [&["--duration", "500ms"][..], &["--duration", "500ms", "--io", "epoll", "--pipeline", "4"]] {
        let before: Vec<u64> = nodes.iter().map(gets).collect();
        let run = load(&nodes, &file, more);
        let calls: Vec<u64> = nodes.iter().zip(&before).map(|(node, before)| gets(node) - before).collect();
        assert_eq!(calls.iter().sum::<u64>(), total(&run, "completed"), "{more:?}: {calls:?}");
        assert!(calls.iter().all(|calls| *calls > 100), "{calls:?}");
        let trial = &run["trials"][0];
        assert_eq!((&trial["errors"], total(&run, "unexpected_status")), (&value!({}), 0));
        assert!(trial.get("moved").is_none(), "no command goes to a wrong node: {}", trial["moved"]);
    }
    // During the load, the slot of b moves from the first node to the second. The slot of a begins to move to the
    // second node, but the test does not complete this move.
    let ids: Vec<String> = nodes.iter().map(|node| ask(node, "CLUSTER MYID").lines().nth(1).unwrap().into()).collect();
    let addrs = [0, 1, 2].map(|at: usize| nodes[at].addr);
    let mover = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(800));
        let tell = |at: usize, command: String| {
            let mut stream = TcpStream::connect(addrs[at]).unwrap();
            stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
            let mut reply = [0; 256];
            let n = stream.read(&mut reply).unwrap();
            assert!(reply[..n].starts_with(b"+OK"), "{}", String::from_utf8_lossy(&reply[..n]));
        };
        [1, 0].into_iter().for_each(|at| tell(at, format!("CLUSTER SETSLOT 3300 NODE {}", ids[1])));
        tell(1, format!("CLUSTER SETSLOT 15495 IMPORTING {}", ids[2]));
        tell(2, format!("CLUSTER SETSLOT 15495 MIGRATING {}", ids[1]));
    });
    let run = load(&nodes, &file, &["--duration", "2s"]);
    mover.join().unwrap();
    let trial = &run["trials"][0];
    assert_eq!((&trial["errors"], total(&run, "unexpected_status")), (&value!({}), 0), "{trial}");
    assert!(total(&run, "moved") > 0 && total(&run, "asked") > 0, "{} {}", trial["moved"], trial["asked"]);
}
