//! Tests of control groups with captured files of two hosts: one with version 1 and one with version 2.

use super::super::cgroup_quota::CpuQuota;
use super::Version;
use crate::Scope;
use crate::testing::{Sampled, Tree};

/// If the lower quota was too small, an earlier version of loadline wrote the smallest quota that the kernel accepts.
/// That version still claimed that it had lowered the quota.
#[test]
fn a_quota_is_lowered_only_if_the_kernel_accepts_the_lower_quota() {
    let lowered = |text: &str, version| {
        let quota_us = text.split_whitespace().next().unwrap().parse().unwrap();
        CpuQuota { file: "cpu.max".into(), text: text.into(), quota_us, cpus: 1.0, version }.times(0.75)
    };
    assert_eq!(lowered("100000 50000", Version::Two).as_deref(), Some("75000 50000"));
    assert_eq!(lowered("1334", Version::One).as_deref(), Some("1000"));
    for too_small in ["1000 100000", "1200 1000", "1333 100000"] {
        assert_eq!(lowered(too_small, Version::Two), None, "{too_small}");
    }
}

const NONE: &str = "9223372036854771712\n";

fn sample(files: &[(&str, &str)]) -> Sampled {
    let stat = ("proc/7/stat", "7 (web) S 1 7 7 0 -1 0 10 0 0 0 1 2 0 0 20 0 1 0 5 0 0\n");
    let files: Vec<_> = files.iter().copied().chain([stat]).collect();
    let tree = Tree::new(&files);
    let mut probe = crate::Probe::new(Scope {
        root: tree.root().to_owned(),
        processes: vec![7],
        sources: Some(vec!["process", "cgroup"]),
        ..Scope::default()
    });
    probe.sample(0.0);
    Sampled(probe.take())
}

#[test]
fn version_1_reads_each_controller_where_it_is_mounted() {
    let r = sample(&[
        (
            "proc/self/mountinfo",
            "30 23 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
          31 23 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n\
          32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        ),
        ("proc/7/cgroup", "4:memory:/web\n2:cpuacct:/pool/web\n1:cpu:/pool/web\n0::/\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu/pool/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu/pool/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu/pool/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 5000\n"),
        ("sys/fs/cgroup/cpu/pool/web/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu/pool/web/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"),
        ("sys/fs/cgroup/cpuacct/pool/web/cpuacct.usage", "7000000\n"),
        ("sys/fs/cgroup/memory/web/memory.usage_in_bytes", "4096\n"),
        ("sys/fs/cgroup/memory/web/memory.limit_in_bytes", NONE),
        ("sys/fs/cgroup/memory/web/memory.failcnt", "3\n"),
        ("sys/fs/cgroup/memory/web/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
        (
            "sys/fs/cgroup/memory/web/memory.stat",
            "workingset_refault_file 2\ntotal_workingset_refault_anon 1\ntotal_workingset_refault_file 8\n",
        ),
    ]);
    let last = |id: &str| r.last(&format!("cgroup.{id}"), "/pool/web");
    assert_eq!((last("cpu_quota"), last("cpu_time")), (Some(0.5), Some(7000.0)));
    assert_eq!((last("cpu_periods"), last("cpu_throttled_periods")), (Some(9.0), Some(4.0)));
    assert_eq!((last("cpu_throttled_time"), last("memory")), (Some(5.0), Some(4096.0)));
    assert_eq!((last("memory_max_events"), last("oom_kills"), last("memory_limit")), (Some(3.0), Some(1.0), None));
    assert_eq!((last("refaults"), last("limited_memory")), (Some(8.0), None));
    assert!(r.0.absent.iter().any(|a| a.reason == "no memory limit is set"));
}

/// An earlier version of loadline took the CPU time of all processes of a host for the CPU time of the server's group.
/// In the earlier version, "other programs" seemed to use up the group's quota.
#[test]
fn the_cpu_time_of_another_group_is_left_out() {
    let r = sample(&[
        (
            "proc/self/mountinfo",
            "30 23 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
          31 23 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n",
        ),
        ("proc/7/cgroup", "2:cpuacct:/\n1:cpu:/pool/web\n"),
        ("sys/fs/cgroup/cpu/pool/web/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu/pool/web/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpuacct/cpuacct.usage", "7000000\n"),
    ]);
    let last = |id: &str| r.last(&format!("cgroup.{id}"), "/pool/web");
    assert_eq!((last("cpu_quota"), last("cpu_time")), (Some(0.5), None));
}

#[test]
fn version_2_uses_the_smallest_limit_of_all_ancestors() {
    let r = sample(&[
        ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"),
        ("proc/7/cgroup", "0::/a.slice/web.service\n"),
        ("sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/a.slice/cpu.stat", "usage_usec 99\nnr_periods 5\nnr_throttled 2\nthrottled_usec 77\n"),
        ("sys/fs/cgroup/a.slice/memory.max", "1000000\n"),
        ("sys/fs/cgroup/a.slice/memory.current", "999424\n"),
        ("sys/fs/cgroup/a.slice/memory.stat", "file 4096\nworkingset_refault_file 9\n"),
        ("sys/fs/cgroup/a.slice/memory.events", "low 0\nhigh 0\nmax 6\noom 0\noom_kill 0\n"),
        ("sys/fs/cgroup/a.slice/web.service/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/a.slice/web.service/cpu.stat", "usage_usec 42\nuser_usec 1\nnr_periods 0\n"),
        ("sys/fs/cgroup/a.slice/web.service/memory.max", "max\n"),
        ("sys/fs/cgroup/a.slice/web.service/memory.current", "8192\n"),
        ("sys/fs/cgroup/a.slice/web.service/pids.current", "3\n"),
        ("sys/fs/cgroup/a.slice/web.service/pids.max", "max\n"),
    ]);
    let last = |id: &str| r.last(&format!("cgroup.{id}"), "/a.slice/web.service");
    assert_eq!((last("cpu_quota"), last("cpu_time"), last("cpu_throttled_time")), (Some(1.5), Some(42.0), Some(77.0)));
    assert_eq!((last("memory"), last("memory_limit"), last("memory_max_events")), (Some(8192.0), Some(1e6), Some(6.0)));
    assert_eq!((last("refaults"), last("limited_memory")), (Some(9.0), Some(999_424.0)));
    assert_eq!((last("pids"), last("pids_limit")), (Some(3.0), None));
    assert!(r.0.absent.iter().any(|a| a.reason == "no limit of processes is set"));
}

#[test]
fn a_host_without_control_groups_gives_a_reason() {
    let r = sample(&[]);
    assert!(r.reason("cgroup.cpu_quota").contains("no process of this side"));
}
