//! The flag `--rate`: a constant rate, or stages in which the rate changes over time.

use run::Stage;

use super::units;

/// Parsed value of `--rate`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rate {
    /// Mean rate over all stages, requests per second.
    pub(crate) mean: f64,
    /// Stages over time; empty for a constant rate.
    pub(crate) stages: Vec<Stage>,
    /// True if the stages repeat: after the last stage, the first stage begins again.
    repeats: bool,
}

/// Number of straight pieces that approximate one period of a sine.
const PIECES: u32 = 32;
/// Accepted forms of a rate, for the error message.
const WRITTEN: &str = "forms: 5000 or 5k (per second), 100..5000/60s (a ramp), 100,200,400/10s (steps of 10 s), \
                       sine:100..500/20s (a period of 20 s) or spike:100..1000/30s,2s (every 30 s for 2 s)";

/// Parses the value of `--rate`.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let bad = |why: String| format!("{text:?}: {why}; {WRITTEN}");
    let (kind, rest) = text.split_once(':').unwrap_or(("", text));
    if kind.is_empty() && !rest.contains("..") && !rest.contains(',') {
        return units::rate(text).map(even).map_err(|why| format!("{why}; {WRITTEN}"));
    }
    let parsed = match kind {
        "" if rest.contains("..") => {
            span(rest).map(|((from, to), times)| (vec![Stage { seconds: times, from, to }], false)).map(course)
        }
        "" => steps(rest).map(|stages| course((stages, false))),
        "sine" => span(rest).map(|((low, high), period)| course((sine(low, high, period), true))),
        "spike" => spike(rest).map(|stages| course((stages, true))),
        other => {
            let near =
                run::nearest(other, ["sine", "spike"]).map_or(String::new(), |n| format!("; did you mean {n}:?"));
            Err(format!("no shape of a rate is called {other:?}{near}"))
        }
    };
    let rate = parsed.map_err(&bad)?;
    if rate.mean > 0.0 { Ok(rate) } else { Err(bad("it makes no request".into())) }
}

fn even(rate: f64) -> Rate {
    Rate { mean: rate, stages: Vec::new(), repeats: false }
}

fn course((stages, repeats): (Vec<Stage>, bool)) -> Rate {
    Rate { mean: mean(&stages), stages, repeats }
}

fn mean(stages: &[Stage]) -> f64 {
    stages.iter().map(Stage::requests).sum::<f64>() / seconds(stages)
}

fn seconds(stages: &[Stage]) -> f64 {
    stages.iter().map(|stage| stage.seconds).sum()
}

/// Parses a range of rates with a duration, `100..500/20s`. Returns the two rates of the range, and the duration in
/// seconds.
fn span(text: &str) -> Result<((f64, f64), f64), String> {
    let (rates, time) = text.rsplit_once('/').ok_or("it needs a duration: 100..3000/20s")?;
    let (from, to) = rates.split_once("..").ok_or("it needs .. between two rates: 100..3000/20s")?;
    let seconds = units::seconds(time)?;
    if seconds > 0.0 { Ok(((one(from)?, one(to)?), seconds)) } else { Err("its duration is 0".into()) }
}

/// Parses one rate, which may be 0.
fn one(text: &str) -> Result<f64, String> {
    if text.trim() == "0" { Ok(0.0) } else { units::rate(text.trim()) }
}

fn steps(text: &str) -> Result<Vec<Stage>, String> {
    let without_commas = text.replace(',', "");
    let (rates, time) = match text.rsplit_once('/') {
        Some(parts) => parts,
        None if units::rate(&without_commas).is_ok() => {
            return Err(format!("for one rate, write {without_commas}; steps need a duration: 100,200,400/10s"));
        }
        None => return Err("it needs a duration: 100,200,400/10s".into()),
    };
    let seconds = units::seconds(time)?;
    if seconds <= 0.0 {
        return Err("its duration is 0".into());
    }
    rates.split(',').map(|rate| one(rate).map(|rate| Stage { seconds, from: rate, to: rate })).collect()
}

/// Returns the stages of one period of a sine, which begins and ends at the low rate.
fn sine(low: f64, high: f64, period: f64) -> Vec<Stage> {
    let at = |piece: u32| {
        let turn = std::f64::consts::TAU * f64::from(piece) / f64::from(PIECES);
        low + (high - low) * (1.0 - turn.cos()) / 2.0
    };
    (0..PIECES).map(|i| Stage { seconds: period / f64::from(PIECES), from: at(i), to: at(i + 1) }).collect()
}

/// Parses a spike. `100..1000/30s,2s` means periods of 30 s, with the high rate in the last 2 s and the low rate
/// before.
fn spike(text: &str) -> Result<Vec<Stage>, String> {
    let (span_text, length) = text.rsplit_once(',').ok_or("it needs the length of the spike: 100..1000/30s,2s")?;
    let (((low, high), every), length) = (span(span_text)?, units::seconds(length)?);
    if !(length > 0.0 && length < every) {
        return Err("a spike must be shorter than its period".into());
    }
    let stage = |seconds, rate| Stage { seconds, from: rate, to: rate };
    Ok(vec![stage(every - length, low), stage(length, high)])
}

impl Rate {
    /// Returns the stages of a load, and the load's duration in seconds. With `duration_s`, repeating stages fill this
    /// duration. Without `duration_s`, the load lasts for one pass through all stages. Fails if `duration_s` would cut
    /// off stages that do not repeat.
    pub(crate) fn over(&self, duration_s: Option<f64>) -> Result<(Vec<Stage>, f64), String> {
        let once = seconds(&self.stages);
        let duration_s = duration_s.unwrap_or(once);
        if !self.repeats && duration_s < once {
            return Err(format!(
                "--duration {duration_s} s is shorter than the stages of --rate, which take {once} s: leave it out, or \
                 shorten the stages"
            ));
        }
        let times = if self.repeats { (duration_s / once).ceil().clamp(1.0, 10_000.0) as usize } else { 1 };
        Ok((std::iter::repeat_n(&self.stages, times).flatten().copied().collect(), duration_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn courses_have_their_means_and_lengths() {
        for (text, mean, length) in [
            ("5k", 5000.0, 0.0),
            ("100..500/60s", 300.0, 60.0),
            ("0..100/1m", 50.0, 60.0),
            ("100,200,600/10s", 300.0, 30.0),
            ("sine:100..500/20s", 300.0, 20.0),
            ("spike:100..1000/30s,3s", 190.0, 30.0),
        ] {
            let read = rate(text).unwrap();
            assert!((read.mean - mean).abs() < 1e-6 * mean, "{text}: {}", read.mean);
            assert!((seconds(&read.stages) - length).abs() < 1e-9, "{text}");
        }
        let (stages, length) = rate("spike:1..10/10s,1s").unwrap().over(Some(25.0)).unwrap();
        assert_eq!((stages.len(), length), (6, 25.0));
        assert_eq!(rate("1..10/10s").unwrap().over(Some(25.0)).unwrap().0.len(), 1);
        let cut = rate("100,200,400/1s").unwrap().over(Some(1.0)).unwrap_err();
        assert!(cut.contains("which take 3 s"), "{cut}");
    }

    #[test]
    fn errors_on_rates_say_how_to_write_one() {
        for (text, says) in [
            ("fast", "100..5000/60s"),
            ("100..5000", "needs a duration"),
            ("100..5000/60", "no unit"),
            ("sin:1..2/3s", "did you mean sine:?"),
            ("spike:1..2/3s,4s", "shorter than"),
            ("0..0/3s", "no request"),
            ("1,2,x/3s", "not a rate"),
            ("1,000", "for one rate, write 1000"),
            ("1,x", "it needs a duration"),
            ("1..2/0s", "its duration is 0"),
        ] {
            let refused = rate(text).unwrap_err();
            assert!(refused.contains(says), "{text}: {refused}");
        }
    }
}
