//! Control groups with a limit, of version 1 or 2.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A control group. Its processes must have ended before it is dropped.
pub struct Group(PathBuf);

impl Group {
    /// A group of this controller, with the limits of either version; `None` without the right to make one and to enter
    /// it.
    pub fn make(controller: &str, one: &[(&str, &str)], two: &[(&str, &str)]) -> Option<Self> {
        let old = Path::new("/sys/fs/cgroup").join(controller);
        let (parent, limits) =
            if old.join("cgroup.procs").exists() { (old, one) } else { ("/sys/fs/cgroup".into(), two) };
        let folder = parent.join(format!("loadline-limits-{controller}-{}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let group = Self(folder);
        let set = limits.iter().all(|(file, text)| std::fs::write(group.0.join(file), text).is_ok());
        let entered = group.command(Path::new("true")).stderr(Stdio::null()).status();
        (set && entered.is_ok_and(|s| s.success())).then_some(group)
    }

    /// A program that runs in the group from its first instruction on.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ >\"$0/cgroup.procs\" || exit 1; exec \"$@\""]).arg(&self.0).arg(program);
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The kernel lets go of an ended process a moment later.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
