//! The drawing of the chain: the first few stops, and always a full one with the way to it.

use super::stop::Stop;
use crate::plot::{Chain, Link};

/// Most boxes that are drawn; the table has all.
const MOST: usize = 12;

/// Returns the drawing.
pub(super) fn chain(stops: &[Stop], figure: &'static str, caption: String) -> Chain {
    let kept = kept(stops);
    let place = |at: usize| kept.iter().position(|kept| *kept == at);
    let links = kept.iter().map(|at| {
        let stop = &stops[*at];
        Link {
            name: stop.at.clone(),
            who: who(&stop.processes),
            from: stop.from.and_then(place),
            joined: stop.connections.clone(),
            busy: stop.busy.clone(),
            follows: stop.follows.map(|estimate| (figure, estimate)),
            full: stop.full.into(),
        }
    });
    let left = stops.len() - kept.len();
    let caption = if left == 0 { caption } else { format!("{caption} {left} more are in the table.") };
    Chain { title: title(stops), caption, links: links.collect() }
}

fn title(stops: &[Stop]) -> String {
    match stops.iter().rev().find(|stop| !stop.full.is_empty()) {
        Some(stop) => format!("{} is full: {}", stop.at, stop.full),
        None => "Nothing in the chain is full".into(),
    }
}

/// Returns the indices of the drawn stops, in order.
fn kept(stops: &[Stop]) -> Vec<usize> {
    let mut leads: Vec<bool> = stops.iter().map(|stop| !stop.full.is_empty()).collect();
    for at in (0..stops.len()).rev().filter(|at| leads[*at]).collect::<Vec<_>>() {
        let mut before = stops[at].from;
        while let Some(from) = before {
            leads[from] = true;
            before = stops[from].from;
        }
    }
    let mut order: Vec<usize> = (0..stops.len()).collect();
    // Stops whose source is drawn; of the others the first ones.
    order.sort_by_key(|at| (*at > 1 && !leads[*at], *at));
    order.truncate(MOST);
    order.sort_unstable();
    order
}

/// Returns the first process and the number of others.
pub(super) fn who(processes: &[String]) -> String {
    match processes {
        [] => String::new(),
        [one] => one.clone(),
        [one, more @ ..] => format!("{one} and {} more", more.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(from: Option<usize>, full: &'static str) -> Stop {
        Stop { from, full, ..Stop::default() }
    }

    #[test]
    fn of_many_the_full_one_is_drawn_with_all_that_leads_to_it() {
        let mut stops = vec![stop(None, ""), stop(Some(0), "")];
        stops.extend((0..40).map(|_| stop(Some(1), "")));
        stops.push(stop(Some(38), "one thread"));
        let drawn = chain(&stops, "elasticity", "All.".into());
        assert_eq!(drawn.links.len(), MOST);
        assert_eq!(drawn.caption, "All. 31 more are in the table.");
        let (last, before) = (&drawn.links[MOST - 1], &drawn.links[MOST - 2]);
        assert_eq!((last.full.as_str(), last.from, before.from), ("one thread", Some(MOST - 2), Some(1)));
    }
}
