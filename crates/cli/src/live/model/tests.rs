use super::super::sides::Uses;
use super::*;
use run::{CoarseHist, Errors};

fn state(t_s: f64, completed: u64, resets: u64) -> LiveProgress {
    let mut counts = vec![0; CoarseHist::BUCKETS];
    counts[CoarseHist::bucket(1_000_000)] = completed;
    let errors = Errors([(ErrorKind::Reset, resets)].into());
    let detail = TickDetail { errors, responses: CoarseHist::of(counts), ..TickDetail::default() };
    LiveProgress { tick: Tick { t_s, completed, ..Tick::default() }, detail, ..LiveProgress::default() }
}

#[test]
fn a_moment_covers_the_time_since_the_last_one_within_a_step() {
    let mut model = Model::new("find".into(), String::new(), 30.0);
    model.phase("1 connection", 1.0);
    model.progress(state(0.2, 20, 0));
    model.progress(state(0.4, 60, 3));
    let moment = model.moment.unwrap();
    assert!((moment.completed - 200.0).abs() < 1e-6 && (moment.p50_us - 1000.0).abs() < 90.0, "{moment:?}");
    assert!(moment.p99_us.is_nan() && matches!(model.percentiles[1], TimeFigure::AtLeast(_)), "3 of 43 failed");
    assert_eq!(model.errors(), [(ErrorKind::Reset, 3)]);
    let mut trial = Trial::default();
    trial.tally.errors = Errors([(ErrorKind::Reset, 3)].into());
    trial.tally.unexpected_statuses = [("404".to_owned(), 5), ("UNAVAILABLE".to_owned(), 1)].into();
    model.trial(&trial, "1 connection\u{1b}[2J");
    assert_eq!((model.errors(), model.steps[0].contains('\u{1b}')), (vec![(ErrorKind::Reset, 3)], false));
    model.phase("2 connections", 1.0);
    let mut now = state(0.2, 40, 1);
    now.detail.unexpected_statuses = [(429, 2), (404, 1), (run::GRPC_STATUS + 14, 1)].into();
    model.progress(now);
    let statuses = [("404", 6), ("429", 2), ("UNAVAILABLE", 2)];
    assert_eq!(model.unexpected(), statuses.map(|(status, n)| (status.to_owned(), n)));
    assert!((model.moment.unwrap().completed - 200.0).abs() < 1e-6);
    assert_eq!(model.errors(), [(ErrorKind::Reset, 4)]);
    let totals = model.totals();
    assert_eq!((totals.completed, totals.detail.failed_requests(), totals.detail.responses.len()), (100, 4, 100));
}

/// In a terminal of 80 columns, an earlier version of loadline printed lines of up to 114 characters.
#[test]
fn the_line_of_a_watched_server_fits_its_room() {
    let mut model = Model::new("watch".into(), String::new(), 0.0);
    assert_eq!(model.line(70), None, "no sample yet");
    let cpu = Some(CpuKinds { user: 0.79, system: 0.16, interrupts: 0.05, ..CpuKinds::default() });
    let uses = Uses { cpus: Some(1.5), memory: Some(77.6e6), descriptors: None };
    model.sides = vec![SideNow { role: "server", cpu, uses }];
    let whole = "CPU 100 % (user 79 %, system 16 %, interrupts 5 %)  server 1.50 CPUs, 77.6 MB";
    assert_eq!(model.line(whole.len()).unwrap(), whole);
    assert_eq!(model.line(whole.len() - 1).unwrap(), "CPU 100 %  server 1.50 CPUs, 77.6 MB");
}
