//! Compact representation of a run's recordings in a file. The file contains the name of each counter only once. The
//! samples of each side refer to a name by its index, counted from 0. Values are stored as differences, because most
//! counters change little. A reader of the file gets back the exact values of all samples.

mod pack;
mod samples;
mod unpack;

use serde::{Deserialize, Serialize};

pub(crate) use self::samples::Samples;
use crate::figure::Figure;
use crate::{Absence, CounterId, Peak};

/// Counter samples of all sides of a run. In files of older versions, each side of a trial contains its own samples.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(crate) struct StoredRecordings {
    /// Names of instances.
    instances: Vec<String>,
    /// Groups of columns.
    groups: Vec<ColumnGroup>,
    /// Counters that could not be read, with the reasons.
    absent: Vec<Absence>,
    /// Samples of each side.
    sides: Vec<StoredRecording>,
}

impl StoredRecordings {
    /// Returns true if no side has samples.
    pub(crate) fn is_empty(&self) -> bool {
        self.sides.is_empty()
    }
}

/// Columns of one counter: the counter, the indexes of their instances in `instances`, and a start value for each
/// column.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ColumnGroup(
    CounterId,
    Vec<usize>,
    #[serde(serialize_with = "crate::short::list")]
    #[cfg_attr(test, schemars(with = "Vec<Option<f64>>"))]
    Vec<f64>,
);

/// Counter samples of one side.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
struct StoredRecording {
    /// JSON pointer of the side in the run: `/trials/3/server`.
    side: String,
    /// Time of each sample in seconds, as in [`Recording::t_s`].
    #[serde(with = "Figure::<Vec<f64>>")]
    t_s: Vec<f64>,
    /// Sets of samples, as indexes into `t_s`. A group of columns refers to set N by the number N + 1, and to all
    /// samples by 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rows: Vec<Vec<usize>>,
    /// Columns with their values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    columns: Vec<StoredColumns>,
    /// Indexes in [`StoredRecordings::absent`] of the counters that this side lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    absent: Vec<usize>,
    /// Largest values of gauges in long recordings, in which one row stands for several samples.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    peaks: Vec<Peak>,
}

/// Values of a group of columns.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum StoredColumns {
    /// Index of a group in `groups`. Every sample of a column in this group equals the column's start value.
    Unchanged(usize),
    /// Index of a group in `groups`, its set of samples (0 for all), and an entry for each column. If all values of a
    /// column are equal, the column's entry is one number: the difference from the start value. If the values of a
    /// column differ, its entry is a list with one difference per sample. In a list of differences, the first
    /// difference is from the start value, and each further one is from the sample before. If differences would not be
    /// exact, the entry of a column contains the values themselves.
    Changed(usize, usize, Vec<Samples>),
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::StoredRecordings;
    use super::unpack::Room;
    use crate::{Absence, Column, CounterId, Peak, Recording, Run, Side, Trial, parse_run};

    fn column(counter: &'static str, instance: &str, values: &[Option<f64>]) -> Column {
        Column { counter: CounterId::new(counter), instance: instance.into(), values: values.to_vec() }
    }

    /// Returns samples of one side, in which the counters begin at `start`.
    fn recording(start: f64) -> Recording {
        let all = |values: [f64; 3]| values.map(|value| Some(start + value));
        Recording {
            t_s: vec![-0.5, 0.25, 1.0],
            columns: vec![
                column("cpu.user", "0", &all([0.0, 20.0, 40.0])),
                column("cpu.user", "1", &all([0.0; 3])),
                column("thread.cpu", "nginx:7/8", &[None, Some(432.837), Some(562.119)]),
                column("thread.cpu", "nginx:7/9", &[None, Some(0.001), Some(0.001)]),
                column("thread.cpu", "nginx:7/10", &[Some(1.0 / 3.0), None, None]),
                column("of.a.newer.version", "", &[None; 3]),
            ],
            absent: vec![Absence {
                counter: CounterId::new("cgroup.cpu_quota"),
                instance: "/a".into(),
                reason: "no quota is set".into(),
            }],
            peaks: vec![Peak { counter: CounterId::new("listen.queue"), instance: "".into(), t_s: 0.3, value: 9.0 }],
        }
    }

    fn run() -> Run {
        let side = |start| Side { recording: recording(start), ..Side::default() };
        let trial = Trial {
            client: side(1e9),
            client_hosts: vec![side(5.0), side(6.0)],
            server: Some(side(2e9)),
            ..Trial::default()
        };
        Run {
            format: crate::FORMAT.into(),
            at_rest: vec![Side::default(), side(0.125)],
            trials: vec![Trial::default(), trial],
            ..Run::default()
        }
    }

    /// Sorts the columns of all recordings by counter, as in a file.
    fn sorted(mut run: Run) -> Run {
        let trials = run.trials.iter_mut();
        let sides = trials.flat_map(|t| [&mut t.client].into_iter().chain(&mut t.client_hosts).chain(&mut t.server));
        let sides = sides.chain(&mut run.at_rest);
        sides.for_each(|side| side.recording.columns.sort_by(|a, b| a.counter.cmp(&b.counter)));
        run
    }

    #[test]
    fn a_run_is_read_back_with_all_samples() {
        let text = serde_json::to_string(&run()).unwrap();
        assert_eq!(parse_run("run.json", &text).unwrap(), sorted(run()));
    }

    #[test]
    fn each_name_is_stored_once_and_values_as_differences() {
        let text = serde_json::to_string(&run()).unwrap();
        assert!(text.contains(r#""columns":[[0,0,[[0,20,20],0]],"#), "{text}");
        for name in ["cpu.user", "nginx:7/10", "no quota is set", "of.a.newer.version"] {
            assert_eq!(text.matches(name).count(), 1, "{name} in {text}");
        }
        let written: Value = serde_json::from_str(&text).unwrap();
        let (tables, sides) = (&written["recordings"], written["recordings"]["sides"].as_array().unwrap());
        let names: Vec<&Value> = sides.iter().map(|side| &side["side"]).collect();
        let trial = ["/trials/1/client", "/trials/1/client_hosts/0", "/trials/1/client_hosts/1", "/trials/1/server"];
        assert_eq!(names, [&["/at_rest/1"][..], &trial].concat());
        assert_eq!(tables["groups"][0][0], "cpu.user");
        assert_eq!(sides[1]["columns"][0], json!([0, 0, [[999_999_999.875, 20, 20], 999_999_999.875]]));
        assert!(written["trials"][1]["client"].get("recording").is_none());
    }

    #[test]
    fn samples_of_older_files_stay_in_their_sides() {
        let old = json!({ "format": crate::FORMAT, "at_rest": [{ "recording": recording(7.0) }] });
        let read = parse_run("run.json", &old.to_string()).unwrap();
        assert_eq!(read.at_rest[0].recording, recording(7.0));
    }

    /// Damages the stored recordings of a run with `change`, and returns the error that a reader of this run gets.
    fn refused(change: impl Fn(&mut Value)) -> String {
        let mut written = serde_json::to_value(run()).unwrap();
        change(&mut written["recordings"]);
        parse_run("run.json", &written.to_string()).unwrap_err().to_string()
    }

    #[test]
    fn tables_that_do_not_fit_together_are_refused() {
        let side = |r: &mut Value, field: &str, value: Value| r["sides"][0][field] = value;
        assert!(refused(|r| side(r, "side", json!("/trials/9/client"))).contains("no side \"/trials/9/client\""));
        assert!(refused(|r| side(r, "side", json!("/trials/0/server"))).contains("no side"));
        assert!(refused(|r| side(r, "columns", json!([[99, 0, []]]))).contains("no group of columns 99"));
        assert!(refused(|r| side(r, "columns", json!([[0, 0, [0]]]))).contains("has 2 columns, but 1 have values"));
        assert!(refused(|r| side(r, "columns", json!([[0, 9, [0, 0]]]))).contains("no set of samples 8"));
        assert!(refused(|r| side(r, "columns", json!([[0, 0, [[1], 0]]]))).contains("does not have 3 values"));
        assert!(refused(|r| side(r, "rows", json!([[0, 3]]))).contains("has no sample 3"));
        assert!(refused(|r| side(r, "absent", json!([4]))).contains("no absent counter 4"));
        assert!(refused(|r| r["groups"][0][1] = json!([0, 77])).contains("no instance 77"));
    }

    #[test]
    fn few_numbers_cannot_stand_for_many_values() {
        // The file of this test has five sides, each with six columns of three samples and one absent counter.
        let of_file = || Room { values: 90, objects: 35, ..Room::of_a_file() };
        let read = |mut room: Room| StoredRecordings::pack(&run()).unpack_within(&mut run(), &mut room);
        assert_eq!(read(of_file()), Ok(()));
        for (room, what) in [
            (Room { values: 89, ..of_file() }, "values"),
            (Room { objects: 34, ..of_file() }, "columns and absent counters"),
            (Room { name_bytes: 9, ..of_file() }, "bytes of names"),
        ] {
            assert_eq!(read(room), Err(format!("its recordings have too many {what}")));
        }
    }
}
