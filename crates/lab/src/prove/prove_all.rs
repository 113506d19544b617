//! Experiment with every lever that can be used, whether it tests the verdict (the named bottleneck) or not.

use super::choose::own;
use super::operating_point::OperatingPoint;
use super::{TURNS_SHARE, further, in_turns, least_turns_s, not_tried, offered_rate, predict, slots_and_more};
use crate::levers::{LEVERS, Lever};
use crate::{Lab, LabError, TargetSetup};

/// Share of the time for the lever that was chosen to test the verdict, if this lever needs turns.
const OWN_LEVER_SHARE: f64 = 0.4;
/// Share of the time for each further lever that tests the verdict and needs turns.
const RELATED_LEVER_SHARE: f64 = 0.24;
/// Share of the time for each lever that needs turns but does not test the verdict.
const OTHER_LEVER_SHARE: f64 = 0.12;

/// Uses every usable lever under the plan's load: a closed loop of `connections`, or the offered rate. The lever that
/// tests the verdict (the named bottleneck) comes first. Each other lever that needs its own load gets a share of the
/// time, in which loads without and with it alternate (turns). The levers with time slots come last, all in one load.
pub(super) fn prove_all(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    connections: Option<u32>,
    seconds: f64,
) -> Result<(), LabError> {
    lab.save()?;
    let end_s = lab.elapsed_s() + seconds;
    let operating_point = match operating_point(lab, connections) {
        Ok(point) => point,
        Err(why) => {
            not_tried(lab, why);
            return Ok(());
        }
    };
    // At an offered rate that the server completes, there is no bottleneck to test.
    let own = if operating_point.at_rate.is_some() { None } else { own(lab, setup, &operating_point).0 };
    predict(lab, setup, own, &operating_point);
    let at_full_speed = operating_point.at_rate.is_none();
    let load = further::more_load(lab).filter(|_| at_full_speed);
    let sources = further::more_sources(lab, setup, &operating_point).filter(|_| at_full_speed);
    load.into_iter().chain(sources).for_each(|row| further::predict(lab, row));
    // Only the lever on the bottleneck can prove the verdict, so its turns come first. If nothing shows that a resource
    // is full, only more load can test the verdict, so its turns also get enough time.
    let least_s = least_turns_s(lab, &operating_point).min(seconds * TURNS_SHARE);
    let load_decides = judge::prove::may_be_unsaturated(&lab.run);
    let is_needed = |row: &Lever| is_same(own, row) || load_decides && row.id == run::LOAD_LEVER;
    for (share, row) in levers_in_turns(own, load.is_some(), &lab.run.findings.bottleneck.id) {
        let share_s = seconds * share;
        let seconds = if is_needed(row) { share_s.max(least_s) } else { share_s };
        in_turns(lab, setup, &operating_point, row, seconds)?;
    }
    let most = connections.unwrap_or(0);
    slots_and_more(lab, setup, (&[operating_point], own), |_| true, None, (most, end_s))
}

/// Returns the load of the experiment. The error gives the reason why no experiment is possible.
fn operating_point(lab: &Lab<'_>, connections: Option<u32>) -> Result<OperatingPoint, String> {
    match (connections, judge::prove::at_rate(&lab.run)) {
        (Some(connections), _) => Ok(OperatingPoint::observed(&lab.run, connections)),
        (None, Some(at_rate)) => offered_rate::dose(&at_rate).map(|_| OperatingPoint::offered(at_rate)),
        (None, None) => Err("neither one client nor the offered rate completed a request".into()),
    }
}

/// Returns the levers that need turns, each with its share of the experiment's time. The largest share comes first.
/// `own` is the lever that was chosen to test `verdict`. If `more_load` is false, the lever that adds load is left out.
fn levers_in_turns(own: Option<&Lever>, more_load: bool, verdict: &str) -> Vec<(f64, &'static Lever)> {
    let is_used = |row: &&Lever| row.pull.in_turns() && (row.id != run::LOAD_LEVER || more_load);
    let share = |row: &Lever| match is_same(own, row) {
        true => OWN_LEVER_SHARE,
        false if row.id == run::LOAD_LEVER => RELATED_LEVER_SHARE,
        false if own.is_some() && row.tests.contains(&verdict) => RELATED_LEVER_SHARE,
        false => OTHER_LEVER_SHARE,
    };
    let mut levers: Vec<_> = LEVERS.iter().filter(is_used).map(|row| (share(row), row)).collect();
    levers.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    levers
}

fn is_same(own: Option<&Lever>, row: &Lever) -> bool {
    own.is_some_and(|own| own.id == row.id)
}
