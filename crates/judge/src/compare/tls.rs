//! Share of a request's CPU time that TLS costs. The share of TLS is computed if exactly one side of the comparison
//! uses TLS.

use run::{ComparedFigure, Run, TlsCost};

use super::figures::SERVER_CPU;
use crate::number::{duration, finite, percent};

/// Returns the share of a request's CPU time that TLS costs, with its interval. Returns `None` unless all runs of one
/// side use TLS and no run of the other side does.
pub(super) fn share(old: (&str, &[Run]), new: (&str, &[Run]), all: &[ComparedFigure]) -> Option<TlsCost> {
    let speaks = |runs: &[Run]| runs.iter().all(|run| run.plan.load.tls.is_some());
    let plain = |runs: &[Run]| runs.iter().all(|run| run.plan.load.tls.is_none());
    let new_speaks = plain(old.1) && speaks(new.1);
    let old_speaks = speaks(old.1) && plain(new.1);
    if !new_speaks && !old_speaks {
        return None;
    }
    let cpu = all.iter().find(|c| c.figure == SERVER_CPU)?;
    // `ratio` is the new CPU time divided by the old CPU time. The share that TLS costs is 1 minus a quotient: the CPU
    // time without TLS divided by the CPU time with TLS.
    let of = |ratio: f64| finite(1.0 - if new_speaks { 1.0 / ratio } else { ratio });
    let share = of(cpu.ratio)?;
    let ends = cpu.low.zip(cpu.high).and_then(|(a, b)| of(a).zip(of(b)));
    let within = ends.map(|(a, b)| (a.min(b), a.max(b)));
    let us = finite(if new_speaks { cpu.new - cpu.old } else { cpu.old - cpu.new })?;
    let words = within.map_or(String::new(), |(low, high)| format!(" ({} to {})", percent(low), percent(high)));
    let sentence = format!(
        "TLS takes {}{words} of the server's CPU time per request ({}), if the servers are otherwise equal",
        percent(share),
        duration(us)
    );
    Some(TlsCost { share, low: within.map(|w| w.0), high: within.map(|w| w.1), us, sentence })
}
