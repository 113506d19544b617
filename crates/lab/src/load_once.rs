//! `loadline load`: one trial at one fixed intensity.

use std::path::Path;

use run::{Intensity, Plan, Run, TrialKind};

use crate::conduct::Load;
use crate::{Ground, Lab, LabError, Local, Point, Watch};

/// Loads the plan's target once, as the plan says.
pub fn load(plan: Plan, out: Option<&Path>, watch: &mut dyn Watch) -> Result<Run, LabError> {
    let mut lab = Lab::begin(plan, out, watch)?;
    let ground = Ground::prepare(&mut lab)?;
    let rest_s = lab.run.plan.observe.at_rest_s;
    lab.rest(&ground.scene, rest_s);
    if !lab.stopped() {
        let point = Point {
            label: label(&ground.load.intensity),
            kind: TrialKind::Fixed,
            within_us: lab.run.plan.objective.p99_us,
            ..Point::default()
        };
        let loads = [Load { host: &Local::default(), addr: ground.addr, plan: ground.load.clone() }];
        let cold = lab.run.plan.cold.clone();
        let held = (cold.connections > 0).then(|| lab.open_cold(&cold, ground.addr)).transpose()?;
        let mut trial = lab.conduct(&ground.scene, &loads, &point)?;
        if let Some(held) = held {
            crate::cold::put(&mut trial, cold.connections, &held.close());
        }
        lab.keep(trial)?;
    }
    lab.finish()
}

fn label(intensity: &Intensity) -> String {
    match intensity {
        Intensity::Closed { connections: 1, .. } => "1 connection".into(),
        Intensity::Closed { connections, .. } => format!("{connections} connections"),
        Intensity::Open { rate, .. } => format!("offered {rate}/s"),
        Intensity::SClients { descriptors, connect_timeout_ms, pace, .. } => {
            let pace = pace.as_ref().map_or(String::new(), |pace| format!(", {} connects/s", pace.rate));
            format!("{descriptors} S-Client descriptors, T = {connect_timeout_ms} ms{pace}")
        }
    }
}
