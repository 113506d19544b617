//! Sockets in use: /proc/net/sockstat and sockstat6. Source: net/ipv4/proc.c, sockstat_seq_show. `orphan`, `alloc` and
//! `mem` cover the whole host; the other fields cover the network namespace.

use crate::Scope;
use crate::family::Family;
use crate::reread_file::RereadFile;
use crate::source::{Round, Source, none};
use crate::text::{after, value};
use crate::tree::Tree;

const IDS: &[&str] = &[
    "socket.used",
    "socket.tcp_in_use",
    "socket.tcp_orphans",
    "socket.tcp_time_wait",
    "socket.tcp_allocated",
    "socket.tcp_memory",
];

struct Sockstat {
    four: RereadFile,
    six: RereadFile,
    family: Family,
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    let (four, six) = (tree.keep_net("sockstat"), tree.keep_net("sockstat6"));
    Box::new(Sockstat { four, six, family: Family::new(IDS) })
}

impl Source for Sockstat {
    fn sample(&mut self, round: &mut Round<'_>) {
        let text = match self.four.read() {
            Ok(text) => text,
            Err(reason) => return none(round, &self.family, &reason),
        };
        let Some(slots) = self.family.slots(round.writer, b"") else { return };
        let six = self.six.read().ok().and_then(|text| field(text, "TCP6:", "inuse"));
        let in_use = field(text, "TCP:", "inuse").map(|four| four + six.unwrap_or(0.0));
        round.writer.put_some(slots, 0, field(text, "sockets:", "used"));
        round.writer.put_some(slots, 1, in_use);
        for (at, name) in ["orphan", "tw", "alloc", "mem"].iter().enumerate() {
            round.writer.put_some(slots, at + 2, field(text, "TCP:", name));
        }
    }
}

/// Returns the number after the word `name` on the line that begins with `key`.
fn field(text: &[u8], key: &str, name: &str) -> Option<f64> {
    let mut words = after(text, key)?;
    words.find(|word| *word == name.as_bytes())?;
    words.next().and_then(value)
}

#[cfg(test)]
mod tests {
    use crate::testing::Tree;

    #[test]
    fn counts_of_both_ip_versions_are_added() {
        let four = "sockets: used 16\nTCP: inuse 3 orphan 1 tw 40 alloc 9 mem 203\nUDP: inuse 0 mem 0\n";
        let tree = Tree::new(&[("proc/net/sockstat", four), ("proc/net/sockstat6", "TCP6: inuse 2\n")]);
        let r = tree.sample("sockstat");
        assert_eq!((r.last("socket.used", ""), r.last("socket.tcp_in_use", "")), (Some(16.0), Some(5.0)));
        assert_eq!((r.last("socket.tcp_time_wait", ""), r.last("socket.tcp_memory", "")), (Some(40.0), Some(203.0)));
        tree.remove("proc/net/sockstat6");
        assert_eq!(tree.sample("sockstat").last("socket.tcp_in_use", ""), Some(3.0));
    }
}
