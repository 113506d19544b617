//! Counters of the queueing disciplines of all interfaces, read by rtnetlink. Source: tc(8), linux/gen_stats.h.

use std::io;

use sys::rtnl::{Qdisc, Rtnl};

use crate::Scope;
use crate::column_writer::ColumnWriter;
use crate::family::Family;
use crate::source::{CAPTURED_TREE, Round, Source, none};
use crate::tree::Tree;

const IDS: &[&str] =
    &["qdisc.bytes", "qdisc.packets", "qdisc.backlog", "qdisc.drops", "qdisc.overlimits", "qdisc.requeues"];
/// Parent number of the discipline at the root of an interface.
const ROOT: u32 = u32::MAX;
const MAX_QDISCS: usize = 128;

struct Qdiscs {
    rtnl: Option<Rtnl>,
    links: Vec<(u32, String)>,
    scratch: Qdisc,
    family: Family,
}

pub(super) fn open(_: &Scope, _: &Tree) -> Box<dyn Source> {
    let family = Family::new(IDS).at_most(MAX_QDISCS);
    Box::new(Qdiscs { rtnl: None, links: Vec::new(), scratch: Qdisc::default(), family })
}

impl Source for Qdiscs {
    fn sample(&mut self, round: &mut Round<'_>) {
        if !round.tree.is_live() {
            return none(round, &self.family, CAPTURED_TREE);
        }
        match self.ask(round) {
            Err(e) => {
                self.rtnl = None;
                none(round, &self.family, &format!("rtnetlink does not answer: {e}"));
            }
            Ok(0) => none(round, &self.family, "no interface of this network namespace has a queueing discipline"),
            Ok(_) => {}
        }
    }
}

impl Qdiscs {
    fn ask(&mut self, round: &mut Round<'_>) -> io::Result<usize> {
        let Self { rtnl, links, scratch, family } = self;
        let rtnl = match rtnl {
            Some(rtnl) => rtnl,
            none => none.insert(round.tree.rtnl()?),
        };
        if round.full || links.is_empty() {
            links.clear();
            rtnl.links(|index, name| links.push((index, name.to_owned())))?;
        }
        let mut seen = 0;
        let writer = &mut *round.writer;
        rtnl.qdiscs(scratch, |qdisc| {
            seen += 1;
            write(writer, family, links, qdisc);
        })?;
        Ok(seen)
    }
}

fn write(writer: &mut ColumnWriter, family: &mut Family, links: &[(u32, String)], qdisc: &Qdisc) {
    let device = links.iter().find(|(index, _)| *index == qdisc.ifindex).map_or("?", |(_, name)| name);
    let mut name = format!("{device} {} {}", qdisc.kind, qdisc.handle_name());
    if qdisc.parent != ROOT {
        name += &format!(" in {:x}:{:x}", qdisc.parent >> 16, qdisc.parent & 0xffff);
    }
    let Some(slots) = family.slots(writer, name.as_bytes()) else { return };
    let small = [qdisc.packets, qdisc.backlog, qdisc.drops, qdisc.overlimits, qdisc.requeues];
    writer.put(slots, 0, qdisc.bytes as f64);
    for (at, value) in small.into_iter().enumerate() {
        writer.put(slots, at + 1, f64::from(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_and_inner_disciplines_are_distinguished() {
        let (mut writer, mut family) = (ColumnWriter::default(), Family::new(IDS));
        writer.begin(0.0);
        let links = [(2, "eth0".to_owned())];
        let root =
            Qdisc { ifindex: 2, kind: "tbf".into(), handle: 0x8001_0000, parent: ROOT, bytes: 7, ..Qdisc::default() };
        let inner = Qdisc { kind: "pfifo".into(), handle: 0x8002_0000, parent: 0x8001_0001, drops: 3, ..root.clone() };
        write(&mut writer, &mut family, &links, &root);
        write(&mut writer, &mut family, &links, &inner);
        let r = writer.take();
        assert_eq!(r.column("qdisc.bytes", "eth0 tbf 8001:").unwrap().values, [Some(7.0)]);
        assert_eq!(r.column("qdisc.drops", "eth0 pfifo 8002: in 8001:1").unwrap().values, [Some(3.0)]);
    }
}
