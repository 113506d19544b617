//! Hosts of a testbed as places for agents, and what the medium between them did, sample by sample.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use run::Recording;
use testbed::{MediumGauge, Testbed};

use crate::{Host, LabError};

/// A host of a testbed.
#[derive(Clone, Debug)]
pub struct Guest {
    name: String,
    netns: sys::netns::Netns,
}

impl Guest {
    /// The host of this name.
    pub fn of(bed: &Testbed, name: &str) -> Result<Self, LabError> {
        let netns = bed.netns(name).map_err(|e| LabError::set_up("finding a host of the testbed", e))?;
        Ok(Self { name: name.into(), netns })
    }
}

impl Host for Guest {
    fn name(&self) -> &str {
        &self.name
    }

    fn command(&self, program: &Path) -> Result<Command, LabError> {
        let mut command = Command::new(program);
        self.netns.enter(&mut command);
        Ok(command)
    }
}

/// Samples a medium while a trial runs.
pub(crate) struct MediumEye {
    gauge: MediumGauge,
    begin: Instant,
    recording: Arc<Mutex<Recording>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl MediumEye {
    /// Starts the sampling; times count from `begin`.
    pub(crate) fn open(gauge: MediumGauge, begin: Instant, interval_s: f64) -> Option<Self> {
        let mut eye = Self { gauge, begin, recording: Arc::default(), stop: Arc::default(), thread: None };
        let (gauge, recording, stop) = (eye.gauge.clone(), Arc::clone(&eye.recording), Arc::clone(&eye.stop));
        let interval = Duration::from_secs_f64(interval_s.clamp(0.01, 3600.0));
        let run = move || {
            while !stop.load(Relaxed) {
                put(&gauge, begin, &recording);
                std::thread::park_timeout(interval);
            }
        };
        eye.thread = Some(std::thread::Builder::new().name("medium eye".into()).spawn(run).ok()?);
        Some(eye)
    }

    /// Takes a sample now; returns its time.
    pub(crate) fn sample(&self) -> f64 {
        put(&self.gauge, self.begin, &self.recording)
    }

    /// Ends the sampling.
    pub(crate) fn finish(mut self) -> Recording {
        self.end();
        std::mem::take(&mut *self.recording.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn end(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Drop for MediumEye {
    fn drop(&mut self) {
        self.end();
    }
}

fn put(gauge: &MediumGauge, begin: Instant, recording: &Mutex<Recording>) -> f64 {
    let mut recording = recording.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let t_s = now.saturating_duration_since(begin).as_secs_f64() - begin.saturating_duration_since(now).as_secs_f64();
    gauge.sample(t_s, &mut recording);
    t_s
}

/// Makes some processors the whole host of a recording: `total` becomes their sum, and as many are online. What is not
/// counted by processor (interrupts, context switches) stays that of the machine.
pub(crate) fn only_processors(recording: &mut Recording, cpus: &[u32]) {
    if cpus.is_empty() {
        return;
    }
    let names: Vec<String> = cpus.iter().map(u32::to_string).collect();
    let rows = recording.t_s.len();
    for total in 0..recording.columns.len() {
        let column = &recording.columns[total];
        if column.counter.as_str() == "cpu.online" {
            recording.columns[total].values.iter_mut().flatten().for_each(|v| *v = cpus.len() as f64);
            continue;
        }
        if column.instance != "total" || !column.counter.as_str().starts_with("cpu.") {
            continue;
        }
        let parts: Vec<_> =
            recording.columns_of(column.counter.as_str()).filter(|c| names.contains(&c.instance)).collect();
        let sum = |row: usize| {
            let values = parts.iter().map(|c| c.values.get(row).copied().flatten());
            (parts.len() == names.len()).then(|| values.sum::<Option<f64>>()).flatten()
        };
        let values = (0..rows).map(sum).collect();
        recording.columns[total].values = values;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Column, CounterId};

    #[test]
    fn a_host_is_its_own_processors() {
        let column = |id: &'static str, instance: &str, v: f64| Column {
            counter: CounterId::new(id),
            instance: instance.into(),
            values: vec![Some(v)],
        };
        let mut r = Recording { t_s: vec![0.0], ..Recording::default() };
        r.columns = vec![
            column("cpu.user", "0", 1.0),
            column("cpu.user", "1", 5.0),
            column("cpu.user", "total", 6.0),
            column("cpu.online", "", 2.0),
            column("system.interrupts", "", 9.0),
        ];
        only_processors(&mut r, &[1]);
        let now = |id: &str, instance: &str| r.column(id, instance).unwrap().values[0];
        assert_eq!((now("cpu.user", "total"), now("cpu.online", "")), (Some(5.0), Some(1.0)));
        assert_eq!(now("system.interrupts", ""), Some(9.0));
    }
}
