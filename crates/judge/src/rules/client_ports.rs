//! Rule for a generator that has no local ports left. The generator counts each connect that failed with EADDRNOTAVAIL.

use run::ErrorKind;

use super::rule::{PLAIN, Rule, Tier, Verdict};
use super::signs::{failed, failed_locally};
use crate::Facts;

pub(super) const RULE: Rule = Rule {
    id: "client-ports",
    needs: &["errors"],
    tier: Tier::Broken,
    shared: &[(&["socket.tcp_time_wait"], "connects of the generator failed")],
    is_counted: |_| true,
    signals: |facts| failed(facts, ErrorKind::ClientPorts, "connects that failed for lack of a local port"),
    judge,
    advice: &[
        "Use more source addresses: --source 127.0.0.2-127.0.0.9 on loopback, more addresses of the interface elsewhere.",
        "Keep connections open, unless you want to measure new connections.",
        "Widen net.ipv4.ip_local_port_range, or let the server close first, so that it holds the ports in TIME_WAIT.",
    ],
    explain: "One source address can have at most as many connections to one server port as ip_local_port_range allows \
              (28,232 by default). A port closed from this side stays in TIME_WAIT for 60 s, so each source address can open \
              about 470 new connections a second. Connects that failed for lack of a port never left the machine and say \
              nothing about the server. If throughput stopped growing in the sweep, connects that failed only at offered \
              rates above the server's highest rate do not count: such an overload needs ever more connections.",
    ..PLAIN
};

fn judge(facts: &Facts<'_>) -> Verdict {
    failed_locally(facts, ErrorKind::ClientPorts, "socket.tcp_time_wait", "local port", "ports.range")
}

#[cfg(test)]
mod tests {
    use crate::planted::PlantedRun;

    #[test]
    fn uncounted_connects_do_not_rule_out_client_ports() {
        let ruled_out = |attempted: u64| {
            let mut run = PlantedRun::new(2000.0, 500.0).change(move |t, _| t.tally.attempted = attempted).run();
            crate::judge(&mut run);
            run.findings.bottleneck.ruled_out.iter().any(|r| r.id == "client-ports")
        };
        assert!(ruled_out(8) && !ruled_out(0));
    }
}
