//! Values that the two studies of reading records derive from each trial, and functions that read the figures of a side
//! (client or server). The formulas are ratios of counters, as in the study of source 3 (R. Blake, 1993).

use run::{Side, Trial};

use super::values::{
    BYTES_PER_FRAME, CLIENT_THROUGHPUT_SHARE, FRAMES_PER_READ, MESSAGE_BYTES_PER_S, MESSAGE_IN_BYTES,
    MESSAGE_OUT_BYTES, RESPONSE_N_OVER_X_US, WIRE_BYTES_PER_READ, WIRE_US_PER_READ, WIRE_USE_WITHOUT_FRAMING,
};
use crate::values::{BYTES_PER_S, WIRE_USE};

/// Traffic on the simulated network's wire in the measured window. With several wires, all fields except `all` describe
/// the busiest wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wire {
    /// Name of the simulated wire.
    pub(super) name: String,
    /// Bytes per second that the wire carried, including Ethernet's framing.
    pub(super) bytes_per_s: f64,
    /// Frames per second that the wire carried.
    pub(super) frames_per_s: f64,
    /// Used share of the wire's rate, 0 to 1.
    pub(crate) use_: f64,
    /// Rate of the wire, bytes per second.
    pub(super) rate: f64,
    /// Bytes and frames per second over all wires together. A frame that crosses two wires (into a switch and out of
    /// it) counts once.
    pub(super) all: (f64, f64),
}

/// Number of bytes that Ethernet adds to a frame: preamble, check sequence, and gap between frames.
pub(super) const FRAMING: f64 = 24.0;

/// Returns the busiest wire of a trial; `None` if the simulated network has no rate.
pub(crate) fn wire(trial: &Trial) -> Option<Wire> {
    let recording = &trial.server.as_ref()?.recording;
    let window = trial.measured.window;
    let span = Some(recording.span_s(window)).filter(|s| *s > 0.0)?;
    let grown = |id: &str, wire: &str| recording.reading(id, wire, window).value();
    let names = recording.columns_of("medium.bytes").map(|c| c.instance.clone());
    let wires: Vec<Wire> = names
        .filter_map(|name| {
            let (bytes, frames) = (grown("medium.bytes", &name)? / span, grown("medium.frames", &name)? / span);
            let rate = grown("medium.rate", &name)?;
            let all = (0.0, 0.0);
            Some(Wire { name, bytes_per_s: bytes, frames_per_s: frames, use_: bytes / rate, rate, all })
        })
        .collect();
    let all = wires.iter().fold((0.0, 0.0), |sum, w| (sum.0 + w.bytes_per_s, sum.1 + w.frames_per_s));
    // On a switch, each frame crosses two wires: one from the sender, and one to the receiver.
    let twice = if wires.iter().any(|wire| testbed::leads_from_switch(&wire.name)) { 2.0 } else { 1.0 };
    let busiest = wires.into_iter().max_by(|a, b| a.use_.total_cmp(&b.use_))?;
    Some(Wire { all: (all.0 / twice, all.1 / twice), ..busiest })
}

/// Computes the values that reports and checks need, and stores them in a trial's results.
pub(super) fn derive(trial: &mut Trial) {
    let x = trial.rates.completed_rate;
    if x <= 0.0 {
        return;
    }
    let record = trial.key.record_bytes.unwrap_or(0) as f64;
    let clients = f64::from(trial.key.clients.unwrap_or(1));
    let tally = &trial.measured.tally;
    let messages = (tally.bytes_sent + tally.bytes_received) as f64 / tally.completed.max(1) as f64;
    // The message sizes are computed from the counts of the whole trial. The measured window begins and ends in the
    // middle of reads. Counts of this window would therefore distort the sizes of a read's two messages (60 and 2108
    // bytes).
    let each = |bytes: u64, n: u64| bytes as f64 / n.max(1) as f64;
    let whole = &trial.tally;
    let (sent, received) = (each(whole.bytes_sent, whole.sent), each(whole.bytes_received, whole.completed));
    let wire = wire(trial);
    let results = &mut trial.results;
    results.put(BYTES_PER_S, x * record);
    // The study counts whole messages, including their headers, in both directions.
    results.put(MESSAGE_BYTES_PER_S, x * messages);
    results.put(MESSAGE_OUT_BYTES, sent);
    results.put(MESSAGE_IN_BYTES, received);
    results.put(RESPONSE_N_OVER_X_US, clients / x * 1e6);
    if let Some(wire) = wire {
        let (bytes, frames) = wire.all;
        // Rate of bytes that one host (client or server) sent and received together, as a share of the wire's rate.
        results.put(CLIENT_THROUGHPUT_SHARE, x * messages / wire.rate);
        results.put(WIRE_USE, wire.use_);
        results.put(WIRE_USE_WITHOUT_FRAMING, (wire.bytes_per_s - FRAMING * wire.frames_per_s) / wire.rate);
        results.put(WIRE_BYTES_PER_READ, bytes / x);
        results.put(FRAMES_PER_READ, frames / x);
        results.put(BYTES_PER_FRAME, bytes / frames.max(1e-9));
        results.put(WIRE_US_PER_READ, bytes / x / wire.rate * 1e6);
    }
}

/// Returns `figure`, or NaN if it is missing. A check of NaN always fails.
pub(super) fn known(figure: Option<f64>) -> f64 {
    figure.unwrap_or(f64::NAN)
}

/// Returns the number of bytes per record; NaN if unknown.
pub(super) fn record_bytes(trial: &Trial) -> f64 {
    known(trial.key.record_bytes.map(|n| n as f64))
}

/// Returns the cost per read with the ID `id` on one side (client or server).
pub(super) fn cost(side: Option<&Side>, id: &str) -> Option<f64> {
    side?.costs.get(id)?.per_request.value()
}

/// Returns the CPU time per read on a host, microseconds: the larger of two values. The first value is the CPU time of
/// the whole host minus its CPU time at rest. The kernel counts the host's CPU time in clock ticks. On a quiet host,
/// the CPU time of the whole host is therefore far too low. The CPU time of the processes is exact, but excludes
/// interrupts.
pub(super) fn processor_us(side: Option<&Side>) -> Option<f64> {
    let (host, process) = (cost(side, "cpu_net_us"), cost(side, "process_cpu_us"));
    host.into_iter().chain(process).reduce(f64::max)
}

/// Returns the share of the CPU time of a side's host (client or server) that the experiment used. The share includes
/// the CPU time of the side's processes, and of all interrupts on the host. CPU time of other programs is left out,
/// because a dedicated host would not run them. Most kernels charge interrupts to the process that they interrupt. The
/// result is at most the part of the CPU time that was not idle, so that the time of an interrupt does not count twice.
pub(super) fn busy(side: Option<&Side>, trial: &Trial) -> Option<f64> {
    let side = side?;
    let times = side.recording.cpu_times("total", trial.measured.window)?;
    let interrupts_us = times.softirq_us + times.irq_us;
    let own_us = side.counters.iter().find(|(id, _)| id.as_str() == "process.cpu")?.1.value()?;
    times.share_of((own_us + interrupts_us).min(times.busy_us().max(own_us)))
}

pub(super) fn of_size(trials: &[Trial], size: f64) -> Option<&Trial> {
    trials.iter().find(|t| record_bytes(t) == size)
}

/// Returns the throughput of the trial with records of `size` bytes, in bytes per second; NaN if there is no such
/// trial.
pub(super) fn at(trials: &[Trial], size: f64) -> f64 {
    of_size(trials, size).map_or(f64::NAN, |t| known(t.results.get(BYTES_PER_S)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Column, CounterId, Recording, Window};

    pub(crate) fn trial(bytes: f64, frames: f64) -> Trial {
        let column = |id: &'static str, a: f64, b: f64| Column {
            counter: CounterId::new(id),
            instance: "ethernet10".into(),
            values: vec![Some(a), Some(b)],
        };
        let recording = Recording {
            t_s: vec![0.0, 2.0],
            columns: vec![
                column("medium.bytes", 100.0, 100.0 + bytes),
                column("medium.frames", 5.0, 5.0 + frames),
                column("medium.rate", 1.25e6, 1.25e6),
            ],
            ..Recording::default()
        };
        let mut trial = Trial { server: Some(Side { recording, ..Side::default() }), ..Trial::default() };
        trial.measured.window = Window { begin_s: 0.0, end_s: 2.0 };
        trial.rates.completed_rate = 500.0;
        (trial.key.record_bytes, trial.key.clients) = (Some(2048), Some(5));
        trial
    }

    /// Makes the counters of a side (client or server) whose host has one CPU. `own` is the share of the CPU time that
    /// the side's only process used. `system` and `softirq` are shares that were counted in clock ticks.
    fn loaded(own: f64, system: f64, softirq: f64) -> Side {
        let column = |id: &'static str, instance: &str, share: f64| Column {
            counter: CounterId::new(id),
            instance: instance.into(),
            values: vec![Some(0.0), Some(share * 2e6)],
        };
        let columns = vec![
            column("cpu.system", "total", system),
            column("cpu.softirq", "total", softirq),
            column("cpu.idle", "total", 1.0 - system - softirq),
        ];
        let recording = Recording { t_s: vec![0.0, 2.0], columns, ..Recording::default() };
        let counters = [(CounterId::new("process.cpu"), run::Reading::Value(own * 2e6))].into();
        Side { recording, counters, ..Side::default() }
    }

    #[test]
    fn an_interrupt_charged_to_a_process_is_counted_once() {
        let t = trial(0.0, 0.0);
        let busy = |own, system, softirq| busy(Some(&loaded(own, system, softirq)), &t).unwrap();
        assert!((busy(0.9, 0.5, 0.46) - 0.96).abs() < 1e-9, "charged twice: 136 % of a processor");
        assert!((busy(0.3, 0.3, 0.2) - 0.5).abs() < 1e-9, "met by nobody's process: both count");
        assert!((busy(0.2, 0.7, 0.1) - 0.3).abs() < 1e-9, "other programs do not count");
        assert!((busy(0.4, 0.0, 0.0) - 0.4).abs() < 1e-9, "too short for ticks");
    }

    #[test]
    fn a_frame_counts_once_on_a_long_line_and_on_a_switch() {
        let all = |names: [&str; 2]| {
            let mut t = trial(2.4e6, 3000.0);
            let recording = &mut t.server.as_mut().unwrap().recording;
            let mut second = recording.columns.clone();
            recording.columns.iter_mut().for_each(|column| column.instance = names[0].into());
            second.iter_mut().for_each(|column| column.instance = names[1].into());
            recording.columns.extend(second);
            wire(&t).unwrap().all
        };
        assert_eq!(all(["wan from client1", "wan from server"]), (2.4e6, 3000.0));
        assert_eq!(all(["switch from client1", "switch to server"]), (1.2e6, 1500.0));
    }

    #[test]
    fn values_per_read_are_ratios_over_the_window() {
        let mut t = trial(2.4e6, 3000.0);
        derive(&mut t);
        let r = &t.results;
        assert_eq!(
            (known(r.get(WIRE_USE)), known(r.get(WIRE_BYTES_PER_READ)), known(r.get(FRAMES_PER_READ))),
            (0.96, 2400.0, 3.0)
        );
        assert_eq!((known(r.get(RESPONSE_N_OVER_X_US)), known(r.get(BYTES_PER_S))), (10_000.0, 1_024_000.0));
        assert_eq!(known(r.get(WIRE_US_PER_READ)), 1920.0);
        assert!(known(None).is_nan());
    }
}
