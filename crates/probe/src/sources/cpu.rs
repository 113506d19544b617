//! Counters of each CPU and of the whole host, from /proc/stat. Source: proc_stat(5).
//!
//! Without CONFIG_IRQ_TIME_ACCOUNTING, the kernel samples all CPU times at its clock ticks, except the total CPU time
//! of a process. A sampled time is accurate only if it covers many ticks. The fact `irq time accounting` about the host
//! shows whether the kernel has `CONFIG_IRQ_TIME_ACCOUNTING`.

use crate::column_writer::Slots;
use crate::family::Family;
use crate::reread_file::RereadFile;
use crate::source::{Round, Source, none};
use crate::text::{lines, number, value, words};
use crate::tree::Tree;
use crate::{Scope, units};

const CPU: &[&str] = &["cpu.user", "cpu.system", "cpu.irq", "cpu.softirq", "cpu.iowait", "cpu.steal", "cpu.idle"];
const HOST: &[&str] =
    &["cpu.online", "system.interrupts", "system.context_switches", "system.forks", "system.running", "system.blocked"];
/// First word of the line of each counter in [`HOST`], from the second counter on.
const KEYS: [&[u8]; 5] = [b"intr", b"ctxt", b"processes", b"procs_running", b"procs_blocked"];

struct Cpu {
    file: RereadFile,
    cpus: Family,
    host: Family,
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    Box::new(Cpu { file: tree.keep("proc/stat"), cpus: Family::new(CPU), host: Family::new(HOST) })
}

impl Source for Cpu {
    fn sample(&mut self, round: &mut Round<'_>) {
        let text = match self.file.read() {
            Ok(text) => text,
            Err(reason) => {
                none(round, &self.cpus, &reason);
                return none(round, &self.host, &reason);
            }
        };
        let Some(host) = self.host.slots(round.writer, b"") else { return };
        let mut online = 0;
        for line in lines(text) {
            let mut fields = words(line);
            let Some(key) = fields.next() else { continue };
            if let Some(name) = key.strip_prefix(b"cpu") {
                online += usize::from(!name.is_empty());
                let name = if name.is_empty() { b"total" } else { name };
                if let Some(slots) = self.cpus.slots(round.writer, name) {
                    put_cpu(round, slots, fields);
                }
            } else if let Some(at) = KEYS.iter().position(|k| *k == key) {
                round.writer.put_some(host, at + 1, fields.next().and_then(value));
            }
        }
        round.writer.put(host, 0, online as f64);
    }
}

/// Writes the CPU times from the fields user, nice, system, idle, iowait, irq, softirq and steal. The field user
/// includes the time of guests.
fn put_cpu<'a>(round: &mut Round<'_>, slots: Slots, fields: impl Iterator<Item = &'a [u8]>) {
    let mut ticks = [None; 8];
    for (tick, field) in ticks.iter_mut().zip(fields) {
        *tick = number(field);
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    let user = user.zip(nice).map(|(user, nice)| user.saturating_add(nice));
    for (at, ticks) in [user, system, irq, softirq, iowait, steal, idle].into_iter().enumerate() {
        round.writer.put_some(slots, at, ticks.map(units::ticks_us));
    }
    if steal.is_none() {
        round.writer.absent("cpu.steal", "", format_args!("this kernel's /proc/stat has no steal column"));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Tree;

    #[test]
    fn times_are_microseconds_and_totals_are_found() {
        let tree = Tree::new(&[(
            "proc/stat",
            "cpu  10 1 20 300 4 5 6 7 0 0\ncpu0 10 1 20 300 4 5 6 7 0 0\ncpu3 x 1 2\nintr 99 1 2 3\nctxt 12\nbtime 1\n\
             processes 7\nprocs_running 2\nprocs_blocked 1\nsoftirq 5 1 2\n",
        )]);
        let r = tree.sample("cpu");
        let tick = crate::units::ticks_us(1);
        assert_eq!(r.last("cpu.user", "total"), Some(11.0 * tick));
        assert_eq!(r.last("cpu.idle", "0"), Some(300.0 * tick));
        assert_eq!(r.last("cpu.steal", "0"), Some(7.0 * tick));
        assert_eq!((r.last("cpu.user", "3"), r.last("cpu.system", "3")), (None, Some(2.0 * tick)));
        assert_eq!((r.last("cpu.online", ""), r.last("system.interrupts", "")), (Some(2.0), Some(99.0)));
        assert_eq!((r.last("system.running", ""), r.last("system.blocked", "")), (Some(2.0), Some(1.0)));
    }

    #[test]
    fn a_missing_file_is_a_reason_for_every_counter() {
        let r = Tree::new(&[]).sample("cpu");
        assert!(r.reason("cpu.user").contains("does not exist"));
        assert!(r.reason("system.forks").contains("does not exist"));
    }
}
