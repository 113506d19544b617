//! Tests of the CPUs that processes may use.

use super::*;

fn column(id: &'static str, instance: &str, values: [f64; 2]) -> run::Column {
    run::Column { counter: CounterId::new(id), instance: instance.into(), values: values.map(Some).to_vec() }
}

/// On a virtual machine to which CPUs can be added while it runs, an unpinned process may use 128 CPUs, of which 4 are
/// online.
#[test]
fn cpus_that_are_not_online_are_not_allowed() {
    let mut columns = vec![column("cpu.online", "", [4.0, 4.0])];
    columns.extend(["0", "1", "2", "3"].map(|cpu| column("cpu.idle", cpu, [0.0, 5e4])));
    let recording = run::Recording { t_s: vec![0.0, 1.0], columns, ..run::Recording::default() };
    let mut trial = Trial { server: Some(Side { recording, ..Side::default() }), ..Trial::default() };
    crate::context::sides::derive_trial(&mut trial);
    let view = View::new("server", &trial, trial.server.as_ref().unwrap());
    let task = |name: &str| Task {
        name: name.into(),
        counter: "process.cpu",
        busy: 1.9,
        wait: Some(1.9),
        allowed: Some(128.0),
        mask: None,
    };
    assert_eq!(view.cpu_allowed_of(&[task("nginx:7"), task("nginx:8")]), Some(4.0));
}
