//! Reads the compact recordings of a stored run. A file is untrusted, so the reader checks every index. The reader
//! counts the values before it allocates memory for them, because one number in the file can stand for many values.

use super::{ColumnGroup, Samples, StoredColumns, StoredRecording, StoredRecordings};
use crate::{
    Absence, Column, CounterId, MAX_RUN_BYTES, MAX_RUN_OBJECTS, MAX_RUN_VALUES, Recording, Run, Side, counter,
};

impl StoredRecordings {
    /// Gives each side of the run its recording. If the tables of the file contradict each other, returns an error text
    /// that says how.
    pub(crate) fn unpack(self, run: &mut Run) -> Result<(), String> {
        self.unpack_within(run, &mut Room::of_a_file())
    }

    pub(super) fn unpack_within(mut self, run: &mut Run, room: &mut Room) -> Result<(), String> {
        self.groups.iter_mut().for_each(ColumnGroup::share_known_name);
        for stored in &self.sides {
            let recording = self.recording(stored, room)?;
            let side = side_mut(run, &stored.side).ok_or_else(|| format!("the run has no side {:?}", stored.side))?;
            side.recording = recording;
        }
        Ok(())
    }

    fn recording(&self, stored: &StoredRecording, room: &mut Room) -> Result<Recording, String> {
        stored.check_rows()?;
        let mut recording = Recording { t_s: stored.t_s.clone(), peaks: stored.peaks.clone(), ..Recording::default() };
        for columns in &stored.columns {
            let read = &mut recording.columns;
            match columns {
                StoredColumns::Changed(group, rows, samples) => {
                    self.columns(stored, (*group, *rows, samples), room, read)?;
                }
                StoredColumns::Unchanged(group) => {
                    let count = entry(&self.groups, *group, "group of columns")?.1.len();
                    self.columns(stored, (*group, 0, &vec![Samples::Constant(0.0); count]), room, read)?;
                }
            }
        }
        recording.absent = stored.absent.iter().map(|index| self.absence(*index, room)).collect::<Result<_, _>>()?;
        Ok(recording)
    }

    /// Reads one group of columns, all of which belong to one counter.
    fn columns(
        &self,
        stored: &StoredRecording,
        (group, rows, samples): (usize, usize, &[Samples]),
        room: &mut Room,
        read: &mut Vec<Column>,
    ) -> Result<(), String> {
        let ColumnGroup(id, instances, starts) = entry(&self.groups, group, "group of columns")?;
        let rows = rows.checked_sub(1).map(|index| entry(&stored.rows, index, "set of samples")).transpose()?;
        let count = rows.map_or(stored.t_s.len(), Vec::len);
        if instances.len() != samples.len() || starts.len() != samples.len() {
            return Err(format!("group {group} has {} columns, but {} have values", instances.len(), samples.len()));
        }
        for ((instance, start), samples) in instances.iter().zip(starts).zip(samples) {
            let instance = entry(&self.instances, *instance, "instance")?.clone();
            room.take(stored.t_s.len(), id.as_str().len() + instance.len())?;
            let values = samples.values(*start, count);
            let values = values.ok_or_else(|| format!("{id} {instance} does not have {count} values"))?;
            read.push(Column { counter: id.clone(), instance, values: stored.spread(rows, values) });
        }
        Ok(())
    }

    fn absence(&self, index: usize, room: &mut Room) -> Result<Absence, String> {
        let absence = entry(&self.absent, index, "absent counter")?;
        room.take(0, absence.counter.as_str().len() + absence.instance.len() + absence.reason.len())?;
        Ok(absence.clone())
    }
}

impl ColumnGroup {
    /// Replaces the name of a known counter by the constant name, so that its columns hold no copies of the name.
    fn share_known_name(&mut self) {
        if let Some(spec) = counter(self.0.as_str()) {
            self.0 = CounterId::new(spec.id);
        }
    }
}

impl StoredRecording {
    /// Returns an error if a set of samples refers to a sample that does not exist.
    fn check_rows(&self) -> Result<(), String> {
        match self.rows.iter().flatten().find(|row| **row >= self.t_s.len()) {
            Some(row) => Err(format!("{} has no sample {row}", self.side)),
            None => Ok(()),
        }
    }

    /// Places the values at the samples in `rows`, and `None` at the other samples. If `rows` is `None`, there is a
    /// value for every sample.
    fn spread(&self, rows: Option<&Vec<usize>>, values: Vec<f64>) -> Vec<Option<f64>> {
        let Some(rows) = rows else { return values.into_iter().map(Some).collect() };
        let mut all = vec![None; self.t_s.len()];
        for (row, value) in rows.iter().zip(values) {
            if let Some(place) = all.get_mut(*row) {
                *place = Some(value);
            }
        }
        all
    }
}

/// Numbers of values, of objects (columns and absent counters) and of bytes of names that the reader may still accept
/// from a file.
pub(super) struct Room {
    pub(super) values: usize,
    pub(super) objects: usize,
    pub(super) name_bytes: usize,
}

impl Room {
    pub(super) const fn of_a_file() -> Self {
        Self { values: MAX_RUN_VALUES, objects: MAX_RUN_OBJECTS, name_bytes: MAX_RUN_BYTES as usize }
    }

    /// Subtracts one column or one absent counter, with its values and the bytes of its names, from the numbers that
    /// the reader may still accept. Fails if the file has more columns, values or bytes of names than the reader may
    /// accept.
    fn take(&mut self, values: usize, name_bytes: usize) -> Result<(), String> {
        take(&mut self.values, values, "values")?;
        take(&mut self.objects, 1, "columns and absent counters")?;
        take(&mut self.name_bytes, name_bytes, "bytes of names")
    }
}

fn take(room: &mut usize, amount: usize, what: &str) -> Result<(), String> {
    *room = room.checked_sub(amount).ok_or_else(|| format!("its recordings have too many {what}"))?;
    Ok(())
}

fn entry<'a, T>(table: &'a [T], index: usize, what: &str) -> Result<&'a T, String> {
    table.get(index).ok_or_else(|| format!("its recordings have no {what} {index}"))
}

/// Returns the side of the run to which a JSON pointer points, such as `/trials/0/client`.
fn side_mut<'a>(run: &'a mut Run, pointer: &str) -> Option<&'a mut Side> {
    let parts: Vec<&str> = pointer.split('/').collect();
    match *parts.as_slice() {
        ["", "at_rest", index] => run.at_rest.get_mut(index.parse::<usize>().ok()?),
        ["", "trials", index, ref side @ ..] => {
            let trial = run.trials.get_mut(index.parse::<usize>().ok()?)?;
            match *side {
                ["client"] => Some(&mut trial.client),
                ["server"] => trial.server.as_mut(),
                ["client_hosts", host] => trial.client_hosts.get_mut(host.parse::<usize>().ok()?),
                _ => None,
            }
        }
        _ => None,
    }
}
