//! A trial in which nothing is sent: the counters of a server that somebody else loads.

use std::time::{Duration, Instant};

use run::{LoadPart, Tick, Trial, Window};
use sys::clock::Origin;

use crate::agent::AgentGroup;
use crate::observation::Observation;
use crate::{Point, Progressing, Watch, merge};

/// Between two looks at the user's wish to stop and at the processes.
const LOOK: Duration = Duration::from_millis(50);
/// Between two showings of the newest samples.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// Looks for a while, and shows what there is to see.
pub(crate) fn look(
    observation: &Observation,
    (interval_s, duration_s): (f64, f64),
    point: &Point,
    watch: &mut dyn Watch,
) -> Trial {
    let origin = Origin::after(Duration::ZERO);
    let samplers = observation.open(&AgentGroup::default(), origin, interval_s);
    let begin_s = samplers.edge().0;
    let mut show_at = Instant::now();
    let ended = || samplers.incidents().iter().any(|i| i.kind.breaks());
    while origin.now_s() - begin_s < duration_s && !watch.stop() && !ended() {
        if watch.looks() && Instant::now() >= show_at {
            show_at = Instant::now() + SHOWN_EVERY;
            let [_, server] = samplers.glance();
            let tick = Tick { t_s: origin.now_s(), ..Tick::default() };
            watch.progress(Progressing { tick, server, ..Progressing::default() });
        }
        std::thread::sleep(LOOK);
    }
    let end_s = samplers.edge().1;
    let mut trial = merge::trial(point, &[], LoadPart::default(), Window { begin_s, end_s });
    trial.measured.length_s = end_s - begin_s;
    let incidents = samplers.close(&mut trial);
    trial.notes.extend(incidents.iter().map(|i| i.text.clone()));
    trial.incidents = incidents;
    trial
}
