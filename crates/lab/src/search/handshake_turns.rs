//! Measurement of the cost of full and resumed TLS handshakes. Short loads with one connection per request take turns
//! with loads that keep their connections.

use run::{LoadPlan, TlsPlan, TrialKind};

use crate::search::Conductor;
use crate::search::cost_turns;
use crate::{LabError, Point};

/// Way in which a measurement uses connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Connections are kept for further requests.
    Kept,
    /// Each request has its own connection with a full handshake.
    Full,
    /// Each request has its own connection with a resumed handshake, if the server supports it.
    Resumed,
}

const KINDS: [Kind; 3] = [Kind::Full, Kind::Kept, Kind::Resumed];

/// Returns the part of a budget for measuring the cost of handshakes, seconds. Returns 0 if there is too little time,
/// if the load uses no TLS, or if it already opens a new connection for each request.
pub(crate) fn seconds(load: &LoadPlan, budget_s: f64) -> f64 {
    cost_turns::seconds(load.tls.is_some() && !load.new_connections && load.blocks.is_none(), budget_s)
}

/// Returns the seconds to reserve for measuring the cost of handshakes, including the overhead of the load tests.
pub(crate) fn reserved_s(seconds: f64, overhead_s: f64) -> f64 {
    if seconds > 0.0 { cost_turns::reserved_s(seconds, KINDS.len(), overhead_s) } else { 0.0 }
}

impl Kind {
    const fn label(self) -> &'static str {
        match self {
            Self::Kept => "kept connections",
            Self::Full => "a connection for each request",
            Self::Resumed => "a connection for each request, sessions resumed",
        }
    }

    /// Returns `load` with this use of connections and TLS sessions.
    fn applied(self, load: LoadPlan) -> LoadPlan {
        let resume = if self == Self::Resumed { 1.0 } else { 0.0 };
        // A request in early data shares packets with the handshake, so the cost of the handshake could not be measured
        // alone.
        let tls = load.tls.map(|tls| TlsPlan { resume, early_data: false, ..tls });
        let new_connections = self != Self::Kept;
        let intensity = if new_connections { load.intensity.without_pipeline() } else { load.intensity };
        LoadPlan { new_connections, intensity, tls, ..load }
    }
}

/// Conducts the loads that measure the cost of handshakes, within about `seconds` seconds.
pub(crate) fn conduct(conductor: &mut dyn Conductor, seconds: f64) -> Result<(), LabError> {
    let load = conductor.load().clone();
    let window = |kind: usize, _| {
        let kind = KINDS[kind];
        let point = Point { label: kind.label().into(), kind: TrialKind::Handshakes, ..Point::default() };
        (kind.applied(load.clone()), point)
    };
    cost_turns::conduct(conductor, seconds, "a handshake costs", KINDS.len(), window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::turn_order::{ROUNDS, back_and_forth};

    #[test]
    fn handshake_turns_need_tls_and_take_little_of_the_budget() {
        let tls = LoadPlan { tls: Some(run::TlsPlan::default()), ..LoadPlan::default() };
        assert!((seconds(&tls, 30.0) - 3.6).abs() < 1e-9);
        assert_eq!(seconds(&tls, 3.0), 0.0);
        assert_eq!(seconds(&LoadPlan { new_connections: true, ..tls }, 30.0), 0.0);
        assert_eq!(seconds(&LoadPlan::default(), 30.0), 0.0);
        let intensity = run::Intensity::Closed { connections: 1, pipeline: 8, think: Default::default() };
        let load =
            LoadPlan { tls: Some(TlsPlan { resume: 0.5, ..TlsPlan::default() }), intensity, ..LoadPlan::default() };
        for kind in [Kind::Kept, Kind::Full, Kind::Resumed] {
            let turns = (0..ROUNDS * KINDS.len()).map(|turn| KINDS[back_and_forth(turn, KINDS.len())]);
            assert_eq!(turns.filter(|each| *each == kind).count(), 3);
            let plan = kind.applied(load.clone());
            plan.check().unwrap();
            assert_eq!(
                plan.intensity.pipeline() > 1,
                kind == Kind::Kept,
                "a window of kept connections has the pipeline"
            );
            let resume = plan.tls.unwrap().resume;
            assert_eq!((plan.new_connections, resume > 0.0), (kind != Kind::Kept, kind == Kind::Resumed));
        }
    }
}
