//! Test with a server host whose packets are all handled by one CPU. Receive packet steering sends all packets to CPU
//! 0, and a firewall with many rules makes each packet expensive. The hosts are network namespaces of a testbed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use testkit::{OtherPrograms, TwoHosts, alone_with_release, bottleneck, has, num, verdict};

/// Shell command that adds 20,000 rules to the firewall. The firewall compares each packet that reaches the server with
/// all 20,000 rules, which takes about 80 µs.
const FIREWALL: &str = r#"awk 'BEGIN { print "*filter"
    for (n = 0; n < 20000; n++) printf "-A INPUT -s 203.0.%d.%d -j DROP\n", n / 250, n % 250
    print "COMMIT" }' | iptables-restore"#;

/// Shell command that lets CPU 0 receive the packets of all interfaces of the host.
const STEER: &str = r#"unshare -m sh -c 'mount -t sysfs sysfs /sys
    for queue in /sys/class/net/*/queues/rx-*/rps_cpus; do echo 1 >$queue; done'"#;

#[test]
fn one_cpu_that_handles_all_packets_is_named() {
    let test = "server-interrupts";
    let (_alone, binary) = alone_with_release!(test);
    if !has(test, "iptables-restore") {
        return;
    }
    let Some(way) = TwoHosts::up(test, &binary, "switch:10G") else { return };
    [FIREWALL, STEER].iter().for_each(|line| way.shell("server", line));
    let others = OtherPrograms::watch();
    let run = way.run("find", &[], &["--budget", "16s", "--cpus", "1", "--prove", "off"]);
    if others.stayed_away(test) {
        assert_eq!(bottleneck(&run), "server-interrupts", "{}", verdict(&run));
        assert!(num(&run["findings"]["bottleneck"]["confidence"]) > 0.5, "{}", verdict(&run));
    }
}
