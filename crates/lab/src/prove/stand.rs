//! The load that an experiment on the verdict stands on.

use run::{Knee, LoadPlan};

use crate::{Lab, TargetSetup};

/// The load that an experiment stands on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stand {
    /// Connections of the closed loop.
    pub(crate) connections: u32,
    /// Good answers per second that were seen with them.
    pub(crate) rate: f64,
    /// Half of them came within this, seconds.
    pub(crate) response_s: f64,
}

impl Stand {
    /// What was seen at these connections before.
    pub(super) fn of(lab: &Lab<'_>, connections: u32) -> Self {
        let same =
            |t: &&run::Trial| matches!(t.intensity, run::Intensity::Closed { connections: n, .. } if n == connections);
        let seen = lab.run.trials.iter().rfind(same);
        let (rate, response_s) = seen.map_or((1000.0, 0.001), |t| (judge::good(t), t.latency_us.p50 / 1e6));
        Self { connections, rate, response_s }
    }

    /// The same server under fewer connections that still fill it: twice as many as it serves at a time, or four times,
    /// and 8 at least, so that no wake-up shows. The fewer, the shorter the queue and the slots. The most come first.
    pub(super) fn or_fewer(self, knee: Option<&Knee>) -> Vec<Self> {
        let served = knee.filter(|k| k.concurrency.is_finite() && k.x_max > 0.0);
        let few =
            served.map(|k| [(4.0 * k.concurrency).max(8.0), (2.0 * k.concurrency).max(2.0)]).into_iter().flatten();
        let mut all = vec![self];
        for connections in few.map(|n| n.ceil() as u32) {
            if all.last().is_some_and(|last| connections < last.connections) {
                let response_s = f64::from(connections) / self.rate;
                all.push(Self { connections, response_s, ..self });
            }
        }
        all
    }
}

/// The run's load as a closed loop.
pub(super) fn closed(setup: &TargetSetup, connections: u32) -> LoadPlan {
    let intensity = run::Intensity::Closed { connections, pipeline: 1, think: run::ThinkTime::default() };
    LoadPlan { intensity, threads: setup.load.threads.min(connections), ..setup.load.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_connections_that_still_fill_a_server_are_offered_from_the_most_down() {
        let stand = Stand { connections: 64, rate: 150.0, response_s: 0.42 };
        let knee = |concurrency| Knee { concurrency, x_max: 150.0, ..Knee::default() };
        let of = |knee: Option<&Knee>| stand.or_fewer(knee).iter().map(|s| s.connections).collect::<Vec<_>>();
        assert_eq!(
            (of(Some(&knee(3.13))), of(Some(&knee(1.1))), of(None)),
            (vec![64, 13, 7], vec![64, 8, 3], vec![64])
        );
        assert_eq!(of(Some(&knee(f64::NAN))), vec![64]);
        assert!((stand.or_fewer(Some(&knee(3.0)))[1].response_s - 0.08).abs() < 1e-9);
    }
}
