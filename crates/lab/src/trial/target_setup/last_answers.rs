//! Time for the last answers of each load test. Every command uses this time, because it is a setting of the load plan
//! from which all load tests of a run are made.

use run::LoadPlan;

/// Gives a slow server more time for its last answers. `first_s` is the duration of the test request, seconds. If the
/// test request took at least half of the planned time, answers under load may take longer than the planned time. The
/// server then gets at least the timeout of a request. Without this time, requests would count as unanswered although
/// the server still works on them, and this work would slow the next load test.
pub(super) fn give_time(load: &mut LoadPlan, first_s: f64) {
    if load.drain_s > 0.0 && 2.0 * first_s >= load.drain_s {
        load.drain_s = load.drain_s.max(load.timeout_s);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::time::Duration;

    use run::Plan;

    use super::*;
    use crate::{Lab, TargetSetup, Watch};

    struct Unwatched;

    impl Watch for Unwatched {}

    /// The planned time for the last answers is 20 ms, and the server needs more for each answer. In an earlier version of
    /// loadline, only `load` gave such a server more time.
    #[test]
    fn the_load_of_every_command_waits_for_a_slow_server() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let _ = client.read(&mut [0; 1024]);
                std::thread::sleep(Duration::from_millis(50));
                let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }
        });
        for command in ["load", "find", "compare", "prove"] {
            let mut plan = Plan { command: command.into(), ..Plan::default() };
            plan.target.url = url.clone();
            (plan.load.drain_s, plan.load.timeout_s) = (0.02, 9.0);
            let mut watch = Unwatched;
            let mut lab = Lab::begin(plan, None, &mut watch).unwrap();
            assert_eq!(TargetSetup::prepare(&mut lab).unwrap().load.drain_s, 9.0, "{command}");
        }
    }

    #[test]
    fn slow_servers_get_the_timeout_for_their_last_answers() {
        let drain_s = |timeout_s, first_s| {
            let mut load = LoadPlan { drain_s: 2.0, timeout_s, ..LoadPlan::default() };
            give_time(&mut load, first_s);
            load.drain_s
        };
        assert_eq!([0.01, 4.0].map(|first_s| drain_s(10.0, first_s)), [2.0, 10.0]);
        assert_eq!(drain_s(0.5, 4.0), 2.0);
    }
}
