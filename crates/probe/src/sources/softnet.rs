//! Packets through the backlog of each CPU: /proc/net/softnet_stat. Source: net/core/net-procfs.c, softnet_seq_show.
//! The file's columns are hexadecimal numbers. Since Linux 5.10, the 13th column is the number of the CPU. In older
//! kernels, the file has no 13th column, and its lines are in the order of CPUs.

use crate::Scope;
use crate::family::Family;
use crate::reread_file::RereadFile;
use crate::source::{Round, Source, none};
use crate::text::{hex, lines, words};
use crate::tree::Tree;

const IDS: &[&str] = &["softnet.processed", "softnet.dropped", "softnet.time_squeeze"];

struct Softnet {
    file: RereadFile,
    cpus: Family,
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    Box::new(Softnet { file: tree.keep_net("softnet_stat"), cpus: Family::new(IDS) })
}

impl Source for Softnet {
    fn sample(&mut self, round: &mut Round<'_>) {
        let text = match self.file.read() {
            Ok(text) => text,
            Err(reason) => return none(round, &self.cpus, &reason),
        };
        for (at, line) in lines(text).enumerate() {
            let mut columns = [None; 13];
            for (column, word) in columns.iter_mut().zip(words(line)) {
                *column = hex(word);
            }
            let cpu = columns[12].unwrap_or(at as u64);
            let mut digits = [0_u8; 20];
            if let Some(slots) = self.cpus.slots(round.writer, decimal(cpu, &mut digits)) {
                for (at, column) in columns[..3].iter().enumerate() {
                    round.writer.put_some(slots, at, column.map(|n| n as f64));
                }
            }
        }
    }
}

/// Formats a number in decimal without allocation.
fn decimal(mut n: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 || at == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn columns_are_hexadecimal_and_the_cpu_is_named() {
        let new = "00000010 00000002 00000003 0 0 0 0 0 0 0 0 0 00000005 0 0\n";
        let r = Tree::new(&[("proc/net/softnet_stat", new)]).sample("softnet");
        assert_eq!((r.last("softnet.processed", "5"), r.last("softnet.dropped", "5")), (Some(16.0), Some(2.0)));
        let old = "0000000a 00000000 0000000b 0 0 0 0 0 0 0 0\n0000000c 1 2\n";
        let r = Tree::new(&[("proc/net/softnet_stat", old)]).sample("softnet");
        assert_eq!((r.last("softnet.time_squeeze", "0"), r.last("softnet.processed", "1")), (Some(11.0), Some(12.0)));
    }

    #[test]
    fn numbers_become_text() {
        assert_eq!(decimal(0, &mut [0; 20]), b"0");
        assert_eq!(decimal(u64::MAX, &mut [0; 20]), b"18446744073709551615");
    }
}
