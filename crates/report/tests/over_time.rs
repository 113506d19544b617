//! Tests of the report on a load whose rate changes, and on a request mix. The tests check the charts over time, which
//! show both client and server, and the table of classes.

#![allow(clippy::unwrap_used)]

mod common;

use loadline_report::{Block, Plot, Section, Style, document, render};
use run::{ClassPart, ClassTally, Hist, Moment, Run, Stage};

fn section(run: &Run, id: &str) -> Section {
    document(run).sections.into_iter().find(|section| section.id == id).unwrap()
}

fn chart(block: Block) -> Option<Plot> {
    if let Block::Plot(plot) = block { Some(*plot) } else { None }
}

/// Returns a run with one trial, in which the offered rate rises. The trial has response times at four moments. In this
/// run, client and server are on different hosts.
fn ramp() -> Run {
    let mut run = common::load();
    run.plan.load.stages = vec![Stage { seconds: 4.0, from: 0.0, to: 4000.0 }];
    let both = common::find().trials.swap_remove(4);
    let trial = &mut run.trials[0];
    trial.server = both.server;
    trial.client.host = "elsewhere".into();
    trial.client.machine = "another".into();
    let moment = |(t_s, us): (f64, f64)| Moment {
        t_s,
        seconds: 0.5,
        completed: 100,
        failed: 1,
        unexpected: 0,
        p50_us: Some(us),
        p99_us: Some(9.0 * us),
    };
    // The chart of the response time bounds the percentiles by the longest time.
    trial.latency_us.max = 1e6;
    trial.moments = [(1.25, 100.0), (1.75, 200.0), (2.25, 300.0), (2.75, 400.0)].map(moment).into();
    common::decided(run)
}

#[test]
fn the_timeline_has_offered_completed_percentiles_and_the_cpu_of_both_sides() {
    let run = ramp();
    let charts: Vec<Plot> = section(&run, "over-time").blocks.into_iter().filter_map(chart).collect();
    let Some(Block::Multiples(small)) = section(&run, "series").blocks.into_iter().next() else { panic!() };
    let found = |plots: &[Plot], title: &str| plots.iter().find(|plot| plot.title == title).cloned();
    let plot = |title: &str| found(&charts, title).or_else(|| found(&small, title)).unwrap();
    let line = |plot: Plot, label: &str| plot.series.into_iter().find(|s| s.label == label).unwrap().points;
    // The measured window begins 1 s after the start of the load. The offered rate rises by 1000/s every second.
    let rates = plot("Offered and completed requests");
    let offered = line(rates.clone(), "offered");
    assert!(offered.iter().all(|(at_s, rate)| (rate - 1000.0 * (1.0 + at_s)).abs() < 1e-6), "{offered:?}");
    let completed: Vec<f64> = line(rates, "completed").iter().map(|(_, rate)| *rate).collect();
    assert_eq!(completed, run.trials[0].measured.series_completed);
    let times = plot("Response time");
    let close = |found: Vec<(f64, f64)>, factor: f64| {
        assert_eq!(found.len(), 4);
        for ((at_s, seconds), moment) in found.iter().zip(&run.trials[0].moments) {
            assert!((at_s - (moment.t_s - 1.0)).abs() < 1e-9);
            assert!((seconds * 1e6 - factor * moment.p50_us.unwrap()).abs() < 1e-6);
        }
    };
    close(line(times.clone(), "p50"), 1.0);
    close(line(times, "p99"), 9.0);
    for cpu in ["host CPUs, user", "CPUs of the processes"] {
        assert!(line(plot(cpu), "server").len() > 2 && line(plot(cpu), "client").len() > 2, "{cpu}");
    }
    let html = render("html", &run, &Style::default()).unwrap();
    for title in ["Offered and completed requests", "Response time", "failed requests", "host CPUs, user"] {
        assert_eq!(html.matches(&format!("<b>{title}</b>")).count(), 1, "{title} must be shown once");
    }
    assert!(small.iter().all(|plot| plot.x.from == Some(0.0) && plot.x.to == charts[0].x.to), "all share a time axis");
}

/// The table must show the lowest and the highest rate of a ramp. A mean rate would describe no moment of a ramp well.
#[test]
fn the_row_of_a_ramp_shows_its_lowest_and_highest_rate() {
    let mut run = ramp();
    run.trials[0].measured.series_completed = (0..40).map(|i| 100.0 * f64::from(i)).collect();
    judge::judge(&mut run);
    let course = run.findings.course.as_ref().unwrap();
    assert!(course.parts.len() > 1, "{course:?}");
    let blocks = section(&run, "trials").blocks;
    let Some(Block::Table(table)) = blocks.first() else { panic!() };
    let cell = |name: &str| {
        let at = table.columns.iter().position(|column| column.name == name).unwrap();
        table.rows[0][at].text.clone()
    };
    let [offered, completed, goodput] = ["offered/s", "completed/s", "goodput/s"].map(cell);
    assert!(offered == "1,000 to 3,000" && completed.contains(" to ") && goodput == "–", "{offered} {completed}");
}

/// Returns a run with a request mix of a fast and a slow class. A tenth of the slow class's requests fail.
fn mix() -> Run {
    let mut run = common::load();
    let class = |name: &str, completed: u64, failed: u64, us: u64| {
        let counts = ClassTally {
            begun: completed + failed,
            completed,
            failed,
            bytes: 500 * completed,
            ..ClassTally::default()
        };
        let mut response = Hist::new();
        (0..completed).for_each(|_| response.record_ns(us * 1000));
        ClassPart { name: name.into(), total: counts, measured: counts, response, ..ClassPart::default() }
    };
    run.trials[0].classes = vec![class("read", 900, 0, 100), class("write", 90, 10, 4000)];
    run.trials[0].measured.length_s = 2.0;
    judge::judge(&mut run);
    run
}

#[test]
fn classes_are_compared_in_every_form_for_people() {
    let run = mix();
    let blocks = section(&run, "classes").blocks;
    let Some(Block::Table(table)) = blocks.first() else { panic!() };
    let at = |name: &str| table.columns.iter().position(|column| column.name == name).unwrap();
    let cells: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(|cell| cell.text.clone()).collect()).collect();
    let of = |row: usize, column: &str| cells[row][at(column)].clone();
    assert_eq!([of(0, "class"), of(1, "class")], ["read", "write"]);
    assert_eq!([of(0, "completed/s"), of(1, "completed/s")], ["450", "45"]);
    assert_eq!([of(0, "errors"), of(1, "errors")], ["0 %", "10 %"]);
    let p99 = [of(0, "p99"), of(1, "p99")];
    assert!(p99[0].starts_with("100") && p99[0].ends_with("us") || p99[0].ends_with("µs"), "{p99:?}");
    assert_eq!(p99[1], "≥4 ms", "a tenth of them failed");
    for form in ["html", "text", "markdown"] {
        let text = render(form, &run, &Style::default()).unwrap();
        assert!(["read", "write", "Classes of requests"].iter().all(|part| text.contains(part)), "{form}");
    }
}

/// Returns a search that used only closed loops, each with one of the given numbers of connections.
fn closed_search(connections: [u32; 3]) -> Run {
    let mut run = common::find();
    run.trials = connections.map(common::sweep).into();
    for (trial, share) in run.trials.iter_mut().zip([0.998, 0.999, 1.0]) {
        // The measured number of requests in flight also differs between trials with the same plan.
        trial.rates.concurrency *= share;
    }
    common::decided(run)
}

/// Returns all charts of a report with their sections.
fn charts(run: &Run) -> Vec<(String, Plot)> {
    let of = |section: Section| {
        let id = section.id;
        section.blocks.into_iter().filter_map(chart).map(move |plot| (id.clone(), plot))
    };
    document(run).sections.into_iter().flat_map(of).collect()
}

/// If all trials have the same load, a chart against load would be a vertical line. All ticks of its axis would be
/// below this load.
#[test]
fn a_search_at_one_load_has_charts_over_time_instead_of_charts_against_load() {
    let found = charts(&closed_search([1, 1, 1]));
    assert!(found.iter().all(|(_, plot)| plot.x.label != "requests in flight"), "{found:#?}");
    let main: Vec<&str> =
        found.iter().filter(|(id, _)| id == "over-time").map(|(_, plot)| plot.title.as_str()).collect();
    assert_eq!(main, ["Response time at every percentile", "Completed requests"]);
}

#[test]
fn a_search_in_closed_loops_begins_its_axis_at_its_lowest_load() {
    for (connections, from) in [([16, 18, 20], 15.0..16.0), ([4, 16, 64], 3.0..4.0)] {
        let found = charts(&closed_search(connections));
        let (_, main) = found.iter().find(|(id, _)| id == "by-load").unwrap();
        assert!(main.x.from.is_some_and(|x| from.contains(&x)), "{:?}", main.x);
        assert!(main.x.to.is_some_and(|x| x > f64::from(connections[2])), "{:?}", main.x);
        assert!(!found.iter().any(|(id, _)| id == "over-time"), "{found:#?}");
    }
}
