//! A load test without a generator: the counters of a server under external load.

use std::time::{Duration, Instant};

use run::{LoadPart, Tick, Trial, Window};
use sys::clock::Origin;

use crate::agents::AgentGroup;
use crate::observe::Observation;
use crate::observe::samplers::Samplers;
use crate::trial::merge;
use crate::{LiveProgress, Point, Watch};

/// Interval between checks for incidents and for a stop by the user.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Interval between updates of the live view.
const VIEW_INTERVAL: Duration = Duration::from_millis(200);

/// Minimum interval between intermediate saves.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);
/// Time from the start of the load test to the first intermediate save.
const FIRST_SAVE: Duration = Duration::from_secs(1);
/// Minimum time between two saves, as a multiple of the time that one save takes. Saving a recording of hours takes
/// long.
const MIN_SAVE_RATIO: u32 = 50;

/// Observes for the given time and updates the live view. Passes intermediate results to `keep`, because a process that
/// watches for hours may be killed.
pub(crate) fn observe_only(
    observation: &Observation,
    (interval_s, duration_s): (f64, f64),
    point: &Point,
    watch: &mut dyn Watch,
    keep: &mut dyn FnMut(Trial),
) -> Trial {
    let origin = Origin::after(Duration::ZERO);
    let samplers = observation.open(&AgentGroup::default(), origin, interval_s);
    let begin_s = samplers.edge().0;
    let (mut show_at, mut keep_at) = (Instant::now(), Instant::now() + FIRST_SAVE);
    let ended = || samplers.incidents().iter().any(|i| point.kind.ends_with(i.kind));
    while origin.now_s() - begin_s < duration_s && !watch.stop() && !ended() {
        if watch.looks() && Instant::now() >= show_at {
            show_at = Instant::now() + VIEW_INTERVAL;
            let (_, server) = samplers.glance();
            let tick = Tick { t_s: origin.now_s(), ..Tick::default() };
            watch.progress(LiveProgress { tick, server, ..LiveProgress::default() });
        }
        if Instant::now() >= keep_at {
            let began = Instant::now();
            so_far(&samplers, point, begin_s).into_iter().for_each(&mut *keep);
            keep_at = Instant::now() + SAVE_INTERVAL.max(MIN_SAVE_RATIO * began.elapsed());
        }
        std::thread::sleep(CHECK_INTERVAL);
    }
    let end_s = samplers.edge().1;
    let mut trial = trial(point, Window { begin_s, end_s });
    let incidents = samplers.close(&mut trial);
    trial.notes.extend(incidents.iter().map(|i| i.text.clone()));
    trial.incidents = incidents;
    trial
}

/// Returns true if the user ended an observation before its planned end. An observation without a planned end is
/// complete when the user ends it.
pub(crate) fn is_cut_short(trial: &Trial, duration_s: f64, by_user: bool) -> bool {
    by_user && duration_s < run::MAX_DURATION_S && trial.measured.length_s < duration_s
}

fn trial(point: &Point, window: Window) -> Trial {
    let mut trial = merge::trial(point, &[], LoadPart::default(), window);
    trial.measured.length_s = window.length_s();
    trial
}

/// Returns the load test up to the newest sample; `None` if there are fewer than two samples.
fn so_far(samplers: &Samplers, point: &Point, begin_s: f64) -> Option<Trial> {
    let server = samplers.server_so_far()?;
    let end_s = server.recording.t_s.last().copied().filter(|end_s| *end_s > begin_s)?;
    Some(Trial {
        server: Some(server),
        databases: samplers.databases_so_far(),
        ..trial(point, Window { begin_s, end_s })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_observation_with_a_planned_end_can_be_cut_short() {
        let of = |length_s: f64, duration_s: f64, by_user: bool| {
            let point = Point::default();
            is_cut_short(&trial(&point, Window { begin_s: 0.5, end_s: 0.5 + length_s }), duration_s, by_user)
        };
        assert!(of(2.0, 9.0, true));
        assert!(!of(2.0, 9.0, false), "the server ended");
        assert!(!of(9.1, 9.0, true), "the user stopped it after its end");
        assert!(!of(2.0, run::MAX_DURATION_S, true), "it lasts until the user ends it");
    }
}
