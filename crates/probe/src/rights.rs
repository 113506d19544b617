//! Advice on how to get permission to read another process.

/// Returns advice for this user on how to get permission to read a process. `owner` is the user who may read the
/// process, in addition to root.
pub(crate) fn advice(owner: &str) -> String {
    advice_for(sys::limits::is_root(), owner)
}

/// Returns the advice for root if `root` is true, and otherwise the advice for another user. Even root lacks the right
/// to read other processes in a container without CAP_SYS_PTRACE.
pub(crate) fn advice_for(root: bool, owner: &str) -> String {
    if root {
        "root lacks CAP_SYS_PTRACE here, as in most containers: start the container with --cap-add SYS_PTRACE, or run \
         loadline outside of it"
            .into()
    } else {
        format!("run loadline as root or as {owner}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_not_told_to_become_root() {
        assert!(!advice_for(true, "its owner").contains("as root") && advice_for(true, "").contains("SYS_PTRACE"));
        assert_eq!(advice_for(false, "its owner"), "run loadline as root or as its owner");
    }
}
