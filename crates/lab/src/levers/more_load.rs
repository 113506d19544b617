//! Doubles the number of the load's connections during an experiment. If no resource is saturated, twice the
//! connections give twice the throughput.

use run::{Intensity, LOAD_LEVER, LoadPlan, Prove};

use super::lever::{Lever, LeverHost, LeverTargets, LoadPair, Pull};

pub(super) const ROW: Lever = Lever {
    id: LOAD_LEVER,
    help: "sends the same requests on twice as many connections",
    tests: &["server-concurrency", "not-saturated", "unknown"],
    needs: Prove::Default,
    always: false,
    slot_s: 0.0,
    planned: 1.0 - FACTOR as f64,
    rights: "none; as many file descriptors as connections",
    intrusion: "the server gets twice the connections of the tested load for short times, also above --connections and --max-connections",
    dose: "connections with the lever over those without it",
    undo: "the connections end with their load",
    place: LeverHost::Load,
    pull: Pull::Turns(load_pair),
};

/// Factor by which the load grows.
const FACTOR: u32 = 2;
/// Number of descriptors that a generator needs in addition to its connections.
const OTHER_DESCRIPTORS: u64 = 64;

fn load_pair(targets: &LeverTargets, load: &LoadPlan) -> Result<LoadPair, String> {
    let Intensity::Closed { connections, pipeline, think } = &load.intensity else {
        return Err("twice an offered rate could overload the server".into());
    };
    let (connections, pipeline, think) = (connections.saturating_mul(FACTOR), *pipeline, think.clone());
    let most = targets.descriptors;
    if u64::from(connections) + OTHER_DESCRIPTORS > most {
        return Err(format!("twice the load needs {connections} connections, and {most} descriptors are allowed"));
    }
    let on = LoadPlan { intensity: Intensity::Closed { connections, pipeline, think }, ..load.clone() };
    Ok(LoadPair { on, off: load.clone(), dose: ROW.planned, change: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(connections: u32) -> LoadPlan {
        let intensity = Intensity::Closed { connections, pipeline: 16, think: run::ThinkTime::default() };
        LoadPlan { intensity, threads: 1, ..LoadPlan::default() }
    }

    #[test]
    fn connections_are_doubled_and_nothing_else() {
        let targets = LeverTargets { descriptors: 1024, ..LeverTargets::default() };
        let pair = load_pair(&targets, &closed(8)).unwrap();
        assert_eq!((pair.off, pair.on, pair.dose), (closed(8), closed(16), -1.0));
        assert!(load_pair(&targets, &closed(500)).unwrap_err().contains("1000 connections"));
    }

    #[test]
    fn a_rate_that_somebody_asked_for_is_not_doubled() {
        let arrival = run::Arrival::default();
        let load: LoadPlan = serde_json::from_value(serde_json::json!({
            "intensity": {"loop": "open", "rate": 100.0, "arrival": arrival}
        }))
        .unwrap();
        let targets = LeverTargets { descriptors: 1024, ..LeverTargets::default() };
        assert!(load_pair(&targets, &load).unwrap_err().contains("overload"));
    }
}
