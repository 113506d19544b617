//! Limits and placement of this process and its threads: open descriptors, CPUs, timer slack. Source: getrlimit(2),
//! sched_setaffinity(2), prctl(2) PR_SET_TIMERSLACK.

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity, set_current_timer_slack};

use crate::{Result, last_errno};

/// Returns the soft and hard limit on open descriptors of this process; `u64::MAX` means no limit.
pub fn descriptors() -> (u64, u64) {
    let limit = getrlimit(Resource::Nofile);
    (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX))
}

/// Returns the limit on processes and threads of this user; `None` if there is no limit.
pub fn processes() -> Option<u64> {
    getrlimit(Resource::Nproc).current
}

/// Returns the limit on the address space of this process, bytes; `None` if there is no limit.
pub fn address_space() -> Option<u64> {
    getrlimit(Resource::As).current
}

/// Returns the address space that this process uses, bytes. Source: proc(5), statm.
pub fn used_address_space() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(pages.saturating_mul(crate::param::page_bytes()))
}

/// Sets the soft and hard limit on open descriptors of another process of the same user. Raising the hard limit
/// requires CAP_SYS_RESOURCE. Source: prlimit(2).
pub fn set_descriptors_of(pid: u32, (soft, hard): (u64, u64)) -> Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(rustix::io::Errno::SRCH)?;
    prlimit(Some(pid), Resource::Nofile, Rlimit { current: Some(soft), maximum: Some(hard) }).map(drop)
}

/// Raises the soft limit on open descriptors to the hard limit. Returns the new soft limit.
pub fn raise_descriptors() -> Result<u64> {
    let (soft, hard) = descriptors();
    if soft < hard {
        let maximum = getrlimit(Resource::Nofile).maximum;
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    }
    Ok(descriptors().0)
}

/// Sets the soft limit on open descriptors. Tests set a low limit in order to reach it.
pub fn set_soft_descriptors(soft: u64) -> Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(soft), maximum })
}

/// Lowers the soft and hard limit on open descriptors permanently. Tests set low limits in order to reach them.
pub fn lower_descriptors(to: u64) -> Result<()> {
    setrlimit(Resource::Nofile, Rlimit { current: Some(to), maximum: Some(to) })
}

/// Makes a write past the file size limit (ulimit -f) fail with EFBIG instead of ending the process by SIGXFSZ. After
/// EFBIG, the program can remove the partial file. Source: setrlimit(2).
pub fn large_files_are_errors() -> Result<()> {
    // SAFETY: SIG_IGN is a valid disposition, and this program has no handler for the signal.
    let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    if before == libc::SIG_ERR { Err(last_errno()) } else { Ok(()) }
}

/// Returns the CPUs that the calling thread may run on, ascending.
pub fn allowed_cpus() -> Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect())
}

/// Confines the calling thread, and threads that it starts later, to the given CPUs. CPU numbers beyond the range of
/// the kernel interface are ignored. If all CPU numbers in `cpus` are ignored, the call fails with EINVAL.
pub fn confine_to_cpus(cpus: &[u32]) -> Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().filter(|&&cpu| (cpu as usize) < CpuSet::MAX_CPU).for_each(|&cpu| set.set(cpu as usize));
    sched_setaffinity(None, &set)
}

/// Returns the CPUs that a thread of any process may run on, ascending.
pub fn cpus_of_thread(tid: u32) -> Result<Vec<u32>> {
    let set = sched_getaffinity(Some(thread_id(tid)?))?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect())
}

/// Confines a thread of any process of this user, and threads that it starts later, to the given CPUs.
pub fn confine_thread(tid: u32, cpus: &[u32]) -> Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().filter(|&&cpu| (cpu as usize) < CpuSet::MAX_CPU).for_each(|&cpu| set.set(cpu as usize));
    sched_setaffinity(Some(thread_id(tid)?), &set)
}

/// Checks a thread ID and converts it to the kernel's type. Refuses 0, which would mean the calling thread.
fn thread_id(tid: u32) -> Result<rustix::process::Pid> {
    i32::try_from(tid).ok().and_then(rustix::process::Pid::from_raw).ok_or(crate::Errno::SRCH)
}

/// Confines the calling thread, and threads that it starts later, to exactly the given CPUs. The error is a sentence
/// that names the CPUs that cannot be used, and the CPUs of this machine.
pub fn confine_to_exact_cpus(cpus: &[u32]) -> std::result::Result<(), String> {
    let confined = confine_to_cpus(cpus);
    // The kernel silently ignores CPUs that are unavailable. The call fails only if none of the requested CPUs is
    // available.
    let given = confined.and_then(|()| allowed_cpus());
    let missing = match &given {
        Ok(given) => cpus.iter().filter(|cpu| !given.contains(cpu)).collect::<Vec<_>>(),
        Err(crate::Errno::INVAL) => cpus.iter().collect(),
        Err(error) => return Err(format!("cannot run on CPUs {cpus:?}: {error}")),
    };
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let online =
        Some(online.trim()).filter(|list| !list.is_empty()).map(|list| format!(": this machine has CPUs {list}"));
    let (online, advice) = (online.unwrap_or_default(), "`taskset -cp $$` shows those that you may use");
    Err(format!("cannot run on CPU {missing}{online}; {advice}"))
}

/// Returns the CPU that the calling thread runs on now.
pub fn current_cpu() -> u32 {
    sched_getcpu() as u32
}

/// Returns true if this process runs as root. A container may still lack most rights of root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the ID of the real user of this process. The kernel counts the process and its threads against the limit of
/// this user.
pub fn user_id() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Sets the nice value of the calling thread, from -20 (highest priority) to 19 (lowest). Values below 0 require
/// privilege.
pub fn set_nice(nice: i32) -> Result<()> {
    rustix::process::setpriority_process(None, nice)
}

/// Requests CPU time slices of `ns` nanoseconds for the calling thread. When the thread wakes up, it runs before
/// threads with longer slices (Linux 6.12; older kernels ignore or refuse the request). Source: sched_setattr(2).
pub fn ask_for_slices(ns: u64) -> Result<()> {
    #[repr(C)]
    #[derive(Default)]
    struct SchedAttr {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let attr = SchedAttr { size: size_of::<SchedAttr>() as u32, runtime: ns, ..SchedAttr::default() };
    // SAFETY: the structure has the layout and the size that its first field states, and outlives the call, which only
    // reads it.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
    if done < 0 { Err(last_errno()) } else { Ok(()) }
}

/// Sets the timer slack of the calling thread to 1 ns. The kernel may delay a thread's timers by the timer slack, which
/// is 50 µs by default.
pub fn exact_timers() -> Result<()> {
    set_current_timer_slack(std::num::NonZeroU64::new(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        let (_, hard) = descriptors();
        assert_eq!(raise_descriptors().unwrap(), hard);
        assert_eq!(descriptors().0, hard);
    }

    #[test]
    fn a_thread_can_be_confined_to_one_cpu() {
        std::thread::spawn(|| {
            let cpus = allowed_cpus().unwrap();
            let last = *cpus.last().unwrap();
            confine_to_cpus(&[last]).unwrap();
            assert_eq!(allowed_cpus().unwrap(), vec![last]);
            assert_eq!(current_cpu(), last);
            exact_timers().unwrap();
            // Older kernels may refuse to set a time slice, so the test accepts an error.
            let _ = ask_for_slices(100_000);
            assert!(confine_to_cpus(&[u32::MAX]).is_err());
            assert_eq!(confine_to_exact_cpus(&[last]), Ok(()));
            // In the second list, one of two CPUs does not exist. Without the check of this test, the kernel would
            // silently use only the CPU that exists.
            for list in [vec![u32::MAX], vec![last, 4095]] {
                let why = confine_to_exact_cpus(&list).unwrap_err();
                assert!(
                    why.contains(&list.last().unwrap().to_string()) && why.contains("this machine has CPUs 0"),
                    "{why}"
                );
                assert!(!why.contains("Invalid argument"), "{why}");
            }
        })
        .join()
        .unwrap();
    }
}
