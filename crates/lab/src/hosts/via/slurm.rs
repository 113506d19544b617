//! The nodes of a Slurm allocation.

use std::process::Command;

use crate::LabError;

/// Returns the names of the nodes in the Slurm allocation of this process.
pub fn allocation() -> Result<Vec<String>, LabError> {
    let fail = |why: String| LabError::set_up("finding the nodes of the Slurm allocation (--client-hosts slurm)", why);
    let list = std::env::var("SLURM_JOB_NODELIST").map_err(|_| {
        fail("SLURM_JOB_NODELIST is not set: run loadline within one, by `salloc -N 4 loadline …` or in a job".into())
    })?;
    let out = Command::new("scontrol").args(["show", "hostnames", &list]).output();
    let out = out.map_err(|e| fail(format!("scontrol cannot be started: {e}")))?;
    let names: Vec<String> = String::from_utf8_lossy(&out.stdout).split_whitespace().map(str::to_string).collect();
    match out.status.success() && !names.is_empty() {
        true => Ok(names),
        false => {
            Err(fail(format!("scontrol knows no nodes {list:?}: {}", String::from_utf8_lossy(&out.stderr).trim())))
        }
    }
}
