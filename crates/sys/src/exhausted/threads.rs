//! Limits on the number of processes and threads: for a user (RLIMIT_NPROC), for a control group (pids.max), and for
//! the host (kernel.threads-max, kernel.pid_max). Sources: getrlimit(2), proc(5), the kernel's cgroup-v2.rst.

use std::fs;
use std::path::Path;

use super::limit::{Limit, groups, number_in};
use crate::limits;

/// Limit on processes and threads that is high enough for any usual load: a few generators of about five threads each.
const ROOMY_PROCESSES: u64 = 1024;

/// Number of processes and threads that may have ended between a failed start of a thread and the count of the running
/// threads. A load generator that fails to start ends its own threads, so the count may be lower than the limit by this
/// number.
const ENDED_SINCE: u64 = 64;

/// Returns a sentence for the user: no further process or thread can be started.
pub(super) fn sentence() -> String {
    tell(of_groups().into_iter().chain(of_user()).chain(of_host()).collect())
}

/// Returns the sentence for the limit that was reached, or nearly reached (see [`ENDED_SINCE`]). If no limit was nearly
/// reached, returns the sentence about the limit that has the least room left.
fn tell(limits: Vec<Limit>) -> String {
    let nearest = limits.iter().min_by_key(|limit| limit.left());
    match nearest {
        Some(limit) if limit.left() <= ENDED_SINCE => limit.sentence.clone(),
        Some(limit) => format!(
            "processes ran out, though no limit that can be read here is at its number; a group above this container may have \
             one. The nearest: {}",
            limit.sentence
        ),
        None => "processes ran out: the kernel started no further process or thread, and shows none of its limits here"
            .into(),
    }
}

fn limit(owner: &str, (used, most): (u64, u64), raise: impl FnOnce(u64) -> String) -> Limit {
    let raise = raise(most.saturating_mul(2).max(ROOMY_PROCESSES));
    let sentence = format!(
        "processes ran out: {owner} may have {most} processes and threads and has {used}; raise the limit with {raise}"
    );
    Limit { used, most, sentence }
}

fn of_groups() -> Vec<Limit> {
    let of = |folder: &Path| {
        let file = folder.join("pids.max");
        let counts = (number_in(&folder.join("pids.current"))?, number_in(&file)?);
        let raise = |more: u64| format!("`echo {more} > {}` (TasksMax={more} in a systemd unit)", file.display());
        Some(limit("this control group", counts, raise))
    };
    groups("pids").iter().filter_map(|folder| of(folder)).collect()
}

/// Returns the limit of this user. The kernel does not apply a user's limit on processes to root.
fn of_user() -> Option<Limit> {
    let most = limits::processes().filter(|_| !limits::is_root())?;
    let raise = |more: u64| format!("`ulimit -u {more}`, as root if this is refused");
    Some(limit("this user", (threads_of(limits::user_id()), most), raise))
}

fn of_host() -> Vec<Limit> {
    // The fourth field has the number of running threads and, after a slash, the number of all threads.
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let used = load.split_whitespace().nth(3).and_then(|counts| counts.split_once('/')?.1.parse().ok());
    let of = |name: &str| {
        let most = number_in(&Path::new("/proc/sys/kernel").join(name))?;
        Some(limit("this host", (used?, most), |more| format!("`sysctl -w kernel.{name}={more}`")))
    };
    ["threads-max", "pid_max"].into_iter().filter_map(of).collect()
}

/// Returns the number of threads of all processes of a user, as far as this process may read them.
fn threads_of(user: u32) -> u64 {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let status = all.filter_map(|entry| fs::read_to_string(entry.path().join("status")).ok());
    status.filter_map(|text| threads_in(&text, user)).sum()
}

/// Returns the number of threads in the status of a process, or `None` if the process has another real user.
fn threads_in(status: &str, user: u32) -> Option<u64> {
    let number =
        |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse().ok());
    let is_own = number("Uid:") == Some(u64::from(user));
    number("Threads:").filter(|_| is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_at_its_number_is_told() {
        let of = |owner: &str, used, most| limit(owner, (used, most), |more| format!("`raise {more}`"));
        let told = tell(vec![of("this user", 4, 4), of("this host", 300, 30_000)]);
        let expected = "processes ran out: this user may have 4 processes and threads and has 4; raise the limit with `raise 1024`";
        assert_eq!(told, expected);
        let told =
            tell(vec![of("this user", 300, 4096), of("this control group", 499, 500), of("this host", 300, 30_000)]);
        assert!(told.contains("this control group may have 500 processes and threads and has 499"), "{told}");
        let told = tell(vec![of("this user", 300, 4096), of("this host", 300, 30_000)]);
        assert!(told.contains("no limit that can be read here is at its number"), "{told}");
        assert!(tell(Vec::new()).starts_with("processes ran out"));
    }

    #[test]
    fn threads_are_counted_by_their_real_user() {
        let status = "Name:\tx\nUid:\t1000\t0\t0\t0\nThreads:\t7\n";
        assert_eq!((threads_in(status, 1000), threads_in(status, 0), threads_in("", 0)), (Some(7), None, None));
        assert!(threads_of(limits::user_id()) >= 1, "this process");
        let host = of_host();
        assert!(host.len() == 2 && host.iter().all(|limit| limit.used >= 1 && limit.used < limit.most), "{host:?}");
    }
}
