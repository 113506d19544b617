//! Checks that a hub in user space replaces the kernel's shared wire if the kernel lacks a required feature. To
//! simulate a kernel without traffic control, the test uses a `tc` that refuses every command.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use common::Copy;
use loadline_testbed::{Spec, Testbed};
use testkit::skip;

const ROLE: &str = "LOADLINE_TESTBED_TEST_ROLE";

/// Shell script that mounts the program in its first argument over `tc`, and then runs the command in its other
/// arguments. If `tc` is not installed, or if the mount fails, the script ends with status 77.
const HIDDEN: &str = r#"fake="$1"; shift
for dir in /usr/sbin /sbin /usr/bin /bin; do
    if [ -e "$dir/tc" ]; then mount --bind "$fake" "$(readlink -f "$dir/tc")" || exit 77; exec "$@"; fi
done
exit 77"#;

#[test]
fn without_traffic_control_the_hub_in_user_space_replaces_the_wire() {
    let test = "without_traffic_control_the_hub_in_user_space_replaces_the_wire";
    let dir = tempfile::tempdir().unwrap();
    let fake = dir.path().join("tc");
    std::fs::write(&fake, "#!/bin/sh\necho 'Error: Specified qdisc kind is unknown.' >&2\nexit 2\n").unwrap();
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
    let copy = Copy::new("fallback");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", HIDDEN, "sh"]).arg(&fake).arg(&copy.0);
    command.args(["the_other_end", "--exact", "--nocapture"]).env(ROLE, "use");
    let Ok(output) = command.output() else { return skip(test, "unshare is not installed") };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) || complaint.contains("unshare") || said.contains("SKIP") {
        return skip(test, format!("a program cannot be hidden here: {said}{complaint}"));
    }
    assert!(output.status.success(), "{said}{complaint}");
    assert!(said.contains("user space: a hub on TAP interfaces") && said.contains("qdisc kind is unknown"), "{said}");
    assert!(said.contains("carried 3 frames"), "{said}");
}

/// Body of the child process that the other test of this file starts. In a normal test run, this function does nothing;
/// it works only in a child process.
#[test]
fn the_other_end() {
    if std::env::var(ROLE).is_err() {
        return;
    }
    let bed = match Testbed::build(&Spec::server_and_clients(1, "ethernet10")) {
        Ok(bed) => bed,
        Err(e) => return println!("SKIP {e}"),
    };
    println!("{}", bed.made_of());
    let address = bed.address("server").unwrap();
    let udp = |host: &str| {
        let want = sys::netns::OpenSpec::Socket { family: 2, kind: 2, protocol: 0 };
        let fd = bed.netns(host).unwrap().open(&[want]).unwrap().pop().unwrap();
        sys::socket::bind(&fd, (bed.address(host).unwrap(), 7000).into()).unwrap();
        std::net::UdpSocket::from(fd)
    };
    let (server, client) = (udp("server"), udp("client1"));
    for n in 0..3 {
        client.send_to(&[n], (address, 7000)).unwrap();
        assert_eq!(server.recv(&mut [0; 8]).unwrap(), 1);
    }
    let mut recording = run::Recording::default();
    bed.gauge().sample(0.0, &mut recording);
    let frames = recording.column("medium.frames", "ethernet10").unwrap().values[0];
    println!("carried {} frames", frames.unwrap_or_default());
}
