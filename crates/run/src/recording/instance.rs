//! What the instance of a process or thread counter says: `nginx:1234` and `nginx:1234/1240` (docs/run-format.md). The name
//! is a stranger's and may hold anything, so numbers are looked for at the end.

/// A process or one of its threads, as the instance of a counter. A thread goes by its own name, which need not be that
/// of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The process.
    pub pid: u32,
    /// The thread, where it is one.
    pub tid: Option<u32>,
}

impl Instance {
    /// Reads an instance; `None` where it names no process.
    pub fn read(text: &str) -> Option<Self> {
        let thread = text.rsplit_once('/').and_then(|(process, tid)| Some((process, tid.parse().ok()?)));
        let (process, tid) = thread.map_or((text, None), |(process, tid)| (process, Some(tid)));
        let pid = process.rsplit_once(':')?.1.parse().ok()?;
        Some(Self { pid, tid })
    }
}

/// The instance of a counter of a host whose recording stands in another's: `h2 eth0`.
pub fn on_host(host: &str, instance: &str) -> String {
    format!("{host} {instance}").trim_end().into()
}

/// Whether an interface is loopback, of whichever host. No name of an interface has a space in it.
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
