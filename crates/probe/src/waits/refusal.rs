//! Reason why the threads of a process may not be read, and what to do about it.

use std::io;

/// File of the Yama security module: 0 allows to read processes of the own user, higher values forbid it.
const YAMA: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// Returns the reason as one sentence.
pub(super) fn refusal(pid: u32, error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::PermissionDenied && error.raw_os_error() != Some(sys::Errno::PERM.raw_os_error())
    {
        return format!("the threads of process {pid} could not be read: {error}");
    }
    let scope = std::fs::read_to_string(YAMA).ok().and_then(|text| text.trim().parse().ok());
    denied(pid, scope)
}

fn denied(pid: u32, yama: Option<u32>) -> String {
    match yama {
        Some(1..) => format!(
            "this system forbids reading the threads of process {pid} (kernel.yama.ptrace_scope is not 0): run loadline as root, give it CAP_SYS_PTRACE, or let it start the server with --command"
        ),
        _ => format!("the threads of process {pid} belong to another user: run loadline as root or as that user"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_says_what_to_do() {
        assert!(denied(7, Some(1)).contains("ptrace_scope") && denied(7, Some(1)).contains("--command"));
        assert!(denied(7, Some(0)).contains("as root") && denied(7, None).contains("another user"));
        let odd = refusal(7, &io::Error::from_raw_os_error(5));
        assert!(odd.contains("process 7") && !odd.contains("root"), "{odd}");
    }
}
