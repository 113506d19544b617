//! Control groups (cgroups) with a limit, for version 1 or version 2 of the kernel's interface.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

static MADE: AtomicU32 = AtomicU32::new(0);

/// A control group, which is removed when this value is dropped. All processes in the group must have ended before the
/// value is dropped.
pub struct ControlGroup(PathBuf);

impl ControlGroup {
    /// Creates a control group under `controller`. `one` and `two` are the group's limits, as (file, value), for cgroup
    /// version 1 and version 2. Skips the test if the process may not create or enter a control group with the given
    /// limits.
    #[track_caller]
    pub fn make(test: &str, controller: &str, one: &[(&str, &str)], two: &[(&str, &str)]) -> Option<Self> {
        let made = Self::try_make(controller, one, two);
        if made.is_none() {
            crate::skip(test, format!("no right to make a control group with a limit ({controller})"));
        }
        made
    }

    /// Creates a control group with a CPU quota of one fifth of a CPU.
    #[track_caller]
    pub fn fifth_of_a_processor(test: &str) -> Option<Self> {
        let one = [("cpu.cfs_period_us", "50000"), ("cpu.cfs_quota_us", "10000")];
        Self::make(test, "cpu", &one, &[("cpu.max", "10000 50000")])
    }

    fn try_make(controller: &str, one: &[(&str, &str)], two: &[(&str, &str)]) -> Option<Self> {
        let old = Path::new("/sys/fs/cgroup").join(controller);
        let (parent, limits) =
            if old.join("cgroup.procs").exists() { (old, one) } else { ("/sys/fs/cgroup".into(), two) };
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("loadline-test-{controller}-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let group = Self(folder);
        let set = limits.iter().all(|(file, text)| std::fs::write(group.0.join(file), text).is_ok());
        let entered = group.command(Path::new("true")).stderr(Stdio::null()).status();
        (set && entered.is_ok_and(|s| s.success())).then_some(group)
    }

    /// Returns the content of the group's file with the CPU quota.
    pub fn cpu_quota(&self) -> String {
        let read = |file: &str| std::fs::read_to_string(self.0.join(file)).ok();
        read("cpu.max").or_else(|| read("cpu.cfs_quota_us")).expect("a group of the cpu controller")
    }

    /// Returns a command that runs `program` in the group.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ >\"$0/cgroup.procs\" || exit 1; exec \"$@\""]).arg(&self.0).arg(program);
        command
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // The kernel can remove only an empty group, and it needs a moment to remove an ended process from its group.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
