//! The accept queue of the observed listener, by sock_diag. Source: sock_diag(7); net/ipv4/tcp_diag.c,
//! tcp_diag_get_info: for a listener, `rqueue` is the number of waiting connections and `wqueue` the limit.

use run::Address;
use sys::diag::{Diag, Listener};
use sys::diag_unix::UnixListener;

use crate::Scope;
use crate::bound_address::serves;
use crate::family::Family;
use crate::source::{CAPTURED_TREE, Round, Source, none};
use crate::tree::Tree;

const IDS: &[&str] = &["listen.queue", "listen.limit", "listen.drops"];
/// Maximum number of listening sockets that are read. SO_REUSEPORT allows many sockets with one address.
const MAX_SOCKETS: usize = 256;

struct Listeners {
    listen: Option<Address>,
    diag: Option<Diag>,
    family: Family,
    found: Vec<Listener>,
    unix: Vec<UnixListener>,
}

pub(super) fn open(scope: &Scope, _: &Tree) -> Box<dyn Source> {
    Box::new(Listeners {
        listen: scope.listen.clone(),
        diag: None,
        family: Family::new(IDS).at_most(MAX_SOCKETS),
        found: Vec::new(),
        unix: Vec::new(),
    })
}

impl Source for Listeners {
    fn sample(&mut self, round: &mut Round<'_>) {
        let Some(listen) = self.listen.clone() else {
            return none(round, &self.family, "no listener of this side is known");
        };
        if !round.tree.is_live() {
            return none(round, &self.family, CAPTURED_TREE);
        }
        if let Err(e) = self.ask(&listen, round.tree) {
            self.diag = None;
            return none(round, &self.family, &format!("sock_diag does not answer: {e}"));
        }
        if self.found.is_empty() && self.unix.is_empty() {
            return none(round, &self.family, &format!("nothing listens on {listen} in this network namespace"));
        }
        if let Address::Unix(_) = &listen {
            return self.tell_unix(&listen, round);
        }
        for at in 0..self.found.len() {
            let told = self.found[at];
            let before = self.found[..at].iter().filter(|l| l.local == told.local).count();
            let name = if before == 0 { told.local.to_string() } else { format!("{}#{}", told.local, before + 1) };
            let Some(slots) = self.family.slots(round.writer, name.as_bytes()) else { return };
            round.writer.put(slots, 0, f64::from(told.queue));
            round.writer.put(slots, 1, f64::from(told.limit));
            round.writer.put_some(slots, 2, told.drops.map(f64::from));
        }
    }
}

impl Listeners {
    /// Writes the length and the limit of a unix listener's accept queue. The kernel counts no drops for the queue of a
    /// unix listener: a connect(2) to a full queue waits, or fails with EAGAIN.
    fn tell_unix(&mut self, listen: &Address, round: &mut Round<'_>) {
        let (mut waiting, mut limit) = (0, 0);
        for told in &self.unix {
            (waiting, limit) = (waiting + told.queue, limit + told.limit);
        }
        let Some(slots) = self.family.slots(round.writer, listen.to_string().as_bytes()) else { return };
        round.writer.put(slots, 0, f64::from(waiting));
        round.writer.put(slots, 1, f64::from(limit));
    }

    fn ask(&mut self, listen: &Address, tree: &Tree) -> std::io::Result<()> {
        let diag = match &mut self.diag {
            Some(diag) => diag,
            none => none.insert(tree.diag()?),
        };
        let (found, unix) = (&mut self.found, &mut self.unix);
        found.clear();
        unix.clear();
        let listen = match listen {
            Address::Inet(addr) => *addr,
            Address::Unix(path) => {
                let each = |l: &UnixListener| unix.extend((unix.len() < MAX_SOCKETS).then_some(*l));
                return Ok(diag.unix_listeners(path, each)?);
            }
        };
        for v6 in [false, true] {
            diag.listeners(v6, Some(listen.port()), |l| {
                if serves(l.local, l.v6_only, listen) && found.len() < MAX_SOCKETS {
                    found.push(*l);
                }
            })?;
        }
        found.sort_unstable_by_key(|l| (l.local, l.inode));
        Ok(())
    }
}
