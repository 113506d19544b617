//! Renders runs that were built by hand in every form, and compares the texts with stored texts. After an intended
//! change of a report, inspect the `.snap.new` files, then run the tests with `INSTA_UPDATE=always`.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod hostile;
mod machine;
mod page;

use loadline_report::{ReportError, Style, brief, render};

pub(crate) fn made(form: &str, run: &run::Run) -> String {
    render(form, run, &Style::default()).unwrap()
}

/// Cuts each line after 90 characters, because lines with histogram data are long.
fn short(text: &str) -> String {
    text.lines().map(|l| l.chars().take(90).collect::<String>() + "\n").collect()
}

/// Returns the Markdown without the section about the plan. Other crates define the fields of a plan, so changes in
/// these crates would fail this test.
fn without_plan(text: &str) -> &str {
    text.split("\n## Plan and hosts").next().unwrap_or_default()
}

#[test]
fn the_terminal_shows_the_answer_in_its_first_fifteen_lines() {
    let text = made("text", &common::find());
    let first: String = text.lines().take(15).map(|l| format!("{l}\n")).collect();
    for wanted in [
        "46,500 requests/s",
        "at 49,100/s p99 was 31 ms",
        "share both CPUs",
        "server-single-thread (sure, 93 %): Thread 1240",
        "Try         Let nginx run more workers",
    ] {
        assert!(first.contains(wanted), "{wanted:?} is not in\n{first}");
    }
    insta::assert_snapshot!("find.txt", text);
}

/// The brief text must be the answer section. Each line of the brief text must occur exactly once in the full text.
#[test]
fn the_brief_text_is_the_answer_in_at_most_twelve_lines() {
    let run = common::find();
    let text = brief(&run, &Style::default(), 42);
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no {words:?} in\n{text}"));
    assert!(at("Rate") < at("Limited by") && at("Limited by") < at("Try") && at("Try") < at("! Client"));
    assert!(text.lines().count() <= 12 && !text.contains("Trials") && !text.contains("Because"), "{text}");
    let whole = made("text", &run);
    for line in text.lines() {
        assert_eq!(whole.matches(line).count(), 1, "{line:?} in\n{whole}");
    }
    for sentence in ["Thread 1240 of nginx:1234 is full", "Let nginx run more workers", "p99 was 31 ms"] {
        assert_eq!(whole.matches(sentence).count(), 1, "{sentence:?} in\n{whole}");
    }
    insta::assert_snapshot!("find.brief.txt", text);
}

#[test]
fn the_brief_text_of_a_load_has_percentiles_first_and_a_histogram() {
    let run = common::load();
    let text = brief(&run, &Style::default(), 42);
    assert!(text.starts_with("Latency     p50 309 µs, p90 648 µs") && text.contains("█"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("To learn why: `loadline find http://127.0.0.1:8080/index.html`"), "{text}");
    let ascii = brief(&run, &Style { ascii: true, ..Style::default() }, 42);
    assert!(ascii.contains("####") && !ascii.contains('█'), "{ascii}");
    insta::assert_snapshot!("load.brief.txt", text);
}

/// A load with several trials has no answer section, only a table of trials.
#[test]
fn the_brief_text_of_many_loads_fits_a_screen() {
    let mut run = common::load();
    let first = run.trials[0].clone();
    run.trials.extend(std::iter::repeat_n(first, 60));
    let text = brief(&common::decided(run), &Style::default(), 42);
    assert!(text.lines().count() <= 42 && text.contains("more rows in the full report"), "{text}");
}

#[test]
fn the_other_forms_equal_their_snapshots() {
    insta::assert_snapshot!("load.txt", made("text", &common::load()));
    insta::assert_snapshot!("nothing.txt", made("text", &common::nothing()));
    insta::assert_snapshot!("awkward.txt", made("text", &common::awkward()));
    insta::assert_snapshot!("find.md", without_plan(&made("markdown", &common::find())));
    insta::assert_snapshot!("awkward.md", without_plan(&made("markdown", &common::awkward())));
    insta::assert_snapshot!("load.csv", made("csv", &common::load()));
    insta::assert_snapshot!("awkward.csv", made("csv", &common::awkward()));
    insta::assert_snapshot!("load.openmetrics", made("openmetrics", &common::load()));
    insta::assert_snapshot!("awkward.openmetrics", made("openmetrics", &common::awkward()));
    insta::assert_snapshot!("load.hdr", short(&made("hdr", &common::load())));
}

#[test]
fn an_experiment_is_shown_beside_the_published_numbers() {
    insta::assert_snapshot!("experiment.md", without_plan(&made("markdown", &common::experiment())));
    let html = made("html", &common::experiment());
    assert!(html.contains("class=\"hollow"), "published points are hollow");
    assert!(html.contains("Each client brings less than the one before"));
    let text = made("text", &common::experiment());
    assert_eq!(text.lines().next().unwrap(), "sample: limited by network-medium; 1 of 2 checks held");
    assert!(text.contains("FAILED"), "a failed check is said aloud");
}

/// In the general table of trials, trials without requests would have no values.
#[test]
fn timings_of_a_library_have_the_tables_and_charts_of_their_experiment() {
    let mut run = common::experiment();
    let timed =
        |label: &str| run::Trial { label: label.into(), kind: run::TrialKind::Experiment, ..run::Trial::default() };
    run.trials = vec![timed("epoll, 0 cold"), timed("select, 0 cold")];
    let doc = loadline_report::document(&run);
    let ids: Vec<&str> = doc.sections.iter().map(|s| s.id.as_str()).collect();
    assert!(ids.contains(&"figures") && ids.contains(&"results") && !ids.contains(&"trials"), "{ids:?}");
    let html = made("html", &run);
    assert!(html.contains(">epoll</text>") && html.contains(">select</text>"));
}

/// A file may contain anything, such as rows of wrong lengths and curves without points.
#[test]
fn tables_and_charts_of_any_shape_are_drawn() {
    let mut run = common::experiment();
    let shown = run.findings.experiment.as_mut().unwrap();
    shown.tables[0].rows = vec![vec![], vec![Some("x".into()); 9]];
    shown.charts[0].series[0].y = vec![f64::NAN];
    shown.charts[1].series.clear();
    for form in ["text", "markdown", "html"] {
        assert!(made(form, &run).contains("Each step"), "{form}");
    }
}

/// In this test, the server accepts connections but never answers. The report must not show a time for an event that
/// did not happen.
#[test]
fn requests_without_answers_have_no_time() {
    let mut run = common::load();
    let trial = &mut run.trials[0];
    (trial.latency_us, trial.service_us) = (run::Summary::default(), run::Summary::default());
    trial.histograms.clear();
    trial.rates.completed_rate = 0.0;
    (trial.tally.completed, trial.tally.unanswered) = (0, 16);
    trial.measured.tally = run::Tally::default();
    let run = common::decided(run);
    for form in ["text", "markdown"] {
        let text = made(form, &run);
        assert!(!text.contains("p99 0 s") && !text.contains("0 s "), "{form}: {text}");
        assert!(text.contains("Nothing completed") && text.contains("100 %"), "{form}: {text}");
        assert!(!text.contains("Nothing completed in the window"), "{form}: {text}");
    }
    // Some requests were answered before the measured window.
    let mut run = run;
    run.trials[0].tally.completed = 100;
    assert!(made("text", &run).contains("Nothing completed in the window"));
}

/// If an incident ended the run, every form that has titles must show this incident as the title, even after successful
/// trials. In this test, the text of the incident contains HTML tags.
#[test]
fn the_death_of_a_server_is_the_title_of_every_form() {
    let mut run = common::find();
    let last = run.trials.last_mut().unwrap();
    let text = "the server's process <b>x</b>:7 ended (killed by SIGKILL) at 3.0 s".to_string();
    last.incidents = vec![run::Incident { kind: run::IncidentKind::ServerEnded, begin_s: 0.1, end_s: None, text }];
    run.interrupted = true;
    let run = common::decided(run);
    assert_eq!(run.findings.failure, Some(run::Failure::Died));
    let wide = Style { width: 300, color: false, ascii: false };
    let plain = "The server's process <b>x</b>:7 ended (killed by SIGKILL) at 3.0 s";
    let text = render("text", &run, &wide).unwrap();
    // The brief text must state the incident only once, in the title. The full text must not say "Interrupted", because
    // no user interrupted the run.
    let told_once = |text: &str| text.matches("killed by SIGKILL").count() == 1;
    assert!(text.starts_with(plain) && text.contains("Ended early") && !text.contains("Interrupted"), "{text}");
    let screen = brief(&run, &wide, 42);
    assert!(screen.starts_with(plain) && screen.contains("Ended early") && told_once(&screen), "{screen}");
    let words = |text: &str| text.replace(['\\', '#'], "").trim().to_string();
    assert!(words(made("markdown", &run).lines().next().unwrap()).starts_with("The server's process"));
    let html = made("html", &run);
    for (begin, end) in [("<title>", "</title>"), ("<h1>", "</h1>")] {
        let title = html.split_once(begin).unwrap().1.split_once(end).unwrap().0;
        assert!(title.contains("ended (killed by SIGKILL)") && !title.contains("<b>"), "{begin}{title}");
    }
    let read: serde_json::Value = serde_json::from_str(&made("json", &run)).unwrap();
    assert!(read["findings"]["failure"] == "died" && read["interrupted"] == true, "{}", read["findings"]["failure"]);
    // If nothing ended the run early, the title is the capacity.
    assert!(made("text", &common::find()).starts_with("46,500 requests/s"));
}

#[test]
fn a_narrow_terminal_gets_no_line_beyond_its_width() {
    for width in [40, 60, 80, 120] {
        for run in [common::find(), common::load(), common::awkward(), common::nothing()] {
            let text = render("text", &run, &Style { width, ..Style::default() }).unwrap();
            let long: Vec<&str> = text.lines().filter(|l| l.chars().count() > width).collect();
            assert!(long.is_empty(), "wider than {width}: {long:?}");
        }
    }
}

/// The HTML page draws the chain of upstream services. The text and Markdown forms show the chain as indented lines.
#[test]
fn upstreams_are_shown_in_every_form_for_people() {
    let run = common::behind();
    let html = made("html", &run);
    let drawn = html.split("id=\"behind\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert_eq!(drawn.matches("<svg").count(), 2, "one for the page, one for a phone");
    // In this run, a thread of the server itself is full, too.
    assert_eq!((drawn.matches("class=\"tip\"").count(), drawn.matches("FULL: one thread</text>").count()), (8, 4));
    assert!(!html.contains("<i>a-process"), "a name is only text");
    let text = made("text", &run);
    for line in ["-> server (", "  -> 127.0.0.1:8001 (<i>a-process", "    -> unix:/a-dir", "      -> [2001:db8:"] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let markdown = made("markdown", &run);
    assert!(markdown.contains("\n    - 127.0.0.1:8001 (&lt;i>a-process") && markdown.contains("FULL: one thread"));
}

#[test]
fn colour_changes_nothing_but_colours() {
    let run = common::find();
    let plain = made("text", &run);
    let coloured = render("text", &run, &Style { color: true, ..Style::default() }).unwrap();
    assert!(!plain.contains('\u{1b}') && coloured.contains('\u{1b}'));
    let mut bare = String::new();
    for (i, part) in coloured.split("\u{1b}[").enumerate() {
        bare.push_str(if i == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(bare, plain);
}

#[test]
fn an_unknown_form_is_refused_with_the_known_ones() {
    let error = render("pdf", &common::nothing(), &Style::default()).unwrap_err();
    assert!(matches!(error, ReportError::UnknownForm { .. }));
    assert!(error.to_string().contains("text, html, json"));
}
