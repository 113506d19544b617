//! Conclusions of `lab adding-clients` in sentences, in the order of the published study's steps.

use run::Trial;
use run::number::prose::{duration, figure, percent};
use run::number::{Unit, quantity};

use super::derive::{busy, cost, known, processor_us, record_bytes, wire};
use super::step::Step;
use super::test_bed::TestBed;
use super::values::{
    BYTES_PER_FRAME, FRAMES_PER_READ, RESPONSE_N_OVER_X_US, WIRE_BYTES_PER_READ, WIRE_US_PER_READ,
    WIRE_USE_WITHOUT_FRAMING,
};

/// Describes step 1 of the study: how long one read uses each device, with one client.
pub(super) fn demand(first: &Trial, bed: &TestBed) -> String {
    let mut parts = vec![
        ("server's process", cost(first.server.as_ref(), "process_cpu_us")),
        ("client's process", cost(Some(&first.client), "process_cpu_us")),
        ("wire", first.results.get(WIRE_US_PER_READ)),
    ];
    let largest = parts.iter().filter_map(|(name, v)| v.map(|v| (*name, v))).max_by(|a, b| a.1.total_cmp(&b.1));
    parts.push(("fixed time of the exchange", Some(bed.exchange_ms * 1000.0).filter(|v| *v > 0.0)));
    let list: Vec<String> =
        parts.into_iter().filter_map(|(name, v)| v.map(|v| format!("{name} {}", duration(v)))).collect();
    let r = duration(known(first.results.get(RESPONSE_N_OVER_X_US)));
    let named =
        largest.map_or(String::new(), |(name, _)| format!(" The largest demand of a device is that of the {name}."));
    format!("1. One client: a read takes {r}; it needs {}.{named}", list.join(", "))
}

pub(super) fn growth_words(trials: &[Trial], steps: &[Step]) -> String {
    let x: Vec<String> = trials.iter().map(|t| figure(t.rates.completed_rate)).collect();
    let r: Vec<String> = trials.iter().map(|t| duration(known(t.results.get(RESPONSE_N_OVER_X_US)))).collect();
    let last = steps.last().map_or(String::new(), |s| {
        format!(
            " Client {} brings {} reads/s in place of {}: growth {}.",
            s.n,
            figure(s.x),
            figure(s.x / (1.0 + s.growth)),
            percent(s.growth)
        )
    });
    format!("2. Reads/s: {}. Response time N/X: {}.{last}", x.join(", "), r.join(", "))
}

/// Minimum utilisation at which the server's CPU counts as full, because clients may then wait for it.
const SERVER_BUSY: f64 = 0.8;

/// Concludes which part of the system delays reads. `a_read` contains the server's CPU time per read, and `r_us` the
/// response time, each with one client and with all clients. `busy` is the server's CPU utilisation with all clients.
/// The delay is outside of the server if the response time grew although the CPU time per read stayed the same and the
/// CPU was not full.
fn where_the_delay_is(a_read: [f64; 2], busy: f64, r_us: [f64; 2]) -> &'static str {
    if [a_read[0], a_read[1], busy, r_us[0], r_us[1]].iter().any(|v| v.is_nan()) {
        return "which says nothing while a part of it is unknown";
    }
    match (a_read[1] <= a_read[0] * 1.02, busy < SERVER_BUSY, r_us[1] > r_us[0] * 1.02) {
        (true, true, true) => "while the response time rises: the delay is outside of the server",
        (_, false, _) => "and that is practically full: clients wait for the server's CPU, or for what shares it",
        (false, true, true) => "which is part of the longer response time",
        (_, true, false) => "and the response time does not rise: nobody waits",
    }
}

pub(super) fn server_words(first: &Trial, last: &Trial) -> String {
    let of = |t: &Trial, id: &str| cost(t.server.as_ref(), id).unwrap_or(f64::NAN);
    let busy = [first, last].map(|t| busy(t.server.as_ref(), t).unwrap_or(f64::NAN));
    let a_read = [first, last].map(|t| processor_us(t.server.as_ref()).unwrap_or(f64::NAN));
    let softirq = [first, last].map(|t| of(t, "cpu_softirq_us"));
    let process = [first, last].map(|t| of(t, "process_cpu_us"));
    let meaning =
        where_the_delay_is(a_read, busy[1], [first, last].map(|t| known(t.results.get(RESPONSE_N_OVER_X_US))));
    format!(
        "3. The server's CPUs are {} busy by its own processes and interrupts with one client and {} with all; a read \
         costs them {} and then {} (soft interrupts {} and {}; the server's process {} and {}), {meaning}.",
        percent(busy[0]),
        percent(busy[1]),
        duration(a_read[0]),
        duration(a_read[1]),
        duration(softirq[0]),
        duration(softirq[1]),
        duration(process[0]),
        duration(process[1]),
    )
}

pub(super) fn knee_words(first: &Trial, x_max: f64, step: &Step, each_us: f64) -> String {
    let knee = known(first.results.get(RESPONSE_N_OVER_X_US)) / 1e6 * x_max;
    format!(
        "4. Knee N* = R1 Xmax = {knee:.2} clients. Past it each client adds 1/Xmax = {} to the response time; the last one \
         added {}, to {}.",
        duration(each_us),
        duration(step.more_us),
        duration(step.r_us)
    )
}

pub(super) fn wire_words(last: &Trial, bed: &TestBed, x_max: f64) -> String {
    if !bed.knows_its_medium() {
        return "5. What joins these hosts has no counters that could be read: whether it is full is not known.".into();
    }
    let Some(wire) = wire(last) else {
        return "5. This medium has no rate of its own, so it cannot be full.".into();
    };
    let limit = last.rates.completed_rate / wire.use_;
    let which = if bed.shared_wire() { "The wire".into() } else { format!("The fullest wire, {},", wire.name) };
    let mut words = format!(
        "5. {which} carries {} of {} ({}), {} without framing; a read takes {} bytes in {} frames of {} bytes, both ways. Its \
         theoretical limit is {} reads/s, of which {} were reached.",
        quantity(wire.bytes_per_s, Unit::BytesPerSecond),
        quantity(wire.rate, Unit::BytesPerSecond),
        percent(wire.use_),
        percent(known(last.results.get(WIRE_USE_WITHOUT_FRAMING))),
        figure(known(last.results.get(WIRE_BYTES_PER_READ))),
        figure(known(last.results.get(FRAMES_PER_READ))),
        figure(known(last.results.get(BYTES_PER_FRAME))),
        figure(limit),
        percent(x_max / limit),
    );
    let payload = percent(x_max * record_bytes(last) / wire.rate);
    let besides = if bed.shared_wire() {
        "Two reasons that the records do not fill it: what is sent besides (requests, heads, acknowledgements, framing), and \
         on a real Ethernet collisions, which this medium has not."
    } else {
        "What is sent besides (heads, acknowledgements, framing) takes its share; a switch has no collisions."
    };
    words += &format!(" The records alone are {payload} of it. {besides}");
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_server_is_not_excluded_as_the_cause_of_delay() {
        let ethernet = where_the_delay_is([250.0, 230.0], 0.28, [5114.0, 9723.0]);
        assert!(ethernet.contains("outside"), "{ethernet}");
        let full = where_the_delay_is([24.1, 10.2], 0.954, [58.0, 75.8]);
        assert!(full.contains("full"), "{full}");
        let free = where_the_delay_is([24.1, 10.2], 0.5, [58.0, 55.8]);
        assert!(free.contains("nobody waits"), "{free}");
        let unknown = where_the_delay_is([f64::NAN, 10.2], f64::NAN, [58.0, 55.8]);
        assert!(unknown.contains("unknown"), "{unknown}");
    }
}
