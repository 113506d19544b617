//! Explanations of resources of this host that ran out, with the present limit and the command that raises it.

use std::fs;
use std::path::{Path, PathBuf};

use sys::limits;

/// Descriptor limit per process that suffices for any usual load.
pub const ROOMY_DESCRIPTORS: u64 = 4096;

/// Limit on processes and threads that suffices for any usual load: a few generators of about five threads each.
const ROOMY_PROCESSES: u64 = 1024;

/// Port range that excludes only the reserved ports.
const WIDEST_PORT_RANGE: (u32, u32) = (1024, 65_535);

/// Returns a sentence that all local ports are in use.
pub fn no_ports() -> String {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut ends = text.split_whitespace().filter_map(|end| end.parse::<u32>().ok());
    match (ends.next(), ends.next()) {
        (Some(low), Some(high)) => ports_of((low, high)),
        _ => "local ports ran out: give more source addresses (--source 127.0.0.2-127.0.0.9)".into(),
    }
}

fn ports_of((low, high): (u32, u32)) -> String {
    let number = high.saturating_sub(low) + 1;
    let (lowest, highest) = WIDEST_PORT_RANGE;
    let remedy = match low > lowest || high < highest {
        true => format!(
            "widen the range with `sysctl -w net.ipv4.ip_local_port_range=\"{lowest} {highest}\"`, or give more source \
             addresses (--source 127.0.0.2-127.0.0.9)"
        ),
        false => "give more source addresses (--source 127.0.0.2-127.0.0.9)".into(),
    };
    format!("local ports ran out: a source address has {number} of them ({low} to {high}); {remedy}")
}

/// Returns a sentence that all descriptors of this process are in use.
pub fn no_descriptors() -> String {
    let (_, hard) = limits::descriptors();
    let more = hard.saturating_mul(2).max(ROOMY_DESCRIPTORS);
    format!(
        "descriptors ran out: a process may have {hard} of them; raise the limit with `ulimit -Hn {more}` as root \
         (LimitNOFILE={more} in a systemd unit)"
    )
}

/// Returns a sentence that no further process or thread can be started.
pub fn no_processes() -> String {
    if let Some((file, most)) = full_group() {
        let more = most.saturating_mul(2).max(ROOMY_PROCESSES);
        return format!(
            "processes ran out: this control group may have {most} processes and threads; raise the limit with \
             `echo {more} > {}` (TasksMax={more} in a systemd unit)",
            file.display()
        );
    }
    if let Some(most) = limits::processes() {
        let more = most.saturating_mul(2).max(ROOMY_PROCESSES);
        return format!(
            "processes ran out: this user may have {most} processes and threads; raise the limit with `ulimit -u {more}`, \
             as root if this is refused"
        );
    }
    let most = number_in(Path::new("/proc/sys/kernel/threads-max")).unwrap_or_default();
    let more = most.saturating_mul(2);
    format!(
        "processes ran out: this host may have {most} processes and threads; raise the limit with \
         `sysctl -w kernel.threads-max={more}`"
    )
}

/// Returns the limit of processes of this control group, with its file, if it is reached.
fn full_group() -> Option<(PathBuf, u64)> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let folders = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        let mount = match controllers {
            "" => Path::new("/sys/fs/cgroup"),
            "pids" => Path::new("/sys/fs/cgroup/pids"),
            _ => return None,
        };
        Some((mount, mount.join(path)))
    });
    // The limits of all parent groups apply, too.
    let mut all = folders.flat_map(|(mount, folder)| {
        folder.ancestors().take_while(|above| above.starts_with(mount)).map(Path::to_owned).collect::<Vec<_>>()
    });
    all.find_map(|folder| {
        let (file, now) = (folder.join("pids.max"), number_in(&folder.join("pids.current"))?);
        number_in(&file).filter(|most| now + 1 >= *most).map(|most| (file, most))
    })
}

fn number_in(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_ports_and_the_command_that_raises_it_are_said() {
        let narrow = ports_of((33_000, 33_032));
        assert!(narrow.contains("33 of them (33000 to 33032)") && narrow.contains("\"1024 65535\""), "{narrow}");
        let widest = ports_of(WIDEST_PORT_RANGE);
        assert!(widest.contains("64512 of them") && !widest.contains("sysctl"), "{widest}");
    }
}
