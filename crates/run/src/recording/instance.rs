//! Instances of process and thread counters: `nginx:1234` and `nginx:1234/1240` (docs/reference/run-format.md). A
//! process name is untrusted and may contain any character, so the text is parsed from its end.

/// Process or thread to which the instance of a counter belongs. A thread has its own name, which may differ from the
/// name of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// ID of the process.
    pub pid: u32,
    /// ID of the thread; absent for a process.
    pub tid: Option<u32>,
}

/// Name of the instance that sums up the ended processes of one side without columns of their own. The name contains
/// the process ID 0, which no process has.
pub const ENDED_PROCESSES: &str = "ended processes:0";

impl Instance {
    /// Parses an instance; `None` if it names no process.
    pub fn read(text: &str) -> Option<Self> {
        let thread = text.rsplit_once('/').and_then(|(process, tid)| Some((process, tid.parse().ok()?)));
        let (process, tid) = thread.map_or((text, None), |(process, tid)| (process, Some(tid)));
        let pid = process.rsplit_once(':')?.1.parse().ok()?;
        Some(Self { pid, tid })
    }
}

/// Returns the name of another host's instance, with the host's name in front: `h2 eth0`. A recording can thus contain
/// instances of several hosts.
pub fn on_host(host: &str, instance: &str) -> String {
    format!("{host} {instance}").trim_end().into()
}

/// Returns true if an interface is the loopback interface of this host or of another host. Interface names contain no
/// spaces, so the interface is the text after the last space, as in `h2 lo`.
pub fn is_loopback(interface: &str) -> bool {
    interface.rsplit(' ').next() == Some("lo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_kind_are_read_from_their_end() {
        let of = |text| Instance::read(text).map(|i| (i.pid, i.tid));
        assert_eq!(
            (of("nginx:7"), of("worker:7/9"), of("a:b/c:7/9")),
            (Some((7, None)), Some((7, Some(9))), Some((7, Some(9))))
        );
        assert_eq!((of("kworker/0:1:7"), of("x/y:7")), (Some((7, None)), Some((7, None))));
        let loopback = ["lo", &on_host("h2", "lo"), "eth0", &on_host("lo", "eth0"), "h2lo"].map(is_loopback);
        assert_eq!(loopback, [true, true, false, false, false]);
        assert_eq!((of(""), of("total"), of("eth0"), of("a:b"), of("a/9")), (None, None, None, None, None));
    }
}
