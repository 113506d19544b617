//! Kernel memory of sockets: the socket caches in /proc/slabinfo, which only root may read. Source: slabinfo(5).
//!
//! The kernel may merge caches whose objects have equal size. The objects of a merged cache are counted under the name
//! of another cache.

use crate::Scope;
use crate::family::Family;
use crate::reread_file::RereadFile;
use crate::source::{Round, Source, none};
use crate::text::{lines, value, words};
use crate::tree::Tree;
use crate::units;

const IDS: &[&str] = &["slab.objects", "slab.bytes"];
/// Name prefixes of the caches that grow with sockets, and with the epoll and io_uring waits on sockets.
const CACHES: [&str; 15] = [
    "TCP",
    "UDP",
    "UNIX",
    "request_sock_TCP",
    "tw_sock_TCP",
    "sock_inode_cache",
    "filp",
    "dentry",
    "skbuff_",
    "eventpoll_",
    "ep_head",
    "io_kiocb",
    "io_ring_ctx",
    "nf_conntrack",
    "kmalloc-1k",
];

struct Slab {
    file: RereadFile,
    caches: Family,
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    Box::new(Slab { file: tree.keep("proc/slabinfo"), caches: Family::new(IDS) })
}

impl Source for Slab {
    fn sample(&mut self, round: &mut Round<'_>) {
        let text = match self.file.read() {
            Ok(text) => text,
            Err(reason) => return none(round, &self.caches, &reason),
        };
        for line in lines(text).filter(|line| CACHES.iter().any(|cache| line.starts_with(cache.as_bytes()))) {
            let mut fields = words(line);
            let Some(slots) = fields.next().and_then(|name| self.caches.slots(round.writer, name)) else { continue };
            let mut fields = fields.map(value);
            round.writer.put_some(slots, 0, fields.next().flatten());
            // The next fields: num_objs objsize objperslab pagesperslab : tunables a b c : slabdata active_slabs
            // num_slabs
            let pages_per_slab = fields.nth(3).flatten();
            let slabs = fields.nth(8).flatten();
            round.writer.put_some(slots, 1, pages_per_slab.zip(slabs).map(|(p, n)| p * n * units::page_bytes()));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Tree;

    #[test]
    fn socket_caches_are_counted_in_bytes_of_their_pages() {
        let tree = Tree::new(&[(
            "proc/slabinfo",
            "slabinfo - version: 2.1\n# name  <active_objs> <num_objs>\n\
             TCP   20 26 2496 13 8 : tunables 0 0 0 : slabdata 2 3 0\n\
             bio-120 96 96 128 32 1 : tunables 0 0 0 : slabdata 3 3 0\nTCPv6 broken\n",
        )]);
        let r = tree.sample("slab");
        assert_eq!(r.last("slab.objects", "TCP"), Some(20.0));
        assert_eq!(r.last("slab.bytes", "TCP"), Some(3.0 * 8.0 * crate::units::page_bytes()));
        assert!(r.last("slab.bytes", "TCPv6").is_none() && r.last("slab.objects", "bio-120").is_none());
    }
}
