//! Stored runs in the format `loadline-run/1`, exactly as version 0.1.0 wrote them. loadline must read these runs, they
//! must match the schema, and saving them again must keep every name and value.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use loadline_run::{Hist, Recording, Run, load_run, parse_run, schema};
use serde_json::Value;

const FIXTURES: [&str; 7] = [
    "find.json",
    "io-models.json",
    "open-loop-repeats.json",
    "users.json",
    // The last runs of version 0.1.0, shortened: experiments whose trials have typed fields for settings and
    // measurements.
    "adding-clients.json",
    "event-api.json",
    "overload.json",
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn stored(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(fixture(name)).unwrap()).unwrap()
}

/// Collects the paths in `old` whose values are missing or different in `new`. Paths that occur only in `new` are not
/// collected.
fn lost(old: &Value, new: Option<&Value>, at: &str, found: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(fields), Some(Value::Object(now))) => {
            // A file written by this version of loadline stores the recordings of all sides in one place. The field
            // `recording` of a side is therefore missing.
            let fields = fields.iter().filter(|(name, _)| *name != "recording");
            fields.for_each(|(name, value)| lost(value, now.get(name), &format!("{at}.{name}"), found));
        }
        (Value::Array(items), Some(Value::Array(now))) if items.len() == now.len() => {
            items.iter().zip(now).enumerate().for_each(|(i, (a, b))| lost(a, Some(b), &format!("{at}[{i}]"), found));
        }
        (Value::Number(a), Some(Value::Number(b))) if a.as_f64() == b.as_f64() => {}
        (Value::Number(a), Some(Value::Number(b))) if is_derived(at) && is_rounded(a.as_f64(), b.as_f64()) => {}
        (_, Some(new)) if old == new => {}
        (old, None) if is_derived(at) && (is_absent(old) || is_zero(old)) => {}
        (Value::String(old), Some(Value::String(new))) if at.contains(".histograms.") && is_equal(old, new, at) => {}
        _ => found.push(format!("{at}: {old} became {new:?}")),
    }
}

/// Returns true for figures that loadline computes again from the samples. A new file stores only six digits of a
/// figure that can be computed again.
fn is_derived(path: &str) -> bool {
    path.contains(".counters.") || path.contains(".costs.")
}

/// Returns true if the histograms of an old and of a new file are equal, apart from rounding. loadline uses only a
/// summary of some histograms, such as the median. Files of this version of loadline store the times in summarized
/// histograms with only one or two digits. Because a new file stores rounded times, the summaries of an old and of a
/// new file may differ by the rounding error.
fn is_equal(old: &str, new: &str, path: &str) -> bool {
    let [old, new] = [old, new].map(|text| Hist::from_base64(text).unwrap());
    let is_summarized = ["service", "blocked", "start_error"].iter().any(|name| path.ends_with(name));
    let error = if path.ends_with("service") { 0.01 } else { 0.1 };
    let near = |q: f64| (old.quantile_us(q) - new.quantile_us(q)).abs() <= error * old.quantile_us(q);
    old == new || (is_summarized && old.len() == new.len() && [0.1, 0.5, 0.9, 0.99, 1.0].into_iter().all(near))
}

/// Returns true for a figure without a value. A new file has the reason for an absent figure only in the recording.
fn is_absent(figure: &Value) -> bool {
    figure.get("absent").is_some() || figure["per_request"].get("absent").is_some()
}

/// Returns true for a counter or a cost of 0, which a new file leaves out.
fn is_zero(figure: &Value) -> bool {
    figure.as_f64().or(figure["per_request"].as_f64()) == Some(0.0)
}

fn is_rounded(a: Option<f64>, b: Option<f64>) -> bool {
    a.zip(b).is_some_and(|(a, b)| (a - b).abs() <= 5e-6 * a.abs())
}

/// Returns the recordings of a run with their JSON pointers in a file of an older version.
fn recordings(run: &Run) -> Vec<(String, &Recording)> {
    let rest = run.at_rest.iter().enumerate().map(|(i, side)| (format!("/at_rest/{i}"), side));
    let trials = run.trials.iter().enumerate().flat_map(|(i, trial)| {
        let client = std::iter::once((format!("/trials/{i}/client"), &trial.client));
        client.chain(trial.server.iter().map(move |server| (format!("/trials/{i}/server"), server)))
    });
    rest.chain(trials).map(|(at, side)| (at + "/recording", &side.recording)).collect()
}

/// Returns a recording with its columns sorted by counter, as in a new file.
fn sorted(recording: &Recording) -> Recording {
    let mut recording = recording.clone();
    recording.columns.sort_by(|a, b| a.counter.cmp(&b.counter));
    recording
}

#[test]
fn old_runs_load_and_nothing_of_them_is_lost() {
    for name in FIXTURES {
        let (old, run) = (stored(name), load_run(&fixture(name)).unwrap());
        let text = serde_json::to_string(&run).unwrap();
        let mut found = Vec::new();
        lost(&old, Some(&serde_json::from_str(&text).unwrap()), "run", &mut found);
        let again = parse_run(name, &text).unwrap();
        for ((at, read), (_, read_again)) in recordings(&run).into_iter().zip(recordings(&again)) {
            let old = old.pointer(&at).unwrap_or_else(|| panic!("{name} has no {at}"));
            lost(old, Some(&serde_json::to_value(read).unwrap()), &at, &mut found);
            assert_eq!(*read_again, sorted(read), "{name} {at}");
        }
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

#[test]
fn a_new_file_of_an_old_run_is_less_than_half_as_long() {
    let old = std::fs::read_to_string(fixture("find.json")).unwrap();
    let new = serde_json::to_string(&load_run(&fixture("find.json")).unwrap()).unwrap();
    assert!(new.len() < old.len() / 2, "{} bytes were {}", new.len(), old.len());
}

#[test]
fn old_runs_fit_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for name in FIXTURES {
        let mut run = stored(name);
        let errors: Vec<String> = validator.iter_errors(&run).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        run["trials"][0]["sent"] = "many".into();
        assert!(!validator.is_valid(&run), "the schema accepts words for a count, so it proves nothing");
    }
}
