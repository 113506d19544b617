//! Conclusions from the table of I/O models, in a few sentences. (The report shows the ranking of the I/O models as a
//! table.)

use run::Trial;

use super::rows::{SIX, cost, row};
use crate::values::{BYTES_PER_S, CONNECTIONS, ENTRY, HELD, MODEL};

/// All models count as handling the offered load if the slowest one has at least this share of the median throughput.
const SAME: f64 = 0.9;

/// Returns a sentence about each entry (load), and remarks on select with arrays.
pub(super) fn conclusions(rows: &[&Trial]) -> Vec<String> {
    let entries = [1, 2, 3].into_iter().filter_map(|n| entry(rows, n));
    entries.chain(collapse(rows)).collect()
}

fn entry(rows: &[&Trial], n: u32) -> Option<String> {
    let of: Vec<&Trial> = rows.iter().copied().filter(|t| t.key.get(ENTRY) == Some(n)).collect();
    let attempted = of.first()?.key.get(CONNECTIONS)?;
    let (full, short): (Vec<&Trial>, Vec<&Trial>) =
        of.iter().copied().partition(|t| t.results.get(HELD).is_some_and(|held| held >= f64::from(attempted)));
    let mut text = format!("Entry {n}: {} of {} hold all {attempted} connections", full.len(), of.len());
    if !short.is_empty() {
        let held = |t: &&Trial| format!("{} {}", t.label, t.results.get(HELD).unwrap_or(0.0));
        text += &format!(" (fewer: {})", short.iter().map(held).collect::<Vec<_>>().join(", "));
    }
    text += &most_through(&full);
    text += &least_processor(&full);
    text += &limits(&of);
    Some(text + ".")
}

/// Lists the bottlenecks of the trials, the most frequent first, each with the number of its trials.
fn limits(of: &[&Trial]) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for limit in of.iter().filter_map(|t| Some(t.results.limited_by.as_ref()?.to_string())) {
        match counts.iter_mut().find(|(id, _)| *id == limit) {
            Some((_, n)) => *n += 1,
            None => counts.push((limit, 1)),
        }
    }
    counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let list: Vec<String> = counts.iter().map(|(id, n)| format!("{id} {n}")).collect();
    if list.is_empty() { String::new() } else { format!("; limited by: {}", list.join(", ")) }
}

/// Names the model with the highest throughput. If all models handle the offered load, the sentence says so and names
/// no model.
fn most_through(full: &[&Trial]) -> String {
    let through = |t: &Trial| t.results.get(BYTES_PER_S).unwrap_or(0.0);
    let mut sorted = full.to_vec();
    sorted.sort_by(|a, b| through(a).total_cmp(&through(b)));
    let (Some(least), Some(best)) = (sorted.first(), sorted.last()) else { return String::new() };
    let median = through(sorted[sorted.len() / 2]);
    if through(least) < SAME * median {
        format!("; most throughput: {}, {:.1} MB/s", best.label, through(best) / 1e6)
    } else {
        format!(", and all of these serve what is offered, {:.1} MB/s", median / 1e6)
    }
}

/// Returns words that name two I/O models (methods of serving many connections) with their CPU time per message. The
/// first model has the lowest CPU time per message of all models. The second model has the lowest CPU time per message
/// of the paper's six models (`SIX`). The second model is left out if it is also the first model.
fn least_processor(full: &[&Trial]) -> String {
    let least = |of: &dyn Fn(&str) -> bool| {
        let known = full.iter().filter_map(|t| Some((t.key.get(MODEL)?, cost(t)?))).filter(|(model, _)| of(model));
        known.min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let Some((best, us)) = least(&|_| true) else { return String::new() };
    let mut text = format!("; least CPU time per message: {best}, {us:.1} µs");
    if let Some((six, us)) = least(&|model| SIX.contains(&model)).filter(|(six, _)| *six != best) {
        text += &format!(" (of the source's six: {six}, {us:.1} µs)");
    }
    text
}

/// Describes two weaknesses of select with arrays: it accepts only one connection per wait, and each wait searches all
/// sockets.
fn collapse(rows: &[&Trial]) -> Vec<String> {
    let accepting = || {
        let array = row(rows, "select-array", 1)?;
        let (held, asked) = (array.results.get(HELD)?, array.key.get(CONNECTIONS)?);
        let rare = row(rows, "select-array", 2).and_then(cost).zip(row(rows, "select", 2).and_then(cost));
        let rare = rare.map_or_else(String::new, |(a, b)| {
            format!("; where few are ready at once (entry 2), a message costs it {a:.0} µs of CPU time, and select {b:.0} µs")
        });
        Some(format!(
            "select-array accepts one connection per wait, so it accepted only {held} of {asked} in entry 1{rare}."
        ))
    };
    let searching = || {
        let (all, bits) = (row(rows, "select-array:accept_all", 1)?, row(rows, "select", 1)?);
        let user = |t: &Trial| t.server.as_ref()?.costs.get("process_user_us")?.per_request.value();
        Some(format!(
            "Its searches alone (accept_all, {} held) cost {:.1} µs of user time per message in entry 1, and those of select \
             {:.1} µs: all connections that are ready at a wait share one search, so the searches only slow it down.",
            all.results.get(HELD)?,
            user(all)?,
            user(bits)?
        ))
    };
    [accepting(), searching()].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Key, LimitedBy, Results};

    fn trial(label: &str, held: f64, bytes_per_s: f64) -> Trial {
        let key = Key::default().with(ENTRY, 2).with(CONNECTIONS, 12);
        let results = Results::default().with(HELD, held).with(BYTES_PER_S, bytes_per_s);
        Trial { label: label.into(), key, results, ..Trial::default() }
    }

    #[test]
    fn models_that_hold_less_are_named_and_a_load_that_all_handle_gives_no_ranking() {
        let rows =
            [trial("a", 12.0, 2.4e6), trial("b", 12.0, 2.35e6), trial("piled up", 12.0, 4e6), trial("c", 5.0, 9e6)];
        let said = entry(&rows.iter().collect::<Vec<_>>(), 2).unwrap();
        let wanted =
            "Entry 2: 3 of 4 hold all 12 connections (fewer: c 5), and all of these serve what is offered, 2.4 MB/s.";
        assert_eq!(said, wanted);
    }

    #[test]
    fn the_most_frequent_bottleneck_comes_first() {
        let mut rows = [trial("a", 1.0, 1.0), trial("b", 1.0, 1.0), trial("c", 1.0, 1.0)];
        for (row, id) in rows.iter_mut().zip(["server-fds", "client-cpu", "client-cpu"]) {
            row.results.limited_by = Some(LimitedBy { id: id.into(), sure: true });
        }
        assert_eq!(limits(&rows.iter().collect::<Vec<_>>()), "; limited by: client-cpu 2, server-fds 1");
    }

    #[test]
    fn the_highest_throughput_is_named_unless_the_load_is_the_limit() {
        let rows = [trial("a", 12.0, 2e6), trial("b", 12.0, 1e6)];
        let said = entry(&rows.iter().collect::<Vec<_>>(), 2).unwrap();
        assert_eq!(said, "Entry 2: 2 of 2 hold all 12 connections; most throughput: a, 2.0 MB/s.");
    }
}
