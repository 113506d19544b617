//! Old formats of trials in `run.json`. Besides the typed fields, `axes` repeats all numbers of [`Key`] and
//! [`Results`](crate::Results) by name for older programs. The oldest runs store the numbers of a trial only in `axes`.
//! If an old run has only `axes`, the reader fills the typed fields of its trials from `axes`. A reader of an old run
//! also recovers facts that only the labels and notes of the run contain. Only this file reads the old formats.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Key, LimitedBy, Trial, TrialKind};

/// Names of numeric settings in the `axes` of an old run that stores no [`Key`]. Numbers in `axes` with other names are
/// measurements, except `record_bytes`, `clients`, `cold` and [`SWITCHES`].
const SETTINGS: [&str; 14] = [
    "descriptors",
    "connections",
    "entry",
    "processes",
    "array_max",
    "full",
    "arrivals",
    "delay_ms",
    "loss",
    "offered_rate",
    "multiple",
    "mean_rate",
    "peak",
    "share",
];
/// Names of settings that are on or off, which `axes` stores as 1 or 0.
const SWITCHES: [&str; 3] = ["bare", "small_file", "syncookies"];

impl Trial {
    /// Returns all numbers of a trial's settings and results, by name.
    pub fn axes(&self) -> BTreeMap<&str, f64> {
        self.results.values.numbers().chain(self.key.numbers()).collect()
    }

    /// Stores each number of `axes` that no other field of the trial contains.
    fn take_axes(&mut self, axes: BTreeMap<String, Option<f64>>, old: bool) {
        for (name, value) in axes {
            let value = value.unwrap_or(f64::NAN);
            if self.key.has(&name) || self.results.values.has(&name) || (old && self.key.take(&name, value)) {
                continue;
            }
            self.results.values.insert(&name, value);
        }
    }

    /// Fills fields of a trial from facts that runs of older versions stored only as text.
    fn take_words(&mut self) {
        const LIMITED: &str = "what limited it: ";
        let limited = self.notes.iter().find_map(|note| note.strip_prefix(LIMITED)?.split_whitespace().next());
        self.results.limited_by = limited.map(LimitedBy::of_word);
        let line = self.label.split(", ").next().unwrap_or_default();
        let name = line.split(' ').next().unwrap_or_default().to_string();
        self.key.line = Some(line.into());
        if self.key.has("array_max") {
            self.key.values.insert("backend", name.clone());
        }
        if self.key.has("entry") || self.results.values.has("model") {
            self.key.values.insert("model", name);
        }
    }
}

impl Key {
    fn has(&self, name: &str) -> bool {
        let field = match name {
            "record_bytes" => self.record_bytes.is_some(),
            "clients" => self.clients.is_some(),
            "cold" => self.cold.is_some(),
            _ => false,
        };
        field || self.values.has(name)
    }

    /// Sets the setting `name` to `value`, for an old run that stores no [`Key`]. Returns `false` if `name` is not a
    /// setting, or if the setting cannot have this value.
    fn take(&mut self, name: &str, value: f64) -> bool {
        let whole = (value.fract() == 0.0 && (0.0..2f64.powi(53)).contains(&value)).then_some(value as u64);
        let count = || whole.and_then(|n| u32::try_from(n).ok());
        match name {
            "record_bytes" => self.record_bytes = whole,
            "clients" => self.clients = count(),
            "cold" => self.cold = count(),
            _ if SETTINGS.contains(&name) => self.values.insert(name, value),
            _ if SWITCHES.contains(&name) && [0.0, 1.0].contains(&value) => self.values.insert(name, value == 1.0),
            _ => {}
        }
        self.has(name)
    }
}

/// One load on the server. The tallies (counts) cover the whole trial, from the first connect to the end of the drain.
/// Because the tallies cover the whole trial, they agree with the server's own log. Rates and latencies cover the
/// measured window.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Trial"))]
pub(crate) struct Written<'a> {
    #[serde(flatten)]
    trial: &'a Trial,
    /// All numbers of `key` and `results` by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Option<f64>>"))]
    axes: BTreeMap<&'a str, f64>,
}

#[derive(Deserialize)]
struct Read {
    key: Option<Key>,
    #[serde(default)]
    axes: BTreeMap<String, Option<f64>>,
    #[serde(flatten)]
    trial: Trial,
}

impl Read {
    fn trial(self) -> Trial {
        let (mut trial, old) = (self.trial, self.key.is_none());
        trial.key = self.key.unwrap_or_default();
        trial.take_axes(self.axes, old);
        if old && trial.kind == TrialKind::Experiment {
            trial.take_words();
        }
        trial
    }
}

pub(crate) fn serialize<S: Serializer>(trials: &[Trial], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(trials.iter().map(|trial| Written { trial, axes: trial.axes() }))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Trial>, D::Error> {
    Ok(Vec::<Read>::deserialize(d)?.into_iter().map(Read::trial).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Intensity, Run, ValueName};

    const SYNCOOKIES: ValueName<bool> = ValueName::new("syncookies");
    const TRIMMED_US: ValueName<f64> = ValueName::new("trimmed_us");
    const DELAY_MS: ValueName<f64> = ValueName::new("delay_ms");
    const ARRAY_MAX: ValueName<u32> = ValueName::new("array_max");
    const MODEL: ValueName<String> = ValueName::new("model");
    const BACKEND: ValueName<String> = ValueName::new("backend");

    fn again(run: &Run) -> Run {
        serde_json::from_str(&serde_json::to_string(run).unwrap()).unwrap()
    }

    #[test]
    fn numbers_stand_in_run_json_by_type_and_by_name() {
        let mut trial = Trial { kind: TrialKind::Experiment, label: "epoll, 750 cold".into(), ..Trial::default() };
        trial.key = Key { cold: Some(750), ..Key::default() }.with(SYNCOOKIES, true);
        trial.results.put(TRIMMED_US, 1.5);
        trial.key.loads = vec![Intensity::default(); 2];
        let run = Run { trials: vec![trial], ..Run::default() };
        let written = serde_json::to_value(&run).unwrap();
        assert_eq!(
            written["trials"][0]["axes"],
            serde_json::json!({"cold": 750.0, "syncookies": 1.0, "trimmed_us": 1.5})
        );
        assert_eq!(written["trials"][0]["key"]["cold"], 750);
        assert_eq!(written["trials"][0]["key"]["syncookies"], true);
        assert_eq!(written["trials"][0]["results"], serde_json::json!({"trimmed_us": 1.5}));
        assert_eq!(again(&run), run, "and a label says nothing that the key does not");
    }

    fn older(label: &str, axes: &str) -> Trial {
        let text = format!(
            r#"{{"trials":[{{"label":"{label}","kind":"experiment","axes":{axes},"notes":["what limited it: client-cpu? (why)"]}}]}}"#
        );
        let run: Run = serde_json::from_str(&text).unwrap();
        assert_eq!(again(&run), run);
        run.trials.into_iter().next().unwrap()
    }

    #[test]
    fn an_older_run_has_its_figures_and_words_in_their_fields() {
        let trial = older("epoll 32 clients, array_max 10", r#"{"array_max":10.0,"clients":32.0,"syncookies":1.0}"#);
        let key = &trial.key;
        assert_eq!((key.get(ARRAY_MAX), key.clients, key.get(SYNCOOKIES)), (Some(10), Some(32), Some(true)));
        assert_eq!(
            (trial.key.line.as_deref(), trial.key.get(BACKEND).as_deref()),
            (Some("epoll 32 clients"), Some("epoll"))
        );
        let limited = trial.results.limited_by.unwrap();
        assert!(limited.id == "client-cpu" && !limited.sure && limited.to_string() == "client-cpu?");
        let wan = older("blocking 2 % loss, 10 ms", r#"{"model":0.0,"delay_ms":10.0}"#);
        assert_eq!((wan.key.get(MODEL).as_deref(), wan.key.get(DELAY_MS)), (Some("blocking"), Some(10.0)));
    }

    #[test]
    fn figures_that_fit_no_field_are_kept_by_name() {
        let trial = older("x", r#"{"furlongs":3.0,"clients":1.5,"record_bytes":-1.0}"#);
        assert_eq!((trial.key.clients, trial.key.record_bytes), (None, None));
        let other: Vec<(&str, f64)> = trial.axes().into_iter().collect();
        assert_eq!(other, [("clients", 1.5), ("furlongs", 3.0), ("record_bytes", -1.0)]);
    }
}
