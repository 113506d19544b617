use super::*;
use crate::agents::Shell;

/// Starts an observer that claims to have 4,294,967,295 CPUs, and that answers each command with `answer`.
fn observer(answer: &str) -> RemoteObserver {
    let hello = format!(r#"echo '{{"is":"hello","wire":{},"cpus":4294967295}}'; read spec"#, run::WIRE_VERSION);
    let script = format!(r#"{hello}; echo '{{"is":"watching"}}'; while read command; do echo '{answer}'; done"#);
    RemoteObserver::start(&Shell(script), Path::new("sh"), WatchSpec::default()).unwrap()
}

/// An earlier version of loadline allocated one value for each tenth of a second since the time that the agent named.
/// That version ran out of memory.
#[test]
fn a_sample_before_the_load_or_in_the_future_counts_as_lost() {
    for (t_s, is_used) in [("0.0", true), ("-1e10", false), ("-1e300", false), ("1e10", false)] {
        let observer = observer(&format!(r#"{{"is":"edge","t_s":{t_s}}}"#));
        let sampling = observer.follow(Vec::new(), 0.1, Origin::after(Duration::ZERO));
        sampling.order_edge(sys::clock::monotonic_ns());
        assert_eq!(sampling.await_edge(), is_used.then_some(0.0), "{t_s}");
        let incidents = sampling.incidents();
        assert_eq!(incidents.iter().any(|one| one.kind == IncidentKind::ObserverLost), !is_used, "{incidents:?}");
    }
    assert!(!is_possible(f64::NAN, 1.0) && !is_possible(f64::INFINITY, 1.0) && is_possible(1.9, 1.0));
}

#[test]
fn the_number_of_cpus_of_a_host_is_limited() {
    assert_eq!(observer("{}").processors(), probe::MAX_CPUS);
}
