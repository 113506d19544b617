//! CPU time of processes. The values of CPU time come from the kernel's scheduler statistics and from rusage, which are
//! exact on most kernels. Only the CPU time of a server's ended child processes is rounded to clock ticks.

use std::fs;

use anyhow::{Context, Result};

/// Returns the CPU time in microseconds of a live process and its descendants. The time includes ended children that
/// were waited for, because a server may fork a process per connection.
pub(crate) fn tree_us(pid: u32) -> Result<f64> {
    let mut sum = own_us(pid)? + ended_us(pid).unwrap_or(0.0);
    for child in testkit::children(pid) {
        sum += tree_us(child).unwrap_or(0.0);
    }
    Ok(sum)
}

/// Returns the process ID and the CPU time (microseconds) of a live process, followed by the IDs and CPU times of its
/// live descendants.
pub(crate) fn each_of_tree_us(pid: u32) -> Result<Vec<(u32, f64)>> {
    let mut each = vec![(pid, own_us(pid)?)];
    for child in testkit::children(pid) {
        each.extend(each_of_tree_us(child).unwrap_or_default());
    }
    Ok(each)
}

fn own_us(pid: u32) -> Result<f64> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).with_context(|| format!("process {pid} has ended"))?;
    let on_cpu_ns = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    Ok(tasks.flatten().filter_map(on_cpu_ns).sum::<f64>() / 1e3)
}

/// Returns the CPU time in microseconds of the children that a process has waited for (cutime and cstime of proc(5)).
fn ended_us(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    let ticks = after_name.split_whitespace().skip(13).take(2).map(|n| n.parse::<f64>().ok());
    let ticks: Option<f64> = ticks.sum();
    Some(ticks? / sys::param::clock_ticks_per_second() as f64 * 1e6)
}

/// Runs `work`. Returns the result of `work`, and the CPU time in microseconds of the child processes that `work`
/// started and waited for.
pub(crate) fn of_children<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let before = sys::usage::children_cpu_us()?;
    let value = work()?;
    Ok((value, sys::usage::children_cpu_us()? - before))
}
