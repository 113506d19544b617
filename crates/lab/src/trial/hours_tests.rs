//! Tests memory use and file size of a run of twelve hours, in virtual time. Four agents send ten reports per second,
//! and the observers of client and server take two samples per second.

use probe::ColumnWriter;
use run::{CoarseHist, ErrorKind, Errors, Measured, Run, Side, Tick, TickDetail, Trial, Window};

use super::progress::Progress;

const AGENTS: usize = 4;
const INSTANCES: usize = 20;

/// Makes the progress reports of a load that lasts `hours` hours.
fn load(hours: u64) -> Progress {
    let mut progress = Progress::new(AGENTS);
    progress.stretch(0.0, hours as f64 * 3600.0, &[]);
    for tenth in 1..=hours * 36_000 {
        let t_s = tenth as f64 / 10.0;
        // In each hour, the server answers nothing for one second, and one request fails.
        let quiet = (tenth % 36_000).clamp(20_000, 20_010) - 20_000 + tenth / 36_000 * 10;
        let (completed, errors) = ((tenth - quiet) * 100, tenth / 36_000);
        for agent in 0..AGENTS {
            let detail = (tenth % 100 == 0).then(|| Box::new(detail(completed, errors)));
            let tick = Tick { t_s, completed, errors, in_flight: 8, detail, ..Tick::default() };
            progress.push(agent, tick, t_s);
        }
    }
    progress
}

fn detail(completed: u64, errors: u64) -> TickDetail {
    // Response times are spread over 40 buckets.
    let counts = (0..CoarseHist::BUCKETS).map(|at| if (60..100).contains(&at) { completed / 40 } else { 0 });
    let errors = Errors([(ErrorKind::Reset, errors)].into());
    TickDetail { errors, responses: CoarseHist::of(counts), ..TickDetail::default() }
}

/// Records the counters of one side (client or server) for `hours` hours.
fn side(hours: u64) -> Side {
    let mut writer = ColumnWriter::default();
    let slots: Vec<_> =
        (0..INSTANCES).map(|n| writer.open(&["process.rss", "process.cpu"], &format!("app:{n}"))).collect();
    writer.begin(0.0);
    for sample in 1..=hours * 7200 {
        let t_s = sample as f64 / 2.0 - 0.123_456_7;
        writer.begin_series(t_s);
        for (n, slots) in slots.iter().enumerate() {
            writer.put(*slots, 0, 1e8 + (sample % 977) as f64 * 4096.0);
            writer.put(*slots, 1, (t_s * 1e6 * (n + 1) as f64 / 21.0).round());
        }
    }
    Side { recording: writer.take(), ..Side::default() }
}

/// Returns the run, and the number of bytes that the agents' reports take in memory.
fn run_of(hours: u64) -> (Run, usize) {
    let (progress, end_s) = (load(hours), hours as f64 * 3600.0);
    let series = progress.series(0.0, end_s);
    let measured = Measured {
        window: Window { begin_s: 0.0, end_s },
        length_s: end_s,
        series_completed: series.completed,
        series_step_s: Some(series.step_s),
        series_failed: series.failed,
        silence: progress.longest_silence(0.0, end_s),
        ..Measured::default()
    };
    let trial = Trial {
        measured,
        moments: progress.moments(end_s),
        client: side(hours),
        server: Some(side(hours)),
        ..Trial::default()
    };
    (Run { trials: vec![trial], ..Run::default() }, progress.bytes())
}

#[test]
fn twelve_hours_take_the_memory_and_the_file_of_a_few_and_are_readable() {
    let runs = [1, 4, 12].map(run_of);
    let memory = runs.each_ref().map(|(_, bytes)| *bytes);
    let files = runs.each_ref().map(|(run, _)| serde_json::to_vec(run).unwrap());
    let file = files.each_ref().map(Vec::len);
    println!("after 1, 4 and 12 hours: reports {memory:?} bytes in memory, run.json {file:?} bytes");
    assert!(memory[2] < 24 << 20 && memory[2] * 10 <= memory[1] * 11, "{memory:?}");
    assert!(file[2] < 6 << 20 && file[2] * 10 <= file[1].max(file[0]) * 12, "{file:?}");
    let read: Run = serde_json::from_slice(&files[2]).unwrap();
    let trial = &read.trials[0];
    let completed: f64 = trial.measured.series_completed.iter().sum::<f64>() * trial.measured.series_step_s.unwrap();
    let sent = (12 * 36_000 - 12 * 10) * 100 * AGENTS as u64;
    assert!((completed / sent as f64 - 1.0).abs() < 0.01, "{completed} of {sent}");
    let (moments, failed) = (trial.moments.len(), trial.moments.iter().map(|m| m.failed).sum::<u64>());
    assert!((300..=402).contains(&moments) && failed >= 11 * AGENTS as u64, "{moments} stretches, {failed} failures");
    let silence = trial.measured.silence.unwrap();
    assert!((silence.length_s() - 1.0).abs() < 0.3, "a standstill keeps its length: {silence:?}");
    assert!(trial.client.recording.t_s.len() > 500, "{}", trial.client.recording.t_s.len());
}
