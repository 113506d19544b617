//! Connection tracking: number of entries in the table of this network namespace, and the maximum number. The counters
//! are absent if the kernel tracks no connections. Source: Documentation/networking/nf_conntrack-sysctl.rst.

use crate::Scope;
use crate::family::Family;
use crate::reread_file::RereadFile;
use crate::source::{Round, Source};
use crate::text::{value, words};
use crate::tree::Tree;

const IDS: &[&str] = &["conntrack.entries", "conntrack.limit"];

struct Conntrack {
    files: [RereadFile; 2],
    family: Family,
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    let files = ["netfilter/nf_conntrack_count", "netfilter/nf_conntrack_max"].map(|file| tree.keep_net_sysctl(file));
    Box::new(Conntrack { files, family: Family::new(IDS) })
}

impl Source for Conntrack {
    fn sample(&mut self, round: &mut Round<'_>) {
        let Some(slots) = self.family.slots(round.writer, b"") else { return };
        for (at, file) in self.files.iter_mut().enumerate() {
            match file.read() {
                Ok(text) => round.writer.put_some(slots, at, words(text).next().and_then(value)),
                Err(reason) => round.writer.absent(IDS[at], "", format_args!("connections are not tracked: {reason}")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Tree;

    #[test]
    fn fill_and_limit_are_read() {
        let tree = Tree::new(&[("proc/sys/net/netfilter/nf_conntrack_count", "17\n")]);
        let r = tree.sample("conntrack");
        assert_eq!(r.last("conntrack.entries", ""), Some(17.0));
        assert!(r.reason("conntrack.limit").starts_with("connections are not tracked"));
    }
}
