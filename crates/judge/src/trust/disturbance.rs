//! Warning about the time of a search in which other programs or pauses of a machine disturbed the measurement.

use run::ExcludedTime;

use crate::number::{counted, figure, percent, rate, ratio};

/// Returns the warning that says how long other programs or pauses disturbed the search for a capacity. `capacity` is
/// the result of the search, requests per second.
pub(super) fn warning(capacity: f64, left_out: &ExcludedTime) -> String {
    let became = left_out.rate.map_or_else(
        || "Without that time too little is left, so it is included: measure again on a quiet machine".into(),
        |with| format!("That time is left out; with it the capacity is {}", rate(with)),
    );
    let causes = causes(left_out).join(", and ");
    let so = if causes.is_empty() { "" } else { ", so " };
    let seconds = figure(left_out.seconds);
    format!("{causes}{so}the search for the capacity of {} was disturbed for {seconds} s. {became}", rate(capacity))
}

/// Returns a clause for each known cause of the disturbance.
fn causes(left_out: &ExcludedTime) -> Vec<String> {
    let busy = ratio(left_out.others_cpu_s, left_out.others_s).map(|share| {
        let seconds = figure(left_out.others_s);
        format!("other programs took {} of the CPUs for {seconds} s", percent(share))
    });
    let times = match left_out.pauses {
        1 => "once".into(),
        pauses => counted(pauses as f64, "time"),
    };
    // A thread of loadline that only sleeps measures the pauses, so a pause of the server's process is no such pause.
    let paused = (left_out.pauses > 0).then(|| {
        format!("a whole machine paused {times} (its hypervisor or scheduler, not a garbage collection of the server)")
    });
    busy.into_iter().chain(paused).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The warning must say that a whole machine paused. An earlier version of loadline said "a host paused 3 times
    /// (0.5 s in all) during the search". A reader could not tell whether a process, a garbage collection or the
    /// machine had paused.
    #[test]
    fn the_warning_says_what_paused() {
        let left_out = ExcludedTime { seconds: 0.5, pauses: 3, rate: Some(950.0), ..ExcludedTime::default() };
        let said = warning(1000.0, &left_out);
        let sentence = "a whole machine paused 3 times (its hypervisor or scheduler, not a garbage collection of the \
                        server), so the search for the capacity of 1,000/s was disturbed for 0.5";
        assert!(said.starts_with(sentence) && said.ends_with("with it the capacity is 950/s"), "{said}");
        let once = ExcludedTime { pauses: 1, others_s: 2.0, others_cpu_s: 1.0, rate: None, ..left_out };
        let said = warning(1000.0, &once);
        assert!(said.starts_with("other programs took 50") && said.contains(" % of the CPUs for 2"), "{said}");
        assert!(said.contains(" s, and a whole machine paused once ("), "{said}");
        assert!(said.contains("so it is included"), "{said}");
        let unknown = warning(1000.0, &ExcludedTime { pauses: 0, ..left_out });
        assert!(unknown.starts_with("the search for the capacity of 1,000/s was disturbed for"), "{unknown}");
    }
}
