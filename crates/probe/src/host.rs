//! Facts about a host: kernel, CPUs, memory, and the settings that affect results.

use std::collections::BTreeMap;
use std::path::Path;

use run::HostInfo;

use crate::sources::port_range;
use crate::text::{after, keyed, number};
use crate::units;

/// Settings of the host, one file each: name of the fact, and path of the file.
const FILES: &[(&str, &str)] = &[
    ("somaxconn", "proc/sys/net/core/somaxconn"),
    ("tcp_syncookies", "proc/sys/net/ipv4/tcp_syncookies"),
    ("tcp_max_syn_backlog", "proc/sys/net/ipv4/tcp_max_syn_backlog"),
    ("tcp_tw_reuse", "proc/sys/net/ipv4/tcp_tw_reuse"),
    ("tcp_max_tw_buckets", "proc/sys/net/ipv4/tcp_max_tw_buckets"),
    ("tcp_abort_on_overflow", "proc/sys/net/ipv4/tcp_abort_on_overflow"),
    ("tcp_congestion_control", "proc/sys/net/ipv4/tcp_congestion_control"),
    ("tcp_rmem", "proc/sys/net/ipv4/tcp_rmem"),
    ("tcp_wmem", "proc/sys/net/ipv4/tcp_wmem"),
    ("netdev_max_backlog", "proc/sys/net/core/netdev_max_backlog"),
    ("io_uring_disabled", "proc/sys/kernel/io_uring_disabled"),
    ("clock source", "sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("CPU governor", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("simultaneous threads", "sys/devices/system/cpu/smt/active"),
];

/// Describes the host that this process runs on. `role` is `client`, `server`, or `client and server`.
pub fn host_info(name: &str, role: &str) -> HostInfo {
    describe(Path::new("/"), name, role)
}

fn describe(root: &Path, name: &str, role: &str) -> HostInfo {
    let line = |below: &str| Some(std::fs::read_to_string(root.join(below)).ok()?.trim().to_owned());
    let cpuinfo = line("proc/cpuinfo").unwrap_or_default();
    let meminfo = line("proc/meminfo").unwrap_or_default();
    let stat = line("proc/stat").unwrap_or_default();
    let is_cpu = |l: &&str| l.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    HostInfo {
        name: name.to_owned(),
        role: role.to_owned(),
        kernel: line("proc/sys/kernel/osrelease").unwrap_or_default(),
        cpus: stat.lines().filter(is_cpu).count() as u32,
        cpu_model: cpu_model(&cpuinfo),
        memory_bytes: keyed(meminfo.as_bytes(), "MemTotal:").map_or(0, |kib| units::kib_bytes(kib) as u64),
        facts: facts(root, &cpuinfo),
    }
}

fn facts(root: &Path, cpuinfo: &str) -> BTreeMap<String, String> {
    let read = |below: &str| std::fs::read_to_string(root.join(below)).ok();
    let mut facts = BTreeMap::new();
    let mut add = |name: &str, value: String| facts.insert(name.to_owned(), value);
    for (name, file) in FILES {
        if let Some(text) = read(file) {
            add(name, text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    if let Some((low, high)) = read("proc/sys/net/ipv4/ip_local_port_range").and_then(|t| port_range(t.as_bytes())) {
        add("local ports", format!("{low} to {high} ({})", high - low + 1));
    }
    if let Some(kind) = virtualisation(root, cpuinfo) {
        add("virtual machine", kind);
    }
    if let Some(on) = irq_time_accounting(root) {
        add("irq time accounting", if on { "on" } else { "off: softirq time is sampled by the clock tick" }.into());
    }
    facts
}

fn cpu_model(cpuinfo: &str) -> String {
    let named = |key: &str| cpuinfo.lines().find_map(|l| l.strip_prefix(key)?.split_once(':').map(|(_, v)| v.trim()));
    ["model name", "Model", "cpu model", "uarch", "CPU part"]
        .into_iter()
        .find_map(named)
        .unwrap_or("unknown")
        .to_owned()
}

/// Returns the kind of virtualisation, or `None` on a physical machine. A CPU flag shows that the machine is virtual,
/// and the vendor name in its firmware shows which product (such as VMware) runs it.
fn virtualisation(root: &Path, cpuinfo: &str) -> Option<String> {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    let flagged = flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
    let vendor = std::fs::read_to_string(root.join("sys/class/dmi/id/sys_vendor")).unwrap_or_default();
    let known = ["QEMU", "Amazon EC2", "Google", "Microsoft", "VMware", "Xen", "innotek", "Parallels"];
    let known = known.iter().find(|name| vendor.contains(**name));
    match (flagged, known) {
        (true, Some(name)) => Some((*name).to_owned()),
        (true, None) => Some("yes (hypervisor flag)".to_owned()),
        (false, _) => None,
    }
}

/// Returns true if the kernel measures the time of interrupts (`CONFIG_IRQ_TIME_ACCOUNTING`), or `None` if this is
/// unknown. Reads the kernel's configuration if it is available as text. Without a readable configuration, the
/// interrupt counters decide once there were more than 100,000 interrupts. If the interrupt counters decide, the result
/// is true if interrupts took time, and false if they took none. Without `CONFIG_IRQ_TIME_ACCOUNTING`, the kernel notes
/// at each clock tick what the CPU does. The clock tick is itself an interrupt, and hardly ever interrupts another
/// interrupt. Without `CONFIG_IRQ_TIME_ACCOUNTING`, interrupts therefore seem to take no time.
fn irq_time_accounting(root: &Path) -> Option<bool> {
    let release = std::fs::read_to_string(root.join("proc/sys/kernel/osrelease")).ok()?;
    let release = release.trim();
    let places = [format!("boot/config-{release}"), format!("lib/modules/{release}/config")];
    match places.iter().find_map(|p| std::fs::read_to_string(root.join(p)).ok()) {
        Some(text) => Some(text.lines().any(|line| line == "CONFIG_IRQ_TIME_ACCOUNTING=y")),
        None => {
            let stat = std::fs::read(root.join("proc/stat")).ok()?;
            let irq_ticks = after(&stat, "cpu")?.nth(5).and_then(number)?;
            let interrupts = keyed(&stat, "intr")?;
            (interrupts > 100_000.0).then_some(irq_ticks > 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn a_captured_host_is_described() {
        let tree = Tree::new(&[
            ("proc/sys/kernel/osrelease", "6.1.0-odd\n"),
            ("proc/cpuinfo", "CPU\t: 0\nmodel name\t: Some CPU @ 3GHz\nflags\t\t: fpu hypervisor\n"),
            ("proc/meminfo", "MemTotal:       2048 kB\n"),
            ("proc/stat", "cpu 1\ncpu0 1\ncpu1 1\nintr 5\n"),
            ("proc/sys/net/core/somaxconn", "4096\n"),
            ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
            ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
            ("boot/config-6.1.0-odd", "CONFIG_X=y\nCONFIG_IRQ_TIME_ACCOUNTING=y\n"),
        ]);
        let host = describe(tree.root(), "here", "client");
        assert_eq!((host.cpus, host.memory_bytes, host.kernel.as_str()), (2, 2 << 20, "6.1.0-odd"));
        assert_eq!((host.cpu_model.as_str(), host.facts["somaxconn"].as_str()), ("Some CPU @ 3GHz", "4096"));
        assert_eq!(host.facts["local ports"], "32768 to 60999 (28232)");
        assert_eq!(host.facts["tcp_rmem"], "4096 131072 6291456");
        assert_eq!(
            (host.facts["virtual machine"].as_str(), host.facts["irq time accounting"].as_str()),
            ("yes (hypervisor flag)", "on")
        );
        assert!(!host.facts.contains_key("CPU governor"));
        tree.remove("boot");
        assert_eq!(irq_time_accounting(tree.root()), None);
        tree.write("proc/stat", "cpu  9 0 9 9 0 0 3 0 0 0\nintr 200000 1\n");
        assert_eq!(irq_time_accounting(tree.root()), Some(false));
    }

    #[test]
    fn this_host_has_cpus_and_memory() {
        let host = host_info("here", "client and server");
        assert!(host.cpus >= 1 && host.memory_bytes > 1 << 20 && !host.kernel.is_empty());
    }
}
