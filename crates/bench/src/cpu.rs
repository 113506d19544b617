//! Processor time of processes: exact where the kernel keeps it exactly (scheduler statistics, rusage of children).

use std::fs;

use anyhow::{Context, Result};

/// Processor time of a live process and its descendants, microseconds, all their live threads.
pub(crate) fn tree_us(pid: u32) -> Result<f64> {
    let mut sum = own_us(pid)?;
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    for child in children.split_whitespace().filter_map(|c| c.parse().ok()) {
        sum += tree_us(child).unwrap_or(0.0);
    }
    Ok(sum)
}

fn own_us(pid: u32) -> Result<f64> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).with_context(|| format!("process {pid} has ended"))?;
    let on_cpu_ns = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    Ok(tasks.flatten().filter_map(on_cpu_ns).sum::<f64>() / 1e3)
}

/// Runs `work` and returns what it gave with the processor time, in microseconds, of the child processes that it
/// started and waited for.
pub(crate) fn of_children<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let before = sys::usage::children_cpu_us()?;
    let value = work()?;
    Ok((value, sys::usage::children_cpu_us()? - before))
}
