//! Unchanged runs in the format `loadline-run/1` as version 0.1.0 wrote them. They must load, match the schema, and
//! keep every name and value when they are saved again.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use loadline_run::{load_run, schema};
use serde_json::Value;

const FIXTURES: [&str; 7] = [
    "find.json",
    "io-models.json",
    "open-loop-repeats.json",
    "users.json",
    // Later runs of version 0.1.0, shortened: experiments whose trials have typed fields for settings and measurements.
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

/// Collects the paths in `old` that are missing or different in `new`. Additional paths in `new` are fine.
fn lost(old: &Value, new: Option<&Value>, at: &str, found: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(fields), Some(Value::Object(now))) => {
            fields.iter().for_each(|(name, value)| lost(value, now.get(name), &format!("{at}.{name}"), found));
        }
        (Value::Array(items), Some(Value::Array(now))) if items.len() == now.len() => {
            items.iter().zip(now).enumerate().for_each(|(i, (a, b))| lost(a, Some(b), &format!("{at}[{i}]"), found));
        }
        (Value::Number(a), Some(Value::Number(b))) if a.as_f64() == b.as_f64() => {}
        (_, Some(new)) if old == new => {}
        _ => found.push(format!("{at}: {old} became {new:?}")),
    }
}

#[test]
fn old_runs_load_and_nothing_of_them_is_lost() {
    for name in FIXTURES {
        let (old, run) = (stored(name), load_run(&fixture(name)).unwrap());
        let mut found = Vec::new();
        lost(&old, Some(&serde_json::to_value(run).unwrap()), "run", &mut found);
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
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
