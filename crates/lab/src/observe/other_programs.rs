//! CPU time that other programs took from the machines of a load test, in each tenth of a second of the load.

use run::{CpuUse, TENTH_S, Window};

/// Readings of one side (client or server): the name of its machine, and CPU times.
pub(crate) type SideUse = (String, CpuUse);

/// Shares of a machine's CPUs, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Taken {
    /// Share that other programs and interrupts took.
    pub(crate) others: f64,
    /// Share that interrupts took.
    pub(crate) interrupts: f64,
}

/// Returns the shares of the CPUs that were taken in each tenth of a second of `window`. CPU time counts as taken if it
/// was neither idle nor used by an observed process or by loadline's observers. Of several machines, the machine with
/// the largest share of other programs is used. The shares are 0 before the first reading and after the last. Returns
/// an empty list if no reading is in `window`.
pub(crate) fn others(sides: &[SideUse], window: Window) -> Vec<Taken> {
    let tenths = (window.length_s() / TENTH_S + 0.5) as usize;
    let of_tenth = |tenth: usize| {
        let begin_s = window.begin_s + TENTH_S * tenth as f64;
        let taken = sides.iter().filter_map(|(machine, host)| taken(sides, machine, host, begin_s));
        taken.max_by(|a, b| a.others.total_cmp(&b.others))
    };
    let shares: Vec<Option<Taken>> = (0..tenths).map(of_tenth).collect();
    let any = shares.iter().any(Option::is_some);
    if any { shares.into_iter().map(Option::unwrap_or_default).collect() } else { Vec::new() }
}

/// Minimum share of a tenth of a second that the readings must cover. The observers of client and server take their
/// last readings one after the other. These last readings may therefore cover only a part of the last tenth of a
/// second.
const MIN_COVERED: f64 = 0.5;

/// Returns the shares of a machine's CPUs that were taken in the tenth of a second from `begin_s` on. Observed
/// processes of client and server on this machine do not count as other programs. Returns `None` if the readings cover
/// too little of this tenth of a second.
fn taken(sides: &[SideUse], machine: &str, host: &CpuUse, begin_s: f64) -> Option<Taken> {
    let here = || sides.iter().filter(|(of, _)| of == machine).map(|(_, side)| side);
    let covered = |(begin_s, end_s): (f64, f64), side: &CpuUse| {
        Some((begin_s.max(*side.t_s.first()?), end_s.min(*side.t_s.last()?)))
    };
    let span = here().try_fold((begin_s, begin_s + TENTH_S), covered)?;
    let own_s: f64 = here().map(|side| growth(&side.t_s, &side.own_s, span)).sum::<Option<f64>>()?;
    // One observer may observe both client and server.
    let mut observers: Vec<&CpuUse> = here().collect();
    observers.sort_by_key(|side| side.observer_pid);
    observers.dedup_by_key(|side| side.observer_pid);
    let growths = observers.iter().map(|side| growth(&side.t_s, &side.observer_s, span));
    let observers_s: f64 = growths.sum::<Option<f64>>()?;
    let length_s = span.1 - span.0;
    let of_all = |seconds: f64| seconds / (host.cpus * length_s);
    let others = 1.0 - of_all(growth(&host.t_s, &host.idle_s, span)? + own_s + observers_s);
    let interrupts = of_all(growth(&host.t_s, &host.interrupts_s, span)?);
    // The shares are rounded to thousandths (0.1 ms), because the ticks in which the kernel counts CPU time are longer
    // than 0.1 ms.
    let rounded = |share: f64| (share.clamp(0.0, 1.0) * 1e3).round() / 1e3;
    let is_known = length_s >= MIN_COVERED * TENTH_S && others.is_finite() && interrupts.is_finite();
    is_known.then(|| Taken { others: rounded(others), interrupts: rounded(interrupts) })
}

/// Returns the growth of a value between two moments, interpolated between the readings around each moment. Returns
/// `None` if one of the moments is not between two readings.
fn growth(t_s: &[f64], values: &[f64], (begin_s, end_s): (f64, f64)) -> Option<f64> {
    let at = |moment: f64| {
        let after = t_s.partition_point(|t| *t < moment).max(1);
        let (t, v) = (t_s.get(after - 1..=after)?, values.get(after - 1..=after)?);
        let share = (moment - t[0]) / (t[1] - t[0]);
        (0.0..=1.0).contains(&share).then(|| v[0] + share * (v[1] - v[0]))
    };
    Some(at(end_s)? - at(begin_s)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readings of a machine with two CPUs. Observed processes use `own` CPUs, and all programs together use `busy`
    /// CPUs.
    fn side(machine: &str, own: f64, busy: impl Fn(f64) -> f64) -> SideUse {
        let mut readings = CpuUse { cpus: 2.0, ..CpuUse::default() };
        let mut idle_s = 50.0;
        for step in 0..=20 {
            let t_s = 0.1 * f64::from(step) - 0.05;
            readings.t_s.push(t_s);
            readings.idle_s.push(idle_s);
            readings.own_s.push(own * t_s);
            readings.interrupts_s.push(0.3 * t_s);
            readings.observer_s.push(0.0);
            idle_s += 0.1 * (2.0 - busy(t_s));
        }
        (machine.into(), readings)
    }

    /// Returns true if other programs took about the `expected` shares. Interrupts take 0.3 of two CPUs.
    fn about(values: &[Taken], expected: &[f64]) -> bool {
        let is_about = |taken: &Taken, others: f64| {
            let interrupts = if *taken == Taken::default() { 0.0 } else { 0.15 };
            (taken.others - others).abs() < 0.011 && (taken.interrupts - interrupts).abs() < 0.011
        };
        values.len() == expected.len() && values.iter().zip(expected).all(|(taken, others)| is_about(taken, *others))
    }

    #[test]
    fn what_neither_side_used_was_taken_by_others() {
        let busy = |t_s: f64| if t_s > 0.5 { 1.9 } else { 0.9 };
        let sides = [side("m", 0.5, busy), side("m", 0.4, busy)];
        let window = Window { begin_s: 0.3, end_s: 0.8 };
        let shares = others(&sides, window);
        assert!(about(&shares, &[0.0, 0.0, 0.25, 0.5, 0.5]), "{shares:?}");
    }

    /// An earlier version of loadline counted its own work at the start of a load as the work of other programs. That
    /// version therefore repeated the load again and again.
    #[test]
    fn an_observer_is_no_other_program_and_counts_once() {
        let shares = |pids: [u32; 2]| {
            let sides = pids.map(|pid| {
                let (machine, mut readings) = side("m", 0.1, |_| 1.0);
                readings.observer_pid = pid;
                readings.observer_s = readings.t_s.iter().map(|t_s| 0.2 * t_s).collect();
                (machine, readings)
            });
            others(&sides, Window { begin_s: 0.3, end_s: 0.5 })
        };
        assert!(about(&shares([7, 7]), &[0.3, 0.3]), "{:?}: one process watches both sides", shares([7, 7]));
        assert!(about(&shares([7, 8]), &[0.2, 0.2]), "{:?}: two processes", shares([7, 8]));
    }

    #[test]
    fn of_two_machines_the_one_of_which_more_was_taken_counts() {
        let sides = [side("a", 0.5, |_| 0.5), side("b", 0.4, |_| 1.4)];
        let shares = others(&sides, Window { begin_s: 0.3, end_s: 0.5 });
        assert!(about(&shares, &[0.5, 0.5]), "{shares:?}");
    }

    #[test]
    fn a_window_without_readings_has_no_shares() {
        assert!(others(&[], Window { begin_s: 0.0, end_s: 1.0 }).is_empty());
        let sides = [side("a", 0.5, |_| 0.5)];
        assert!(others(&sides, Window { begin_s: 2.0, end_s: 2.5 }).is_empty());
        let late = [side("a", 0.5, |_| 1.5)];
        let shares = others(&late, Window { begin_s: 1.78, end_s: 2.08 });
        assert!(about(&shares, &[0.5, 0.5, 0.0]), "{shares:?}: the last reading is at 1.95 s");
    }
}
