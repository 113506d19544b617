//! Drawing of the chain of upstream services. The drawing contains the first few services, and each service with a full
//! resource. For each full resource, the drawing also contains the services on the path from the client to the service
//! with this resource.

use super::stop::Stop;
use crate::plot::{Chain, Link};

/// Maximum number of boxes in the drawing of the chain. On the HTML page, a table below the drawing lists all services,
/// also the services without a box.
const MAX_BOXES: usize = 12;

/// Returns the drawing of the services in `stops`.
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
    let caption = match left {
        0 => caption,
        1 => format!("{caption} 1 more is in the table."),
        _ => format!("{caption} {left} more are in the table."),
    };
    Chain { title: title(stops), caption, links: links.collect() }
}

fn title(stops: &[Stop]) -> String {
    match stops.iter().rev().find(|stop| !stop.full.is_empty()) {
        Some(stop) => format!("{} is full: {}", stop.at, stop.full),
        None => "Nothing in the chain is full".into(),
    }
}

/// Returns the indices of the services to draw, in ascending order.
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
    // With more than [`MAX_BOXES`] services, the client, the server and the services on a path to a full resource take
    // precedence. After the services with precedence, the other services get the remaining boxes, in the order of their
    // indices.
    order.sort_by_key(|at| (*at > 1 && !leads[*at], *at));
    order.truncate(MAX_BOXES);
    order.sort_unstable();
    order
}

/// Returns the name of the first process, followed by the number of the other processes.
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
    fn the_full_service_is_drawn_with_the_path_to_it() {
        let mut stops = vec![stop(None, ""), stop(Some(0), "")];
        stops.extend((0..40).map(|_| stop(Some(1), "")));
        stops.push(stop(Some(38), "one thread"));
        let drawn = chain(&stops, "elasticity", "All.".into());
        assert_eq!(drawn.links.len(), MAX_BOXES);
        assert_eq!(drawn.caption, "All. 31 more are in the table.");
        let (last, before) = (&drawn.links[MAX_BOXES - 1], &drawn.links[MAX_BOXES - 2]);
        assert_eq!((last.full.as_str(), last.from, before.from), ("one thread", Some(MAX_BOXES - 2), Some(1)));
    }
}
