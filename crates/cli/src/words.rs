//! Collects the texts that loadline shows in one file: docs/reference/words.txt. The file contains every kind of
//! sentence from the planted runs (artificial runs with a known limit), and complete screens of some planted runs. The
//! file also contains the errors for wrong command lines, and the help of each command.

use std::fmt::Write as _;

use judge::planted::{Sentence, planted, sentences};

use crate::output;

/// Width of the screens and of the help, columns.
const COLUMNS: usize = 80;

/// Maximum number of lines of a screen.
const LINES: usize = 42;

/// IDs of the artificial runs whose complete screens the file contains.
const SCREENS: [&str; 3] = ["server-cpu", "not-saturated", "unknown"];

/// Command lines that loadline refuses before it measures anything.
const REFUSED: &[&str] = &[
    "fnd",
    "find --nosuch",
    "find --p99 20",
    "find --budget soon",
    "find --errors 2",
    "find --client-via ssh",
    "find --via ssh",
    "find http://127.0.0.1:1/ --insecure --json",
    "find echo://127.0.0.1:1 --method POST --json",
    "load ftp://127.0.0.1/ --json",
    "load htp://127.0.0.1/ --json",
    "load tcp://127.0.0.1 --json",
    "load http:///x --json",
    "load http://127.0.0.1:99999/ --json",
    "load http://[::1/ --json",
    "load unix://:/x --json",
    "load http://192.0.2.1/ --json",
    "load --rate fast",
    "load --rate 100..5000",
    "load --rate sin:1..2/3s",
    "load --rate spike:1..2/3s,4s",
    "load --rate 0..0/3s",
    "load --rate 5 --connections 3 --json",
    "load --arrival pareto --rate 5",
    "load --io quick",
    "load --header topsecret --json",
    "load --cpus x",
    "load --source 127.0.0",
    "load --allow POST --json",
    "load --data /nonexistent --json",
    "load --requests /nonexistent --json",
    "load --data-order unique --requests /nonexistent --json",
    "load --speed 2 --json",
    "load --replay /nonexistent --json",
    "load --arrivals /nonexistent --json",
    "load --requests x --requests-format hat --json",
    "load --config /nonexistent --json",
    "prove --s-clients 3",
    "compare one",
    "compare http://127.0.0.1:1/ /nonexistent",
    "compare http://127.0.0.1:1/ http://127.0.0.1:1/",
    "compare /nonexistent /nonexistent",
    "compare --baseline main",
    "arena",
    "arena /nonexistent",
    "arena --resume /nonexistent",
    "size http://127.0.0.1:1/",
    "size http://127.0.0.1:1/ --command true",
    "size http://127.0.0.1:1/ --command true --workers 1,2",
    "size http://127.0.0.1:1/ --command true --quota 0",
    "size http://127.0.0.1:1/ --command true --quota 0.5 --budget 1s",
    "watch",
    "watch --port 0",
    "watch --port 70000",
    "lab no-such-experiment",
    "lab proxy --medium tin-can",
    "serve no-such-service",
    "serve --model forks",
    "serve --strategy hope",
    "report /nonexistent",
    "report /nonexistent --form pdf",
    "judge /nonexistent",
    "what-if /nonexistent",
    "history /nonexistent",
    "import /nonexistent",
    "list nosuch",
    "explain kneee",
    "explain nosuch",
];

/// Returns the content of the whole file.
fn page() -> String {
    let mut out = String::from(
        "Every kind of sentence that loadline says. Generated: LOADLINE_WRITE_WORDS=1 cargo test -p loadline words\n",
    );
    said(&mut out);
    SCREENS.iter().for_each(|id| screen(&mut out, id));
    refused(&mut out);
    help(&mut out);
    out
}

fn said(out: &mut String) {
    let mut kind = "";
    for Sentence { kind: now, id, text } in sentences() {
        if now != kind {
            let _ = write!(out, "\n== {now}\n");
            kind = now;
        }
        let _ = writeln!(out, "{}{text}", if id.is_empty() { String::new() } else { format!("{id}: ") });
    }
}

fn screen(out: &mut String, id: &str) {
    let Some(mut run) = planted(id).or_else(|| planted("server-concurrency").map(without_server)) else { return };
    judge::judge(&mut run);
    let style = report::Style { width: COLUMNS, ..report::Style::default() };
    let _ = write!(out, "\n== screen of {id}\n{}", report::brief(&run, &style, LINES));
    let whole = report::render("text", &run, &style).unwrap_or_default();
    let _ = write!(out, "\n== screen of {id} with -v\n{whole}");
}

fn without_server(mut run: run::Run) -> run::Run {
    run.trials.iter_mut().for_each(|trial| trial.server = None);
    run
}

fn refused(out: &mut String) {
    out.push_str("\n== refused command lines\n");
    for line in REFUSED {
        let _ = writeln!(out, "$ loadline {line}\n{}", error(line).trim_end());
    }
}

/// Runs a command line that must fail, and returns the text of its error.
fn error(line: &str) -> String {
    let words = std::iter::once("loadline").chain(line.split(' '));
    match crate::parse(words.map(Into::into)) {
        Err(error) => error.render().to_string().replace("\n\n", "\n"),
        Ok(cli) => match cli.command.run(crate::command) {
            Ok(_) => "(no error)".into(),
            Err(error) => format!("loadline: {}", output::safe(&output::sentence(&error))),
        },
    }
}

fn help(out: &mut String) {
    let mut whole = crate::command().term_width(COLUMNS);
    whole.build();
    let names: Vec<String> =
        whole.get_subcommands().filter(|c| !c.is_hide_set()).map(|c| c.get_name().into()).collect();
    let _ = write!(out, "\n== help\n{}", whole.render_help());
    for name in names.iter().filter(|name| *name != "help") {
        let Some(command) = whole.find_subcommand_mut(name) else { continue };
        let _ = write!(out, "\n== help of {name}\n{}", command.render_help());
    }
}

/// If LOADLINE_WRITE_WORDS is set, the test first writes the file, then compares it.
#[test]
fn the_file_of_all_words_is_current() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/words.txt");
    let page = page();
    if std::env::var_os("LOADLINE_WRITE_WORDS").is_some() {
        std::fs::write(&file, &page).expect("docs/ can be written");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = kept.lines().zip(page.lines()).find(|(kept, now)| kept != now);
    assert!(
        kept == page,
        "docs/reference/words.txt is not current ({differs:?}); read the change and run: LOADLINE_WRITE_WORDS=1 cargo test -p loadline words"
    );
}

/// Combines sentences about limits, experiments and advice with long warnings. An earlier version of loadline shortened
/// long sentences after any word, with an ellipsis.
#[test]
fn the_answer_of_find_has_twelve_lines_and_cuts_no_sentence() {
    let all = sentences();
    let of = |kind: &str| all.iter().filter(|s| s.kind == kind).collect::<Vec<_>>();
    let [verdicts, experiments, advice, warnings] = ["verdict", "experiment", "advice", "warning"].map(of);
    let style = report::Style { width: COLUMNS, ..report::Style::default() };
    let mut run = planted("server-cpu").expect("a planted run");
    judge::judge(&mut run);
    for at in 0..4 * experiments.len().max(verdicts.len()).max(advice.len()) {
        let pick = |from: &[&Sentence], by: usize| from[by * at % from.len()].clone();
        let verdict = pick(&verdicts, 1);
        let found = &mut run.findings;
        found.bottleneck.id = verdict.id;
        (found.bottleneck.sentence, found.bottleneck.advice) = (verdict.text, vec![pick(&advice, 5).text]);
        found.proof = Some(run::Proof {
            outcome: run::ProofOutcome::Inconclusive,
            why: pick(&experiments, 7).text,
            ..run::Proof::default()
        });
        found.trust.warnings = [11, 13, 17].map(|by| pick(&warnings, by).text).into();
        let text = report::brief(&run, &style, LINES);
        assert!(text.lines().count() <= 12 && !text.contains('…'), "{text}");
        for name in ["Rate", "Limited by", "Tested", "Try"] {
            assert!(text.lines().any(|line| line.starts_with(name)), "no {name} in\n{text}");
        }
    }
}

/// First words of all advice.
const ACTIONS: &[&str] = &[
    "Accept", "Add", "Call", "Commit", "Correct", "Divide", "Do", "Exempt", "Find", "Give", "Keep", "Let", "Limit",
    "Look", "Make", "Measure", "Profile", "Raise", "Read", "Remove", "Replace", "Run", "Send", "Serve", "Set",
    "Shorten", "Spread", "Start", "Take", "Use", "Widen",
];

/// Returns true if a text begins with an action, in upper or in lower case.
fn begins_with_an_action(text: &str) -> bool {
    let first = text.split([' ', ',']).next().unwrap_or_default();
    ACTIONS.iter().any(|action| action.eq_ignore_ascii_case(first))
}

/// Returns the text of the line "Try" in a brief report.
fn tried(brief: &str) -> String {
    let mut lines = brief.lines().skip_while(|line| !line.starts_with("Try"));
    let first = lines.next().and_then(|line| line.strip_prefix("Try")).unwrap_or_default();
    let rest = lines.take_while(|line| line.starts_with("    "));
    std::iter::once(first).chain(rest).map(str::trim).collect::<Vec<_>>().join(" ")
}

/// If the answer is long, a terminal shows only the first clauses of the advice. An earlier version of loadline
/// shortened the advice "The upstream at 10.0.0.2:80 is full and the server is not: give it more workers". Only the
/// part before the colon was left.
#[test]
fn shortened_advice_keeps_its_action() {
    let style = report::Style { width: COLUMNS, ..report::Style::default() };
    let mut run = planted("server-cpu").expect("a planted run");
    judge::judge(&mut run);
    // Only the line "Try" can be shortened.
    let long = "words of one clause ".repeat(15);
    run.findings.trust.warnings = vec![long.clone(); 3];
    run.findings.bottleneck.sentence = long.clone();
    let outcome = run::ProofOutcome::Inconclusive;
    run.findings.proof = Some(run::Proof { outcome, why: long, ..run::Proof::default() });
    let mut shortened = 0;
    for Sentence { kind, text, .. } in sentences() {
        if !kind.starts_with("advice") {
            continue;
        }
        assert!(begins_with_an_action(&text), "not an action: {text}");
        run.findings.bottleneck.advice = vec![text.clone()];
        let shown = tried(&report::brief(&run, &style, LINES));
        let dropped = text.strip_prefix(&shown).unwrap_or_else(|| panic!("{shown:?} is no beginning of {text:?}"));
        let is_action_dropped = dropped.strip_prefix(": ").is_some_and(begins_with_an_action);
        assert!(!shown.is_empty() && !is_action_dropped, "{shown:?} loses the action of {text:?}");
        shortened += usize::from(!dropped.is_empty());
    }
    assert!(shortened > 2, "{shortened} were shortened");
}
