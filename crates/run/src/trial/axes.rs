//! How trials stand in `run.json`: as their types are, and once more with `axes`, the figures of [`Key`] and [`Results`](crate::Results)
//! by name, which programs read since before those were types. Runs of that time have `axes` alone: their figures are put
//! into the fields of the same names, and what else their labels and notes said into the fields that say it now. This is
//! the only place that reads either.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Key, LimitedBy, Trial, TrialKind};

impl Trial {
    /// All figures of the key and the results, by name, and those that this version does not know.
    pub fn axes(&self) -> BTreeMap<&str, f64> {
        let mut axes: BTreeMap<&str, f64> = self.results.other.iter().map(|(name, v)| (name.as_str(), *v)).collect();
        for (name, value) in self.key.figures().chain(self.results.figures()) {
            axes.insert(name, value);
        }
        axes
    }

    fn take_axes(&mut self, axes: BTreeMap<String, Option<f64>>) {
        for (name, value) in axes {
            let value = value.unwrap_or(f64::NAN);
            if !self.key.take(&name, value) && !self.results.take(&name, value) {
                self.results.other.insert(name, value);
            }
        }
    }

    /// What older runs said in words only.
    fn take_words(&mut self) {
        const LIMITED: &str = "what limited it: ";
        let limited = self.notes.iter().find_map(|note| note.strip_prefix(LIMITED)?.split_whitespace().next());
        self.results.limited_by = limited.map(LimitedBy::of_word);
        let line = self.label.split(", ").next().unwrap_or_default();
        let name = line.split(' ').next().unwrap_or_default();
        self.key.line = Some(line.into());
        self.key.backend = self.key.array_max.map(|_| name.into());
        self.key.model = (self.key.entry.is_some() || self.results.other.contains_key("model")).then(|| name.into());
    }
}

/// One operating point. The counts at the top are of the whole trial, from the first connect to the end of the drain, so
/// they equal what the server's own log says; rates and latencies are of the measured window.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Trial"))]
pub(crate) struct Written<'a> {
    #[serde(flatten)]
    trial: &'a Trial,
    /// All figures of `key` and `results` by name, and those of newer versions or other programs.
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
        trial.take_axes(self.axes);
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
    use crate::{Intensity, Results, Run};

    fn again(run: &Run) -> Run {
        serde_json::from_str(&serde_json::to_string(run).unwrap()).unwrap()
    }

    #[test]
    fn a_name_is_of_the_key_or_of_the_results() {
        let names = |value: &serde_json::Value| value["properties"].as_object().unwrap().keys().cloned().collect();
        let key: Vec<String> = names(&schemars::schema_for!(Key).to_value());
        let results: Vec<String> = names(&schemars::schema_for!(Results).to_value());
        assert!(key.len() > 20 && results.len() > 60);
        assert!(key.iter().all(|name| !results.contains(name)), "{key:?}");
    }

    #[test]
    fn figures_stand_in_run_json_by_type_and_by_name() {
        let mut trial = Trial { kind: TrialKind::Experiment, label: "epoll, 750 cold".into(), ..Trial::default() };
        (trial.key.cold, trial.key.syncookies, trial.results.trimmed_us) = (Some(750), Some(true), Some(1.5));
        trial.key.loads = vec![Intensity::default(); 2];
        let run = Run { trials: vec![trial], ..Run::default() };
        let written = serde_json::to_value(&run).unwrap();
        assert_eq!(
            written["trials"][0]["axes"],
            serde_json::json!({"cold": 750.0, "syncookies": 1.0, "trimmed_us": 1.5})
        );
        assert_eq!(written["trials"][0]["key"]["cold"], 750);
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
        let trial = older("epoll 32 clients, array_max 10", r#"{"array_max":10.0,"clients":32.0,"saturated":1.0}"#);
        assert_eq!((trial.key.array_max, trial.key.clients, trial.results.saturated), (Some(10), Some(32), Some(true)));
        assert_eq!(
            (trial.key.line.as_deref(), trial.key.backend.as_deref()),
            (Some("epoll 32 clients"), Some("epoll"))
        );
        let limited = trial.results.limited_by.unwrap();
        assert!(limited.id == "client-cpu" && !limited.sure && limited.to_string() == "client-cpu?");
        let wan = older("blocking 2 % loss, 10 ms", r#"{"model":0.0,"delay_ms":10.0}"#);
        assert_eq!((wan.key.model.as_deref(), wan.key.delay_ms), (Some("blocking"), Some(10.0)));
    }

    #[test]
    fn figures_that_fit_no_field_are_kept_by_name() {
        let trial = older("x", r#"{"furlongs":3.0,"clients":1.5,"record_bytes":-1.0}"#);
        assert_eq!((trial.key.clients, trial.key.record_bytes), (None, None));
        let other: Vec<(&str, f64)> = trial.axes().into_iter().collect();
        assert_eq!(other, [("clients", 1.5), ("furlongs", 3.0), ("record_bytes", -1.0)]);
    }
}
