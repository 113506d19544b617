//! A processor quota that runs out is seen. Needs the right to make a control group.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use loadline_probe::{Probe, Scope};
use run::Window;

/// A control group of this test with its one process.
struct Group {
    folder: PathBuf,
    child: Child,
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The kernel lets go of an ended process a moment later.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A busy process that may use a fifth of a processor; `None` without the rights.
fn busy_under_a_quota() -> Option<Group> {
    let one = Path::new("/sys/fs/cgroup/cpu");
    let (parent, limits) = match one.join("cpu.cfs_quota_us").exists() || one.join("cpu.stat").exists() {
        true => (one, [("cpu.cfs_period_us", "50000"), ("cpu.cfs_quota_us", "10000")].as_slice()),
        false => (Path::new("/sys/fs/cgroup"), [("cpu.max", "10000 50000")].as_slice()),
    };
    let folder = parent.join(format!("loadline-probe-{}", std::process::id()));
    std::fs::create_dir(&folder).ok()?;
    let set = limits.iter().all(|(file, text)| std::fs::write(folder.join(file), text).is_ok());
    let script = "echo $$ >\"$0/cgroup.procs\" || exit 1; while :; do :; done";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(&folder).stdin(Stdio::null()).stderr(Stdio::null());
    let mut group = Group { child: command.spawn().ok()?, folder };
    std::thread::sleep(Duration::from_millis(200));
    let alive = group.child.try_wait().ok()?.is_none();
    (set && alive).then_some(group)
}

#[test]
fn a_quota_that_runs_out_is_seen() {
    // No package brings these rights, so this is skipped even where everything else is required.
    let Some(group) = busy_under_a_quota() else {
        return println!("SKIP a_quota_that_runs_out_is_seen: no right to make a control group with a quota");
    };
    let sources = Some(vec!["process", "cgroup"]);
    let mut probe = Probe::new(Scope { processes: vec![group.child.id()], sources, ..Scope::default() });
    probe.sample(0.0);
    std::thread::sleep(Duration::from_millis(600));
    probe.sample(0.6);
    let r = probe.take();
    let name = r.columns_of("cgroup.cpu_quota").next().map(|c| c.instance.clone()).unwrap_or_default();
    let told = |id: &str| r.reading(id, &name, Window::ALL).value();
    assert_eq!(told("cgroup.cpu_quota"), Some(0.2), "{:?}", r.absent);
    let (periods, throttled) = (told("cgroup.cpu_periods").unwrap(), told("cgroup.cpu_throttled_periods").unwrap());
    assert!(throttled >= 2.0 && periods >= throttled && told("cgroup.cpu_throttled_time").unwrap() > 0.0);
}
