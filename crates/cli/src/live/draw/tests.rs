use super::*;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use report::AnswerLine;
use run::{CoarseHist, Device, ErrorKind, Trial};

use super::super::sides::{CpuKinds, SideNow};

fn drawn(model: &Model, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model, "q ends", Vec::new())).unwrap();
    terminal.backend().to_string()
}

fn model() -> Model {
    let mut model = Model::new("loadline find http://127.0.0.1:8080/".into(), "step      completed".into(), 30.0);
    model.phase("16 connections", 1.5);
    for i in 0..300 {
        let p99_us = 100.0 + f64::from(i);
        let moment = Moment { seconds: 0.2, completed: 1000.0, p50_us: 90.0, p99_us, cpu: f64::NAN };
        (model.moment, model.now.tick.t_s) = (Some(moment), 0.5);
        model.history.push(moment);
    }
    let cpu = CpuKinds { user: 0.4, system: 0.3, interrupts: 0.1, ..CpuKinds::default() };
    model.sides = ["client", "server"].map(|role| SideNow { role, cpu: Some(cpu), ..SideNow::default() }).into();
    let device = |side, kind, instance: &str, busy, full| Device { side, kind, instance: instance.into(), busy, full };
    model.busiest = vec![device("server", "thread", "nginx:7", 0.97, true), device("host", "CPUs", "", 0.8, false)];
    let mut trial = Trial::default();
    trial.tally.errors.0.insert(ErrorKind::Reset, 7);
    model.trial(&trial, "8 connections");
    model.note("the sweep ended");
    let mut counts = vec![0; CoarseHist::BUCKETS];
    (1..400_u64).for_each(|i| counts[CoarseHist::bucket(i * 10_000)] += 1);
    model.now.detail.responses = CoarseHist::of(counts);
    model
}

#[test]
fn at_80_by_24_all_parts_are_shown() {
    let text = drawn(&model(), 80, 24);
    for part in [
        "loadline find",
        "30 s left at most",
        "step 2: 16 connections, warming up",
        "completed",
        "p99",
        " 1 ms ",
        "logarithmic",
        "now        1",
        "latency    ▁",
        "client CPU █",
        "server CPU █",
        "user 40 %",
        "busiest    █",
        " 97 % server thread nginx:7",
        "7 resets",
        "8 connections",
        "the sweep ended",
        "q ends",
    ] {
        assert!(text.contains(part), "{part:?} is missing:\n{text}");
    }
}

#[test]
fn the_capacity_and_the_suspect_so_far_come_first_and_keys_are_explained() {
    let mut model = model();
    model.searches = true;
    let line = |name, value, detail| AnswerLine::new(name, value, detail);
    model.so_far =
        vec![line("Rate", "810 requests/s (790 to 830)", "with p99"), line("", "server-cpu (likely):", "full")];
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| draw(frame, &model, "q ends", super::super::keys::lines(true))).unwrap();
    let text = terminal.backend().to_string();
    for part in [
        "so far     810 requests/s (790 to 830) with p99",
        "suspect    server-cpu (likely): full",
        "raise or lower",
        "q ends",
    ] {
        assert!(text.contains(part), "{part:?} is missing:\n{text}");
    }
}

#[test]
fn the_busiest_client_hosts_are_named_first() {
    let mut model = model();
    model.client_hosts = (0..7).map(|i| (format!("gen{i}"), f64::from(i) / 10.0)).collect();
    let text = drawn(&model, 80, 24);
    assert!(text.contains("clients    gen6 60 %, gen5 50 %, gen4 40 %, gen3 30 %, gen2 20 %, 2 less busy"), "{text}");
}

#[test]
fn every_size_is_drawn_and_the_least_important_parts_are_left_out_first() {
    let model = model();
    for (width, height) in [(1, 1), (10, 3), (40, 10), (80, 8), (200, 60), (300, 2)] {
        drawn(&model, width, height);
    }
    let small = drawn(&model, 80, 10);
    assert!(small.contains("now ") && small.contains("7 resets") && !small.contains("the sweep ended"), "{small}");
    drawn(&Model::new(String::new(), String::new(), 0.0), 80, 24);
}

/// The number of lines of each part must stay the same, also before the first measurement and when a new step
/// begins.
#[test]
fn no_row_jumps_while_figures_come_and_go() {
    let mut full = model();
    (full.searches, full.limit_us, full.one_host) = (true, Some(20_000.0), true);
    let mut begins = full.clone();
    begins.phase("32 connections", 1.5);
    let mut fresh = Model::new(full.title.clone(), full.steps_head.clone(), 30.0);
    fresh.searches = true;
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let rows = |model: &Model| {
            let text = drawn(model, width, height);
            let at = |label: &str| text.lines().position(|line| line.trim_start_matches('"').starts_with(label));
            ["p99 of", "time", "now", "latency", "busiest", "errors", "q ends"].map(at)
        };
        let [full, begins, fresh] = [&full, &begins, &fresh].map(rows);
        assert_eq!(full, begins, "{width} x {height}");
        assert_eq!([full[0], full[3], full[5]], [fresh[0], fresh[3], fresh[5]], "{width} x {height}");
    }
    let text = drawn(&full, 80, 24);
    assert!(text.contains("╌ limit 20 ms") && text.contains("     20 ms ╌"), "{text}");
    assert!(text.contains("host CPU   █") && text.contains("time       0 s"), "{text}");
}

/// Returns a model with the capacity and the suspected bottleneck of a real search.
fn searching() -> Model {
    let limits =
        "with median under 2.53 ms (default: 10 × unloaded; set --p50), p99 under 100 ms and errors at most 0.1 %";
    let suspect = "one thread of the server is full (loadline:31768/31772): more CPUs will not help";
    let mut model = model();
    model.searches = true;
    model.so_far = vec![
        AnswerLine::new("Rate", "4,600 requests/s (4,400 to 4,900)", limits),
        AnswerLine::new("Limited by", "server-single-thread (sure, 95 %):", suspect),
    ];
    model
}

#[test]
fn no_answer_so_far_is_cut_in_the_middle_of_a_sentence() {
    let model = searching();
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let text = drawn(&model, width, height);
        assert!(!text.contains('…'), "{text}");
        assert!(text.contains("4,600 requests/s (4,400 to 4,900)"), "{text}");
        assert!(text.contains("server-single-thread (sure, 95 %): one thread of the server is full"), "{text}");
    }
    assert!(drawn(&model, 200, 60).contains("more CPUs will not help"));
}

#[test]
fn the_longest_line_about_a_step_fits_into_80_columns() {
    let mut model = model();
    model.phase("offered 12,500/s", 1.4);
    (model.now.tick.t_s, model.now.tick.phase) = (1.9, run::Phase::Drain);
    let text = drawn(&model, 80, 24);
    assert!(text.contains("offered 12,500/s, awaiting answers, 0.0 s of about 1.4 s"), "{text}");
}

#[test]
fn a_line_that_is_too_long_ends_with_an_ellipsis() {
    let mut model = model();
    model.note("a note of many words ".repeat(9).as_str());
    let text = drawn(&model, 80, 24);
    assert!(text.lines().any(|line| line.contains("note ") && line.contains('…')), "{text}");
}

/// On a wide terminal, the list of steps is beside the current figures. The charts then get the lines that the list
/// would otherwise take.
#[test]
fn a_large_terminal_is_filled_from_the_first_step_on() {
    let text = drawn(&searching(), 200, 60);
    let lines: Vec<&str> = text.lines().map(|line| line.trim_matches('"')).collect();
    let below = lines.iter().skip_while(|line| !line.starts_with("time "));
    let blank = below.filter(|line| line.trim().is_empty()).count();
    // At most four lines are blank. Three lines are reserved: for a seventh range of times, for requests without an
    // answer and for a third device. Dividing the other lines among the charts may leave one line.
    assert!(lines.len() == 60 && blank <= 4, "{blank} blank\n{text}");
    let bars = lines.iter().find(|line| line.contains("client CPU")).unwrap();
    assert!(bars.matches(['█', '▓', '▒', '·']).count() > 40, "{bars}");
    let row = lines.iter().find(|line| line.contains("8 connections")).unwrap();
    let before = row.split("8 connections").next().unwrap();
    assert!(before.chars().count() >= 110, "{row}");
}
