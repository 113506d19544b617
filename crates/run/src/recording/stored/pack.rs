//! Writes recordings: collects all names in tables, and stores for each side the indexes of its names.

use std::collections::HashMap;

use super::samples::start_value;
use super::{ColumnGroup, Samples, StoredColumns, StoredRecording, StoredRecordings};
use crate::{Absence, Column, Recording, Run, Side};

impl StoredRecordings {
    /// Collects the recordings of all sides of a run (clients and servers) into one compact form.
    pub(crate) fn pack(run: &Run) -> Self {
        let mut packer = Packer::default();
        for (side, recording) in sides(run).map(|(name, side)| (name, &side.recording)) {
            if *recording != Recording::default() {
                let stored = packer.recording(side, recording);
                packer.stored.sides.push(stored);
            }
        }
        packer.stored
    }
}

/// Returns all sides of a run with their JSON pointers.
fn sides(run: &Run) -> impl Iterator<Item = (String, &Side)> {
    let at_rest = run.at_rest.iter().enumerate().map(|(i, side)| (format!("/at_rest/{i}"), side));
    let of_trials = run.trials.iter().enumerate().flat_map(|(i, trial)| {
        let hosts = trial.client_hosts.iter().enumerate();
        let hosts = hosts.map(move |(host, side)| (format!("/trials/{i}/client_hosts/{host}"), side));
        let server = trial.server.iter().map(move |side| (format!("/trials/{i}/server"), side));
        std::iter::once((format!("/trials/{i}/client"), &trial.client)).chain(hosts).chain(server)
    });
    at_rest.chain(of_trials)
}

/// A column, and the indexes of the samples that have a value in this column.
type Present<'a> = (&'a Column, Vec<usize>);

/// Tables of names, with the index of each name.
#[derive(Default)]
struct Packer<'a> {
    stored: StoredRecordings,
    instances: HashMap<&'a str, usize>,
    groups: HashMap<(&'a str, Vec<usize>), usize>,
    absent: HashMap<[&'a str; 3], usize>,
}

impl<'a> Packer<'a> {
    fn recording(&mut self, side: String, recording: &'a Recording) -> StoredRecording {
        let samples = recording.t_s.len();
        let mut columns: Vec<Present<'a>> = recording.columns.iter().map(|column| present(column, samples)).collect();
        columns.sort_by(|(a, _), (b, _)| a.counter.cmp(&b.counter));
        let mut sets = RowSets::new(samples);
        let together =
            |(a, rows_a): &Present<'a>, (b, rows_b): &Present<'a>| a.counter == b.counter && rows_a == rows_b;
        let columns = columns.chunk_by(together).filter_map(|group| self.columns(group, &mut sets)).collect();
        let absent = recording.absent.iter().map(|absence| self.absence(absence)).collect();
        StoredRecording {
            side,
            t_s: recording.t_s.clone(),
            rows: sets.after_first(),
            columns,
            absent,
            peaks: recording.peaks.clone(),
        }
    }

    /// Stores some columns of one counter, all of which have values at the same samples.
    fn columns(&mut self, columns: &[Present<'a>], sets: &mut RowSets) -> Option<StoredColumns> {
        let rows = &columns.first()?.1;
        let values: Vec<Vec<f64>> = columns.iter().map(|(column, rows)| values(column, rows)).collect();
        let group = self.group(columns, &values);
        let starts = self.stored.groups.get(group).map_or(&[][..], |group| group.2.as_slice());
        let samples: Vec<Samples> =
            values.iter().zip(starts).map(|(values, start)| Samples::store(values, *start)).collect();
        let set = sets.index(rows);
        Some(match set == 0 && samples.iter().all(Samples::is_start) {
            true => StoredColumns::Unchanged(group),
            false => StoredColumns::Changed(group, set, samples),
        })
    }

    /// Returns the index of the group that consists of the given columns, and adds the group if it is new. The first
    /// value of each column becomes the column's start value in a new group.
    fn group(&mut self, columns: &[Present<'a>], values: &[Vec<f64>]) -> usize {
        let instances: Vec<usize> = columns.iter().map(|(column, _)| self.instance(&column.instance)).collect();
        let Some((column, _)) = columns.first() else { return 0 };
        let groups = &mut self.stored.groups;
        *self.groups.entry((column.counter.as_str(), instances.clone())).or_insert_with(|| {
            let starts = values.iter().map(|values| start_value(values.first().copied())).collect();
            groups.push(ColumnGroup(column.counter.clone(), instances, starts));
            groups.len() - 1
        })
    }

    fn instance(&mut self, name: &'a str) -> usize {
        let names = &mut self.stored.instances;
        *self.instances.entry(name).or_insert_with(|| {
            names.push(name.into());
            names.len() - 1
        })
    }

    fn absence(&mut self, absence: &'a Absence) -> usize {
        let known = &mut self.stored.absent;
        let name = [absence.counter.as_str(), absence.instance.as_str(), absence.reason.as_str()];
        *self.absent.entry(name).or_insert_with(|| {
            known.push(absence.clone());
            known.len() - 1
        })
    }
}

fn present(column: &Column, samples: usize) -> Present<'_> {
    let known = column.values.iter().take(samples).enumerate();
    (column, known.filter(|(_, value)| value.is_some_and(f64::is_finite)).map(|(row, _)| row).collect())
}

fn values(column: &Column, rows: &[usize]) -> Vec<f64> {
    rows.iter().filter_map(|row| column.values.get(*row).copied().flatten()).collect()
}

/// Sets of samples, each with its number: a set contains the samples that have values in a column. The set of samples
/// with number 0 contains all samples.
struct RowSets(HashMap<Vec<usize>, usize>);

impl RowSets {
    fn new(samples: usize) -> Self {
        Self(HashMap::from([((0..samples).collect(), 0)]))
    }

    fn index(&mut self, rows: &[usize]) -> usize {
        if let Some(index) = self.0.get(rows) {
            return *index;
        }
        let next = self.0.len();
        self.0.insert(rows.to_vec(), next);
        next
    }

    fn after_first(self) -> Vec<Vec<usize>> {
        let mut sets: Vec<(usize, Vec<usize>)> = self.0.into_iter().map(|(rows, index)| (index, rows)).collect();
        sets.sort_unstable();
        sets.into_iter().skip(1).map(|(_, rows)| rows).collect()
    }
}
