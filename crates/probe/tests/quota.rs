//! A processor quota that runs out is seen. Needs the right to make a control group.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use loadline_probe::{Probe, Scope};
use run::Window;
use testkit::{ControlGroup, Held, eventually};

#[test]
fn a_quota_that_runs_out_is_seen() {
    let Some(group) = ControlGroup::fifth_of_a_processor("a_quota_that_runs_out_is_seen") else { return };
    let mut command = group.command(Path::new("sh"));
    let busy = Held::start(command.args(["-c", "while :; do :; done"]).stdin(Stdio::null()));
    let in_group = |text: String| text.contains("loadline-test-");
    eventually(|| std::fs::read_to_string(format!("/proc/{}/cgroup", busy.pid())).is_ok_and(in_group).then_some(()));
    let sources = Some(vec!["process", "cgroup"]);
    let mut probe = Probe::new(Scope { processes: vec![busy.pid()], sources, ..Scope::default() });
    probe.sample(0.0);
    // Twelve periods, or more where this process is kept waiting: each has a fifth for a process that wants all.
    std::thread::sleep(Duration::from_millis(600));
    probe.sample(0.6);
    let r = probe.take();
    let name = r.columns_of("cgroup.cpu_quota").next().map(|c| c.instance.clone()).unwrap_or_default();
    let told = |id: &str| r.reading(id, &name, Window::ALL).value();
    assert_eq!(told("cgroup.cpu_quota"), Some(0.2), "{:?}", r.absent);
    let (periods, throttled) = (told("cgroup.cpu_periods").unwrap(), told("cgroup.cpu_throttled_periods").unwrap());
    assert!(throttled >= 2.0 && periods >= throttled && told("cgroup.cpu_throttled_time").unwrap() > 0.0);
}
