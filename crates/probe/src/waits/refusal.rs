//! Reason why the threads of a process may not be read, and what to do about it.

use std::io;

use crate::rights::advice_for;

/// File of the Yama security module: 0 allows to read processes of the own user, higher values forbid it.
const YAMA: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// Returns the reason as one sentence.
pub(super) fn refusal(pid: u32, error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::PermissionDenied && error.raw_os_error() != Some(sys::Errno::PERM.raw_os_error())
    {
        return format!("the threads of process {pid} could not be read: {error}");
    }
    let scope = std::fs::read_to_string(YAMA).ok().and_then(|text| text.trim().parse().ok());
    denied(pid, scope, sys::limits::is_root())
}

fn denied(pid: u32, yama: Option<u32>, root: bool) -> String {
    match yama {
        _ if root => format!("the threads of process {pid} may not be read: {}", advice_for(root, "")),
        Some(1..) => format!(
            "this system forbids reading the threads of process {pid} (kernel.yama.ptrace_scope is not 0): run loadline \
             as root, or give it CAP_SYS_PTRACE"
        ),
        _ => format!("the threads of process {pid} belong to another user: {}", advice_for(root, "that user")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_says_what_to_do() {
        let of_user = |yama| denied(7, yama, false);
        assert!(of_user(Some(1)).contains("ptrace_scope") && of_user(Some(1)).contains("CAP_SYS_PTRACE"));
        assert!(of_user(Some(0)).contains("as root") && of_user(None).contains("another user"));
        for yama in [Some(1), Some(0), None] {
            let of_root = denied(7, yama, true);
            assert!(!of_root.contains("as root") && of_root.contains("--cap-add SYS_PTRACE"), "{of_root}");
        }
        let odd = refusal(7, &io::Error::from_raw_os_error(5));
        assert!(odd.contains("process 7") && !odd.contains("root"), "{odd}");
    }
}
