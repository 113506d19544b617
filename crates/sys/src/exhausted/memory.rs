//! Limits on memory that can prevent the start of a process or thread: address space (RLIMIT_AS), the control group
//! (memory.max), and the commit limit (vm.overcommit_memory). Sources: getrlimit(2), proc(5), the kernel's
//! cgroup-v2.rst.

use std::fs;
use std::path::Path;

use super::limit::{Limit, groups, number_in};
use crate::limits;

const MIB: u64 = 1 << 20;

/// Returns a sentence for the user: a process or thread cannot get the memory it needs.
pub(super) fn sentence(needed: u64) -> String {
    let all = of_address_space().into_iter().chain(of_groups()).chain(of_commits());
    tell(all.collect(), needed)
}

/// Returns the sentence for the limit with the least memory left, if less memory is left than is needed. If every limit
/// leaves enough memory, returns a general sentence about a lack of memory.
fn tell(limits: Vec<Limit>, needed: u64) -> String {
    let full = limits.iter().filter(|limit| limit.left() < needed).min_by_key(|limit| limit.left());
    full.map_or_else(
        || "memory ran out: the kernel has none for another process or thread; see `free -m` and `dmesg`".into(),
        |limit| limit.sentence.clone(),
    )
}

fn limit(owner: &str, (used, most): (u64, u64), raise: &str) -> Limit {
    let sentence = format!(
        "memory ran out: {owner} may have {} MiB and has {}, which leaves too little for another process or thread; raise the limit \
         with {raise}",
        most / MIB,
        used / MIB
    );
    Limit { used, most, sentence }
}

fn of_address_space() -> Option<Limit> {
    let most = limits::address_space()?;
    let used = limits::used_address_space()?;
    Some(limit("the address space of a process", (used, most), "`ulimit -v unlimited`, as root if this is refused"))
}

fn of_groups() -> Vec<Limit> {
    let of = |folder: &Path, limit_file: &str, use_file: &str| {
        let file = folder.join(limit_file);
        let counts = (number_in(&folder.join(use_file))?, number_in(&file)?);
        let raise = format!("`echo {} > {}`", counts.1.saturating_mul(2), file.display());
        Some(limit("this control group", counts, &raise))
    };
    let both = |folder: &Path| {
        let files = [("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")];
        files.into_iter().find_map(|(limit, used)| of(folder, limit, used))
    };
    groups("memory").iter().filter_map(|folder| both(folder)).collect()
}

/// Returns the host's commit limit, if it applies.
fn of_commits() -> Option<Limit> {
    number_in(Path::new("/proc/sys/vm/overcommit_memory")).filter(|mode| *mode == 2)?;
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib = |key: &str| {
        text.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse::<u64>().ok())
    };
    let counts = (kib("Committed_AS:")?.saturating_mul(1024), kib("CommitLimit:")?.saturating_mul(1024));
    Some(limit("all programs of this host", counts, "`sysctl -w vm.overcommit_memory=0`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_leaves_too_little_is_told() {
        let of = |owner: &str, used, most| limit(owner, (used * MIB, most * MIB), "`raise`");
        let told =
            tell(vec![of("this control group", 90, 100), of("the address space of a process", 199, 200)], 2 * MIB);
        let expected = "memory ran out: the address space of a process may have 200 MiB and has 199, which leaves too little \
                        for another process or thread; raise the limit with `raise`";
        assert_eq!(told, expected);
        let none = tell(vec![of("this control group", 90, 100)], 2 * MIB);
        assert!(none.contains("free -m"), "{none}");
    }
}
