//! A sample never fails, whatever the files contain. The test reads damaged copies of this machine's files: truncated,
//! with inserted text, without white space, or with random bytes.

use std::path::Path;

use loadline_probe::{Probe, Scope};

/// Files that sources read, if this machine has them. `PID` is this process.
const FILES: &[&str] = &[
    "proc/stat",
    "proc/interrupts",
    "proc/softirqs",
    "proc/net/snmp",
    "proc/net/snmp6",
    "proc/net/netstat",
    "proc/net/dev",
    "proc/net/sockstat",
    "proc/net/sockstat6",
    "proc/net/softnet_stat",
    "proc/slabinfo",
    "proc/diskstats",
    "proc/pressure/cpu",
    "proc/pressure/io",
    "proc/meminfo",
    "proc/vmstat",
    "proc/sys/net/netfilter/nf_conntrack_count",
    "proc/sys/net/ipv4/ip_local_port_range",
    "proc/self/mountinfo",
    "proc/PID/stat",
    "proc/PID/status",
    "proc/PID/io",
    "proc/PID/limits",
    "proc/PID/smaps_rollup",
    "proc/PID/cgroup",
    "proc/PID/task/PID/schedstat",
    "proc/PID/task/PID/status",
    "proc/PID/task/PID/children",
];

/// Returns a pseudo-random number (xorshift64), so that every run uses the same damaged files.
fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as usize
}

fn spoil(text: &mut Vec<u8>, state: &mut u64) {
    for _ in 0..=random(state) % 4 {
        let at = random(state) % text.len().max(1);
        match random(state) % 6 {
            0 => text.truncate(at),
            1 => text.splice(at.min(text.len())..at.min(text.len()), *b"99999999999999999999").for_each(drop),
            2 => text.splice(at.min(text.len())..at.min(text.len()), *b"\n-1 : ( ) \xff\0").for_each(drop),
            3 => text.retain(|b| *b != b' '),
            4 => text.retain(|b| *b != b'\n'),
            _ => text.iter_mut().skip(at).take(3).for_each(|b| *b = random(state) as u8),
        }
    }
}

fn sample(root: &Path, pid: u32) -> run::Recording {
    let mut probe = Probe::new(Scope { root: root.to_owned(), processes: vec![pid], ..Scope::default() });
    probe.sample(0.0);
    probe.sample_series(1.0);
    probe.take()
}

#[test]
fn no_file_content_makes_a_sample_fail() {
    let pid = std::process::id();
    let name = |file: &str| file.replace("PID", &pid.to_string());
    let whole: Vec<(String, Vec<u8>)> =
        FILES.iter().filter_map(|f| Some((name(f), std::fs::read(Path::new("/").join(name(f))).ok()?))).collect();
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &[u8]| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    whole.iter().for_each(|(path, text)| write(path, text));
    assert!(sample(root.path(), pid).columns.len() > 100, "the whole files are read");
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..25 {
        for (path, text) in &whole {
            let mut text = text.clone();
            spoil(&mut text, &mut state);
            write(path, &text);
        }
        let r = sample(root.path(), pid);
        assert_eq!(r.t_s.len(), 2);
        assert!(
            r.columns
                .iter()
                .all(|c| c.values.len() == 2 && c.values.iter().flatten().all(|v| v.is_finite() && *v >= 0.0))
        );
    }
}
