//! Checks that an exhausted CPU quota is visible. The test needs the right to create a control group.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use loadline_probe::{Probe, Scope};
use run::Window;
use testkit::{ChildProcess, ControlGroup, eventually};

#[test]
fn an_exhausted_quota_is_visible() {
    let Some(group) = ControlGroup::fifth_of_a_processor("an_exhausted_quota_is_visible") else { return };
    let mut command = group.command(Path::new("sh"));
    let busy = ChildProcess::start(command.args(["-c", "while :; do :; done"]).stdin(Stdio::null()));
    let in_group = |text: String| text.contains("loadline-test-");
    eventually(|| std::fs::read_to_string(format!("/proc/{}/cgroup", busy.pid())).is_ok_and(in_group).then_some(()));
    let sources = Some(vec!["process", "cgroup"]);
    let mut probe = Probe::new(Scope { processes: vec![busy.pid()], sources, ..Scope::default() });
    probe.sample(0.0);
    let begin = Instant::now();
    // The process wants a whole CPU and gets a fifth of each period.
    let (r, name) = eventually(|| {
        std::thread::sleep(Duration::from_millis(100));
        probe.sample(begin.elapsed().as_secs_f64());
        let r = probe.copy();
        let name = r.columns_of("cgroup.cpu_quota").next().map(|c| c.instance.clone()).unwrap_or_default();
        let throttled = |id: &str| r.reading(id, &name, Window::ALL).value();
        // The kernel counts a period at its end, and adds the throttled time when the group runs again.
        let seen = throttled("cgroup.cpu_throttled_periods").is_none_or(|periods| periods >= 2.0)
            && throttled("cgroup.cpu_throttled_time").is_none_or(|time| time > 0.0);
        seen.then_some((r, name))
    });
    let told = |id: &str| r.reading(id, &name, Window::ALL).value();
    // The quota is the mean of several equal samples, so it may have a rounding error.
    let quota = told("cgroup.cpu_quota");
    assert!(quota.is_some_and(|share| (share - 0.2).abs() < 1e-9), "{quota:?} {:?}", r.absent);
    let (periods, throttled) = (told("cgroup.cpu_periods").unwrap(), told("cgroup.cpu_throttled_periods").unwrap());
    assert!(throttled >= 2.0 && periods >= throttled && told("cgroup.cpu_throttled_time").unwrap() > 0.0);
}
