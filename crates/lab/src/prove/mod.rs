//! The experiment on the verdict: a lever is pulled and throughput watched.
//!
//! What will happen is written down before; what it means is for `judge::prove`. The verdict's own lever goes first. If it
//! needs another load, that is made in turns ([`turns`]); else it is switched in slots of one load ([`slots`]), together
//! with those that every such experiment has, since only all parts together add up to 1.

mod asked;
mod at_a_rate;
mod pulled;
mod schedule;
mod slots;
mod stand;
mod turns;

use run::{Prove, Untried};

use self::asked::{look, put_back};
use self::stand::Stand;
use crate::levers::{Altered, LEVERS, Lever, Pull, Reach, in_flight};
use crate::{Lab, LabError, TargetSetup};

/// Of the time of an experiment whose verdict has a lever of turns, the share of the turns.
const TURNS: f64 = 0.6;
/// Of the time of all levers, the share of the verdict's own lever of turns, of one that tests the verdict beside its own, and of each
/// other one.
const OWN: f64 = 0.4;
const BESIDE: f64 = 0.24;
const OTHER: f64 = 0.12;

/// Tries the verdict, with so many connections in about so many seconds. What cannot be done is said in the run's proof. The run is judged
/// by what came out when it ends.
pub(crate) fn prove(lab: &mut Lab<'_>, setup: &TargetSetup, connections: u32, seconds: f64) -> Result<(), LabError> {
    let stand = Stand::filled(&lab.run, connections);
    let (own, others) = own(lab, setup, &stand);
    begin(lab, setup, own, &stand);
    others.into_iter().for_each(|(row, why)| untried(lab, row, why));
    let mut left_s = seconds;
    if let Some(row) = own.filter(|row| row.pull.in_turns()) {
        left_s -= in_turns(lab, setup, &stand, row, seconds * TURNS)?;
        if lab.run.findings.proof.as_ref().is_some_and(|proof| proof.outcome == run::ProofOutcome::Proven) {
            return Ok(());
        }
    }
    let wanted = |row: &Lever| row.always || Some(row.id) == own.map(|own| own.id);
    let stands = stand.or_fewer(lab.run.findings.knee.as_ref());
    in_slots(lab, setup, &stands, wanted, left_s)
}

/// Pulls every lever that can be pulled under the plan's load, with so many clients or at its offered rate: the verdict's own first,
/// the others of turns for a share of the time each, then those of slots together.
pub(crate) fn prove_all(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    connections: Option<u32>,
    seconds: f64,
) -> Result<(), LabError> {
    let stand = match (connections, judge::prove::at_rate(&lab.run)) {
        (Some(connections), _) => Stand::of(&lab.run, connections),
        (None, Some(at_rate)) => Stand::offered(at_rate),
        (None, None) => {
            not_tried(lab, "neither one client nor the offered rate completed anything".into());
            return Ok(());
        }
    };
    if let Some(Err(why)) = stand.at_rate.map(|at_rate| at_a_rate::dose(&at_rate)) {
        not_tried(lab, why);
        return Ok(());
    }
    // What stops a server is not asked where it keeps up.
    let own = if stand.at_rate.is_some() { None } else { own(lab, setup, &stand).0 };
    begin(lab, setup, own, &stand);
    let suspect = own.map(|own| own.id);
    let mut of_turns: Vec<&Lever> = LEVERS.iter().filter(|row| row.pull.in_turns()).collect();
    let verdict = lab.run.findings.bottleneck.id.clone();
    let share = |row: &Lever| match Some(row.id) == suspect {
        true => OWN,
        false if own.is_some() && row.tests.contains(&verdict.as_str()) => BESIDE,
        false => OTHER,
    };
    of_turns.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let mut left_s = seconds;
    for row in of_turns {
        let share = share(row);
        left_s -= in_turns(lab, setup, &stand, row, seconds * share)?;
    }
    in_slots(lab, setup, &[stand], |_| true, left_s)
}

/// Says why no lever is pulled.
fn not_tried(lab: &mut Lab<'_>, why: String) {
    let of = judge::prove::answer_of(&lab.run.plan.objective);
    lab.run.findings.proof = Some(run::Proof { of, why, ..run::Proof::default() });
}

/// A lever that cannot be pulled, and why.
type Refused = (&'static Lever, String);

/// The lever that tries the verdict: of those that would, the first that can be pulled, else the first; and those before it.
fn own(lab: &Lab<'_>, setup: &TargetSetup, stand: &Stand) -> (Option<&'static Lever>, Vec<Refused>) {
    let suspects = judge::prove::suspects_of(&lab.run.findings.bottleneck);
    let rows: Vec<&Lever> = suspects.filter_map(|s| LEVERS.iter().find(|row| row.id == s.lever)).collect();
    let load = stand.load(setup);
    let mut refused = Vec::new();
    for row in &rows {
        match allowed(lab, row).and_then(|()| possible(lab, setup, (row, stand), &load)) {
            Ok(()) => return (Some(row), refused),
            Err(why) => refused.push((*row, why)),
        }
    }
    // Where the first is pulled all the same, it says itself why it cannot be.
    (rows.first().copied(), refused.split_off(refused.len().min(1)))
}

/// Whether a lever can be pulled on its host; the error says why not.
fn possible(
    lab: &Lab<'_>,
    setup: &TargetSetup,
    (row, stand): (&Lever, &Stand),
    load: &run::LoadPlan,
) -> Result<(), String> {
    match row.pull {
        Pull::Slots { .. } => switchable(lab, setup, (row, stand), &reach(lab, setup)),
        Pull::Offered => Err("it belongs to an offered rate (--rate)".into()),
        Pull::Turns(_) | Pull::Held { .. } => altered(lab, setup, row, load).map(drop),
    }
}

/// Whether a lever of slots can be pulled on its host.
fn switchable(lab: &Lab<'_>, setup: &TargetSetup, (row, stand): (&Lever, &Stand), reach: &Reach) -> Result<(), String> {
    let Pull::Slots { plan, look: asks, .. } = row.pull else { return Err("it is switched in turns".into()) };
    let plan = plan(reach)?;
    if let Some(at_rate) = stand.at_rate.filter(|_| plan.share == 0.0) {
        at_a_rate::leaves_room(&at_rate, row)?;
    }
    asks.map_or(Ok(()), |_| look(setup, lab.program(), row, &plan).map(drop))
}

/// Writes the prediction down; `own` is the lever that tries the verdict.
fn begin(lab: &mut Lab<'_>, setup: &TargetSetup, own: Option<&Lever>, stand: &Stand) {
    put_back(lab, setup);
    let row = own.unwrap_or(&LEVERS[0]);
    let mut proof = match stand.at_rate {
        Some(at_rate) => {
            let (of, dose) =
                (judge::prove::answer_of(&lab.run.plan.objective), at_a_rate::dose(&at_rate).unwrap_or(0.0));
            judge::prove::predicted_at_rate(&lab.run, of, dose)
        }
        None => judge::prove::predicted(&lab.run, row.id, row.planned),
    };
    if stand.at_rate.is_none() {
        let others = LEVERS.iter().filter(|other| other.always && other.id != row.id);
        proof.runner_up = others.filter_map(|other| judge::prove::runner_up(&lab.run, other.id, other.planned)).next();
    }
    let second = proof.runner_up.iter_mut().map(|second| &mut second.prediction);
    proof.prediction.iter_mut().chain(second).for_each(|p| p.at = jiff::Timestamp::now().to_string());
    lab.run.findings.proof = Some(proof);
}

/// Whether a lever may be pulled.
fn allowed(lab: &Lab<'_>, row: &Lever) -> Result<(), String> {
    if row.needs == Prove::Intrusive && lab.run.plan.search.prove != Prove::Intrusive {
        return Err("it touches the server's own limits or processes, which --prove=intrusive allows".into());
    }
    Ok(())
}

fn untried(lab: &mut Lab<'_>, row: &Lever, why: String) {
    let untried = Untried { lever: row.id.into(), why };
    lab.run.findings.proof.iter_mut().for_each(|proof| proof.untried.push(untried.clone()));
}

/// Pulls a lever of turns; the seconds that it took.
fn in_turns(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    stand: &Stand,
    row: &'static Lever,
    seconds: f64,
) -> Result<f64, LabError> {
    let begin_s = lab.elapsed_s();
    let made = allowed(lab, row).and_then(|()| altered(lab, setup, row, &stand.load(setup)));
    match made {
        Ok(altered) => {
            match turns::trial(lab, setup, stand, (row, &altered), seconds)? {
                Ok(trial) => {
                    lab.run.findings.proof.iter_mut().for_each(|proof| proof.switched.push(trial.clone()));
                }
                Err(why) => untried(lab, row, why),
            }
            lab.save()?;
        }
        Err(why) => untried(lab, row, why),
    }
    Ok(lab.elapsed_s() - begin_s)
}

/// The loads without and with a lever of turns, and what is held changed under the latter.
fn altered(lab: &Lab<'_>, setup: &TargetSetup, row: &Lever, load: &run::LoadPlan) -> Result<Altered, String> {
    let reach = reach(lab, setup);
    match row.pull {
        Pull::Turns(alter) => alter(&reach, load),
        Pull::Held { plan, load: shown, .. } => {
            let held = plan(&reach)?;
            let load = shown(&look(setup, lab.program(), row, &held)?, load);
            Ok(Altered { off: load.clone(), on: load, dose: row.planned, held: Some(held) })
        }
        Pull::Slots { .. } | Pull::Offered => Err("it is switched in slots".into()),
    }
}

fn in_slots(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    stands: &[Stand],
    wanted: impl Fn(&Lever) -> bool,
    seconds: f64,
) -> Result<(), LabError> {
    let Some(stand) = stands.first().filter(|_| !lab.stopped()) else { return Ok(()) };
    let mut reach = reach(lab, setup);
    reach.share = stand.at_rate.and_then(|at_rate| at_a_rate::dose(&at_rate).ok()).unwrap_or(0.0);
    let mut rows = Vec::new();
    for row in LEVERS.iter().filter(|row| wanted(row) && matches!(row.pull, Pull::Slots { .. })) {
        match allowed(lab, row).and_then(|()| switchable(lab, setup, (row, stand), &reach)) {
            Ok(()) => rows.push(row),
            Err(why) => untried(lab, row, why),
        }
    }
    let of = lab.run.findings.proof.as_ref().map(|proof| proof.of).unwrap_or_default();
    let found = match stand.at_rate {
        Some(at_rate) => at_a_rate::trial(lab, setup, (stand, &at_rate, of), &rows, &reach, seconds)?,
        None => slots::trial(lab, setup, stands, &rows, &reach, seconds)?,
    };
    match found {
        Ok(trial) => lab.run.findings.proof.iter_mut().for_each(|proof| proof.trials.push(trial.clone())),
        Err(why) => lab.run.findings.proof.iter_mut().for_each(|proof| said(proof, &why)),
    }
    put_back(lab, setup);
    Ok(())
}

/// Why there are no slots; what the verdict's own lever of turns has said before stays.
fn said(proof: &mut run::Proof, why: &str) {
    if proof.switched.is_empty() || !proof.of.is_throughput() {
        proof.why = why.to_owned();
    }
}

fn reach(lab: &Lab<'_>, setup: &TargetSetup) -> Reach {
    let server_pids = setup.observation.server().map(|s| s.pids.clone()).unwrap_or_default();
    let behind_pids = if server_pids.is_empty() { Vec::new() } else { behind(lab) };
    let cpus_of = |pids: &[u32]| match setup.observation.server_host() {
        None => probe::cpus_of(std::path::Path::new("/"), pids),
        // An agent there finds out which ones; here it only counts that there are some.
        Some(observer) => observer.found().cpus.clone(),
    };
    Reach {
        client_cpus: client_cpus(setup),
        // The generator's processes are told when it has begun.
        client_pids: vec![std::process::id()],
        behind_cpus: cpus_of(&behind_pids),
        behind_pids,
        server_cpus: cpus_of(&server_pids),
        server_pids,
        in_flight: in_flight(&lab.run),
        addr: setup.addr.inet(),
        dir: lab.run.plan.search.prove_dir.clone(),
        request_way: judge::prove::request_way(&lab.run),
        share: 0.0,
        keeper: setup.observation.testbed().map(|testbed| testbed.socket().to_path_buf()),
    }
}

/// CPUs of one generator.
fn client_cpus(setup: &TargetSetup) -> Vec<u32> {
    if !setup.load.cpus.is_empty() {
        return setup.load.cpus.clone();
    }
    let agents_of =
        |name: &str| setup.host().members().iter().find(|(host, _)| host.name() == name).map_or(1, |(_, n)| *n);
    let each = setup.observation.client_hosts().iter().map(|host| host.processors() / agents_of(host.host()).max(1));
    match each.min() {
        Some(fewest) => (0..fewest.max(1)).collect(),
        None => sys::limits::allowed_cpus().unwrap_or_default(),
    }
}

/// The processes that the server is said to wait for.
fn behind(lab: &Lab<'_>) -> Vec<u32> {
    let waits_for = lab.run.findings.bottleneck.waits_for.iter();
    waits_for.flat_map(|w| w.pids.iter().copied()).collect()
}
