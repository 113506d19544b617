//! Conclusions of `lab throughput-profile`: the shape of the curve, the read of 2048 bytes in detail, and the simple
//! model.

use run::number::prose::{duration, figure, percent};
use run::number::{Unit, quantity};
use run::{Side, Trial};

use super::derive::{at, cost, known, of_size, processor_us, record_bytes, wire};
use super::test_bed::TestBed;
use super::values::{
    BYTES_PER_FRAME, CLIENT_PROCESSOR_US, FIXED_US_PER_READ, FRAMES_PER_READ, MESSAGE_BYTES_PER_S, MODEL_US_PER_READ,
    SERVER_PROCESSOR_US, WIRE_BYTES_PER_READ, WIRE_US_PER_READ,
};
use crate::values::{BYTES_PER_S, WIRE_USE};

/// Returns all conclusions as texts. Each conclusion has at least one sentence.
pub(super) fn words(trials: &[Trial], bed: &TestBed, verdict: &str) -> Vec<String> {
    let mut words = vec![shape(trials)];
    if let Some(t) = of_size(trials, 2048.0) {
        words.extend([messages(t), ends(t, bed)]);
        words.extend(wire(t).map(|_| segments(t)));
        words.push(processors(t));
    }
    for size in [2048.0, 57344.0] {
        words.extend(of_size(trials, size).map(|t| parts(t, bed)));
    }
    words.push(format!("One client waits for each answer, so nothing need be full: {}", largest(trials, verdict)));
    words
}

/// Names the device that a read uses longest, in the first trial and in the last trial. Also names the verdict on the
/// run.
fn largest(trials: &[Trial], verdict: &str) -> String {
    let of = |t: &Trial| {
        let r = &t.results;
        let parts = [
            ("the server's CPU", r.get(SERVER_PROCESSOR_US)),
            ("the client's CPU", r.get(CLIENT_PROCESSOR_US)),
            ("the wire", r.get(WIRE_US_PER_READ)),
            ("the fixed time of the exchange", r.get(FIXED_US_PER_READ)),
        ];
        let measured = parts.into_iter().filter_map(|(name, us)| Some((name, us?)));
        measured.max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let at = |t: &Trial| Some((record_bytes(t), of(t)?));
    let list: Vec<String> = [trials.first(), trials.last()]
        .into_iter()
        .flatten()
        .filter_map(at)
        .map(|(size, (name, time))| format!("{name} with {} a read at {} bytes", duration(time), figure(size)))
        .collect();
    format!("the largest demand is that of {}. The verdict: {verdict}.", list.join(", of "))
}

fn shape(trials: &[Trial]) -> String {
    let best =
        trials.iter().max_by(|a, b| known(a.results.get(BYTES_PER_S)).total_cmp(&known(b.results.get(BYTES_PER_S))));
    let best = best.map_or(String::new(), |t| {
        format!(
            " Most, {}, at {} bytes.",
            quantity(known(t.results.get(BYTES_PER_S)), Unit::BytesPerSecond),
            figure(record_bytes(t))
        )
    });
    let list: Vec<String> = [512.0, 4096.0, 8192.0, 12288.0]
        .iter()
        .map(|s| format!("{} at {s}", quantity(at(trials, *s), Unit::BytesPerSecond)))
        .collect();
    format!("Throughput: {} bytes.{best}", list.join(", "))
}

/// Describes the messages of a read of 2048 bytes, as the client counts them.
fn messages(t: &Trial) -> String {
    let tally = &t.tally;
    let each = |bytes: u64, n: u64| figure(bytes as f64 / n.max(1) as f64);
    let (sent, received) = (each(tally.bytes_sent, tally.sent), each(tally.bytes_received, tally.completed));
    format!("2048 bytes, messages: the client sends {sent} bytes and receives {received} a read, {}.", rate_of(t))
}

fn rate_of(t: &Trial) -> String {
    format!(
        "{} reads/s and {} both ways",
        figure(t.rates.completed_rate),
        quantity(known(t.results.get(MESSAGE_BYTES_PER_S)), Unit::BytesPerSecond)
    )
}

/// Describes the IP packets per read on both hosts, which the study calls redirector and server. The text also says
/// where the records came from.
fn ends(t: &Trial, bed: &TestBed) -> String {
    let end = |name: &str, side: Option<&Side>| {
        let of = |id: &str| cost(side, id).map_or("unknown".into(), figure);
        let [packets_in, bytes_in, packets_out, bytes_out] =
            ["packets_in", "bytes_in", "packets_out", "bytes_out"].map(of);
        format!("the {name} has {bytes_in} bytes in {packets_in} packets in and {bytes_out} in {packets_out} out")
    };
    let disk = disk_words(t.server.as_ref());
    let (client, server) = (end("client", Some(&t.client)), end("server", t.server.as_ref()));
    let shared = if bed.one_namespace() { " (one namespace holds both, so each counts the other's too)" } else { "" };
    format!("2048 bytes, both ends by IP{shared}: {client}; {server}; {disk}.")
}

/// Describes where the server's records came from (cache or disk), by the counts of the server and of the kernel.
fn disk_words(server: Option<&Side>) -> String {
    let (hits, reads, bytes) =
        (cost(server, "cache_hits"), cost(server, "disk_reads"), cost(server, "disk_read_bytes"));
    let counted = match (hits, reads) {
        (Some(hits), Some(reads)) if hits + reads > 0.0 => {
            format!("the server's page cache had {} of the records by its own count", percent(hits / (hits + reads)))
        }
        _ => "what the server's cache held is unknown".into(),
    };
    match bytes {
        Some(bytes) if bytes < 1.0 => format!("{counted}; the kernel saw it fetch nothing from a disk"),
        Some(bytes) => format!("{counted}; the kernel saw it fetch {} bytes a read from a disk", figure(bytes)),
        None => counted,
    }
}

/// Describes the frames of a read on the wire.
fn segments(t: &Trial) -> String {
    format!(
        "2048 bytes, wire: {} frames a read of {} bytes on average, {} bytes with framing, {} of the wire's time; the wire is {} busy.",
        figure(known(t.results.get(FRAMES_PER_READ))),
        figure(known(t.results.get(BYTES_PER_FRAME))),
        figure(known(t.results.get(WIRE_BYTES_PER_READ))),
        duration(known(t.results.get(WIRE_US_PER_READ))),
        percent(known(t.results.get(WIRE_USE))),
    )
}

/// Describes the CPU time per read: of both hosts, of their processes, and the difference between each host and its
/// process.
fn processors(t: &Trial) -> String {
    format!(
        "2048 bytes, CPU time: {}; {}. A kernel that does not account for interrupts apart charges them to the process on \
         whose back they run; what a host takes beyond its process is interrupt work that met none.",
        host_words("server", t.server.as_ref()),
        host_words("client", Some(&t.client))
    )
}

/// Compares the CPU time per read of a whole host with that of the host's process. The host's CPU time is counted in
/// clock ticks. If clock ticks are too long for the comparison, the text says so.
fn host_words(name: &str, side: Option<&Side>) -> String {
    let of = |id: &str| cost(side, id);
    let gap = match (of("cpu_net_us"), of("process_cpu_us")) {
        (Some(host), Some(process)) if host > process => format!(
            "its process {} a read and its host {} net of rest: {} of interrupts and others lie between",
            duration(process),
            duration(host),
            duration(host - process)
        ),
        (Some(_), Some(process)) => {
            format!("its process {} a read, and clock ticks met no more on its host", duration(process))
        }
        _ => "its CPU time is unknown".into(),
    };
    let receives = of("softirqs_net_rx").map_or(String::new(), |n| format!(", {} of them to receive", figure(n)));
    let each =
        |time: f64| of("softirqs_net_rx").filter(|n| *n > 0.0).map(|n| format!(" ({} each)", duration(time / n)));
    let soft = match of("cpu_softirq_us") {
        Some(time) if time > 0.0 => {
            format!("soft interrupts {}{receives}{}", duration(time), each(time).unwrap_or_default())
        }
        Some(_) => format!("soft interrupts too short for a tick to meet one{receives}"),
        None => "soft interrupts unknown".into(),
    };
    format!("the {name}: {gap}; {soft}")
}

/// Explains why the parts of a read (CPU times, wire time and fixed time) add up to more than its measured time. A
/// medium that the kernel simulates sends faster after a pause, which makes the measured time shorter than the sum. The
/// time that the simulated medium saves after pauses is not a sign of parallel work.
fn overlap(more_us: f64, catches_up_us: f64) -> String {
    let sum = format!("The sum is {} more than was measured", duration(more_us));
    let overlap = "parts of the read overlap, the wire carries one packet while the hosts work on another";
    match catches_up_us {
        made_up if more_us <= made_up => format!(
            "{sum}. That proves no overlap: after a pause this medium carries up to {} of its time at once",
            duration(made_up)
        ),
        made_up if made_up > 0.0 => format!(
            "{sum}: {overlap}. Up to {} of it is the medium's, which carries that much of its time at once after a pause",
            duration(made_up)
        ),
        _ => format!("{sum}: {overlap}"),
    }
}

/// Compares the sum of a read's parts (CPU times, wire time and fixed time) with the read's measured time.
fn parts(t: &Trial, bed: &TestBed) -> String {
    let measured = t.latency_us.mean;
    let sum = known(t.results.get(MODEL_US_PER_READ));
    let fixed = known(t.results.get(FIXED_US_PER_READ));
    let server = processor_us(t.server.as_ref()).unwrap_or(f64::NAN);
    let client = processor_us(Some(&t.client)).unwrap_or(f64::NAN);
    let what = if sum > measured {
        overlap(sum - measured, bed.catches_up_us())
    } else {
        let missing = measured - sum;
        format!(
            "{} are not accounted for ({} at each end): wake-ups, adapters, queues",
            duration(missing),
            duration(missing / 2.0)
        )
    };
    let wire = t.results.get(WIRE_US_PER_READ).map_or(String::new(), |v| format!(" + wire {}", duration(v)));
    let fixed = if bed.exchange_ms > 0.0 { format!(" + fixed {}", duration(fixed)) } else { String::new() };
    format!(
        "{} bytes, simple model: server {} + client {}{wire}{fixed} = {}; measured {}. {what}.",
        figure(record_bytes(t)),
        duration(server),
        duration(client),
        duration(sum),
        duration(measured),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faster_sending_after_idle_time_proves_no_overlap() {
        assert!(overlap(109.0, 400.0).contains("proves no overlap"));
        let proof = overlap(2540.0, 400.0);
        assert!(proof.contains("parts of the read overlap") && proof.contains("Up to 400 µs"), "{proof}");
        assert!(!overlap(83.5, 0.0).contains("medium"));
    }

    #[test]
    fn the_origin_of_records_is_described_as_counted() {
        let mut side = Side::default();
        assert!(disk_words(Some(&side)).contains("unknown"));
        for (id, v) in [("cache_hits", 2.0), ("disk_reads", 0.0), ("disk_read_bytes", 0.0)] {
            let per_request = run::Reading::Value(v);
            side.costs.insert(id.into(), run::Cost { per_request, unit: run::FigureUnit::Plain });
        }
        let words = disk_words(Some(&side));
        assert!(words.contains("had 100 %") && words.contains("nothing from a disk"), "{words}");
        side.costs.insert(
            "disk_reads".into(),
            run::Cost { per_request: run::Reading::Value(0.5), unit: run::FigureUnit::Plain },
        );
        assert!(disk_words(Some(&side)).contains("had 80 %"));
        for id in ["cache_hits", "disk_reads"] {
            side.costs.get_mut(id).unwrap().per_request = run::Reading::Value(0.0);
        }
        assert!(disk_words(Some(&side)).contains("unknown"), "the file system does not tell");
    }

    #[test]
    fn a_host_without_clock_ticks_is_described() {
        let mut side = Side::default();
        let mut put = |id: &str, v: f64| {
            let per_request = run::Reading::Value(v);
            side.costs.insert(id.into(), run::Cost { per_request, unit: run::FigureUnit::Micros });
        };
        [("cpu_net_us", 0.0), ("cpu_softirq_us", 0.0), ("softirqs_net_rx", 1.99), ("process_cpu_us", 231.0)]
            .into_iter()
            .for_each(|(id, v)| put(id, v));
        let words = host_words("server", Some(&side));
        assert!(!words.contains("0.0 µs") && words.contains("231 µs") && words.contains("too short"), "{words}");
        side.costs.clear();
        assert!(host_words("server", Some(&side)).contains("unknown"));
    }
}
