//! Checks of a plan's request set, and the speed of its recorded times.

use anyhow::ensure;
use run::{DataOrder, Intensity, Plan, Protocol, STATEMENT_METHOD};

/// Message for a speed without recorded times.
const NO_TIMES: &str = "--speed needs recorded times: give --replay with a log that has times, --arrivals, or \
                        --requests with a HAR file and without --order";

/// Sets the speed for the replay of recorded times. If the user gave no speed, drops the recorded times. Fails
/// for a speed without recorded times, and for a rate with stages in a command other than `load`.
pub(crate) fn in_time(plan: &mut Plan, speed: Option<f64>) -> anyhow::Result<()> {
    ensure!(plan.command == "load" || plan.load.stages.is_empty(), "only `loadline load` takes a rate with stages");
    let Some(set) = &mut plan.load.requests else {
        ensure!(speed.is_none(), "{NO_TIMES}");
        return Ok(());
    };
    let Some(speed) = speed else {
        set.recorded = None;
        return Ok(());
    };
    let Some(times) = &mut set.recorded else { anyhow::bail!("{NO_TIMES}") };
    ensure!(
        times.items.len() > 1,
        "fewer than two of the recorded requests have a time that can be read, so they cannot be replayed in time"
    );
    times.speed = speed;
    Ok(())
}

/// Parses one method of `--allow`.
pub(crate) fn method(text: &str) -> Result<String, String> {
    match run::is_token(text) {
        true => Ok(text.into()),
        false => Err("not a method: write words such as POST,PUT".into()),
    }
}

/// If each row of data may be used only once (`unique`), checks that there are enough rows for all requests. With
/// `unique`, fails for any load except the open loop of `load`, because the number of requests of other loads is
/// unknown.
pub(crate) fn enough_rows(plan: &Plan) -> anyhow::Result<()> {
    let data = plan.load.requests.as_ref().and_then(|set| set.data.as_ref());
    if data.is_none_or(|data| data.order != DataOrder::Unique) {
        return Ok(());
    }
    let rate = match plan.load.intensity {
        Intensity::Open { rate, .. } if plan.command == "load" => rate,
        _ => anyhow::bail!(
            "--data-order unique needs `load --rate R`: the number of requests of another load is unknown"
        ),
    };
    // The number of random arrivals may exceed its mean, so the check adds five standard deviations. One more row is
    // needed for the test request, which is sent before the load.
    let needs = rate * (plan.load.duration_s + plan.load.warmup_s + SPARE_S);
    let (rows, needs) = (plan.load.secrets.rows(), (needs + 5.0 * needs.sqrt()).ceil() as usize + 1);
    ensure!(
        rows >= needs,
        "{rows} rows of data are too few for up to {needs} requests; give more rows, or --data-order cycle"
    );
    Ok(())
}

/// Maximum time by which a load lasts longer than planned, seconds. The check that a data file has enough rows adds
/// this time to the planned time.
const SPARE_S: f64 = 0.5;

/// Checks that the target accepts the request set: HTTP requests for an HTTP target, statements for PostgreSQL. Fails
/// if another flag sets a method or a body.
pub(crate) fn check(plan: &Plan, single: &[&str]) -> anyhow::Result<()> {
    let Some(set) = &plan.load.requests else { return Ok(()) };
    let are_statements = |expected: bool| set.requests.iter().all(|r| (r.method == STATEMENT_METHOD) == expected);
    match &plan.load.protocol {
        Protocol::Postgres { .. } => {
            ensure!(are_statements(true), "a postgres:// target takes statements: give them with --statements FILE");
        }
        protocol => ensure!(
            protocol.http().is_some(),
            "sets of requests, and placeholders such as {{{{seq}}}}, are for http:// and https:// targets, not for {}: give one whole message instead (--body FILE, if the protocol has it)",
            protocol.name()
        ),
    }
    ensure!(
        plan.load.protocol.http().is_none() || are_statements(false),
        "statements are for databases: give a target such as postgres://USER@HOST/DATABASE"
    );
    ensure!(
        single.is_empty(),
        "--{} is for a single request; in a set of requests, write it into the file",
        single.first().copied().unwrap_or_default()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use run::{RecordedTimes, RequestSet};

    use super::*;

    #[test]
    fn a_method_is_one_word() {
        assert_eq!(method("POST"), Ok("POST".into()));
        assert!(method("DE LETE").is_err() && method("").is_err());
    }

    #[test]
    fn only_recorded_times_take_a_speed() {
        let plan = |recorded: Option<RecordedTimes>| {
            let mut plan = Plan { command: "load".into(), ..Plan::default() };
            plan.load.requests = Some(RequestSet { recorded, ..RequestSet::default() });
            plan
        };
        let times = |n: u16| RecordedTimes { gaps_us: vec![1; n.into()], items: (0..n).collect(), speed: 0.0 };
        let why = |recorded| in_time(&mut plan(recorded), Some(2.0)).unwrap_err().to_string();
        assert!(why(None).contains("a HAR file") && why(Some(times(1))).contains("fewer than two"));
        let mut two = plan(Some(times(2)));
        in_time(&mut two, Some(2.0)).unwrap();
        assert_eq!(two.load.requests.unwrap().recorded.unwrap().speed, 2.0);
        let mut without_speed = plan(Some(times(2)));
        in_time(&mut without_speed, None).unwrap();
        assert_eq!(without_speed.load.requests.unwrap().recorded, None);
    }
}
