//! Reason why the threads of a process may not be read, and the remedy.

use std::io;

use crate::rights::advice_for;

/// File of the Yama security module. The value 0 allows users to read their own processes, and higher values forbid
/// this.
const YAMA: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// Maximum number of processes that a sentence names.
const MAX_NAMED: usize = 3;

/// Returns the reason why the threads of the given processes could not be read, as one sentence.
pub(super) fn refusal(pids: &[u32], error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::PermissionDenied && error.raw_os_error() != Some(sys::Errno::PERM.raw_os_error())
    {
        return format!("the threads of {} could not be read: {error}", named(pids));
    }
    let scope = std::fs::read_to_string(YAMA).ok().and_then(|text| text.trim().parse().ok());
    denied(&named(pids), scope, sys::limits::is_root())
}

/// Names processes: `process 7`, or `12 processes (1, 460, 461 and 9 more)`.
fn named(pids: &[u32]) -> String {
    let first: Vec<String> = pids.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    match pids {
        [one] => format!("process {one}"),
        _ if pids.len() <= MAX_NAMED => format!("{} processes ({})", pids.len(), first.join(", ")),
        _ => format!("{} processes ({} and {} more)", pids.len(), first.join(", "), pids.len() - MAX_NAMED),
    }
}

fn denied(processes: &str, yama: Option<u32>, root: bool) -> String {
    match yama {
        _ if root => format!("the threads of {processes} may not be read: {}", advice_for(root, "")),
        Some(1..) => format!(
            "this system forbids reading the threads of {processes} (kernel.yama.ptrace_scope is not 0): run loadline \
             as root, or give it CAP_SYS_PTRACE once: sudo setcap cap_sys_ptrace+ep \"$(command -v loadline)\""
        ),
        _ => format!("the threads of {processes} belong to another user: {}", advice_for(root, "that user")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_processes_have_one_sentence() {
        assert_eq!((named(&[7]), named(&[1, 2])), ("process 7".into(), "2 processes (1, 2)".into()));
        assert_eq!(named(&[1, 2, 3, 4, 5]), "5 processes (1, 2, 3 and 2 more)");
    }

    #[test]
    fn each_reason_says_what_to_do() {
        let of_user = |yama| denied("process 7", yama, false);
        assert!(of_user(Some(1)).contains("ptrace_scope") && of_user(Some(1)).contains("CAP_SYS_PTRACE"));
        assert!(of_user(Some(1)).contains("sudo setcap cap_sys_ptrace+ep"));
        assert!(of_user(Some(0)).contains("as root") && of_user(None).contains("another user"));
        for yama in [Some(1), Some(0), None] {
            let of_root = denied("process 7", yama, true);
            assert!(!of_root.contains("as root") && of_root.contains("--cap-add SYS_PTRACE"), "{of_root}");
        }
        let odd = refusal(&[7], &io::Error::from_raw_os_error(5));
        assert!(odd.contains("process 7") && !odd.contains("root"), "{odd}");
    }
}
