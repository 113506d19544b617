//! Number of local ports that a client may use for connections to one address and port: net/ipv4/ip_local_port_range.
//! Source: Documentation/networking/ip-sysctl.rst.

use crate::Scope;
use crate::family::Family;
use crate::reread_file::RereadFile;
use crate::source::{Round, Source, none};
use crate::text::{number, words};
use crate::tree::Tree;

struct Ports {
    file: RereadFile,
    family: Family,
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    let file = tree.keep_net_sysctl("ipv4/ip_local_port_range");
    Box::new(Ports { file, family: Family::new(&["ports.range"]) })
}

impl Source for Ports {
    fn sample(&mut self, round: &mut Round<'_>) {
        let range = match self.file.read() {
            Ok(text) => range(text),
            Err(reason) => return none(round, &self.family, &reason),
        };
        if let Some(slots) = self.family.slots(round.writer, b"") {
            round.writer.put_some(slots, 0, range.map(|(low, high)| (high - low + 1) as f64));
        }
    }
}

/// Parses `32768 60999` (with a tab between): lowest and highest port, both inclusive.
pub(crate) fn range(text: &[u8]) -> Option<(u64, u64)> {
    let mut ports = words(text).map(number);
    let (low, high) = (ports.next()??, ports.next()??);
    (low <= high && high <= 65535).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::range;
    use crate::testing::Tree;

    #[test]
    fn the_range_includes_both_ends() {
        let tree = Tree::new(&[("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n")]);
        assert_eq!(tree.sample("ports").last("ports.range", ""), Some(28_232.0));
        assert_eq!((range(b"9 1"), range(b"1"), range(b"1 99999")), (None, None, None));
    }
}
