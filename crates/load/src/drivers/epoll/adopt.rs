//! Takes over connections from the process that establishes them, for two-process S-Clients (sockets that connect again
//! and again).

use run::Phase;
use sys::{Errno, pass};

use super::ops::EpollOps;
use super::partner::{CONNECTION_MESSAGE, PHASE_MESSAGE};
use crate::driver::{Completion, Start};

/// Takes over connections from the other process, as long as connection indexes are free.
pub(super) fn adopt(ops: &mut EpollOps, f: &mut impl FnMut(&mut EpollOps, Completion<'_>)) -> Result<(), Errno> {
    loop {
        let Some(partner) = ops.partner.as_mut().filter(|p| p.handles) else { return Ok(()) };
        partner.behind = partner.free.is_empty();
        if partner.behind {
            return Ok(());
        }
        let mut message = partner.message.get();
        let (bytes, fd) = match pass::recv(&partner.end) {
            Ok(Some(got)) => got,
            Ok(None) => {
                message.gone = true;
                partner.message.set(message);
                return Ok(());
            }
            Err(Errno::AGAIN) => return Ok(()),
            Err(e) => return Err(e),
        };
        let value = |n: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[8 * n + i]));
        match (bytes[0], fd) {
            (CONNECTION_MESSAGE, Some(fd)) => {
                let Some(conn) = partner.free.pop() else { return Ok(()) };
                ops.register(conn, fd, false)?;
                f(ops, Completion::Adopted { conn, start: Start { intended_ns: value(1), sent_ns: value(2) } });
            }
            (PHASE_MESSAGE, _) => {
                (message.phase, message.at_ns) = (phase_of(bytes[1]), value(1));
                partner.message.set(message);
            }
            _ => {}
        }
    }
}

fn phase_of(number: u8) -> Phase {
    match number {
        0 => Phase::WarmUp,
        1 => Phase::Measure,
        _ => Phase::Drain,
    }
}
