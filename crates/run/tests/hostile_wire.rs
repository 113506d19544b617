//! A short version of `fuzz/fuzz_targets/agent_lines.rs`. The parser must accept or reject a mutated line of an agent,
//! and never panic. The test also serializes and merges every report that the parser accepts, which must not fail. The
//! parser must reject lines that would take unlimited memory.

use loadline_run::{AgentReport, Hist, Incident, IncidentKind, LoadPart, Observed, Recording, Summary, Window};

/// Returns test lines, one for each large kind of report.
fn lines() -> Vec<String> {
    let mut hist = Hist::new();
    (1..100).for_each(|i| hist.record_ns(i * 1_000));
    let mut part = LoadPart { measured_s: 1.0, slot_rates: vec![1.0, 2.0], ..LoadPart::default() };
    part.histograms.insert("response".into(), hist);
    part.pauses.push(Window { begin_s: 0.1, end_s: 0.2 });
    let incident = Incident { kind: IncidentKind::Silence, begin_s: 1.0, end_s: None, text: "it ended".into() };
    let recording = Recording { t_s: vec![0.0, 1.0], ..Recording::default() };
    let rows = AgentReport::Rows(Box::new(recording.clone()));
    let seen = Observed { recording, incidents: vec![incident.clone()], ..Observed::default() };
    let reports = [
        AgentReport::Part(Box::new(part)),
        AgentReport::Observed(Box::new(seen)),
        rows,
        AgentReport::Incidents { incidents: vec![incident] },
        AgentReport::Counts { counts: [("served".to_string(), 7)].into(), failures: vec!["none".into()] },
        AgentReport::Pong { n: 3, mono_ns: 12_345 },
    ];
    reports.iter().map(|report| serde_json::to_string(report).unwrap_or_default()).collect()
}

/// Returns the next pseudo-random number (xorshift64*), with a fixed seed, so every test run uses the same lines.
fn next(state: &mut u64) -> usize {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize
}

fn mutated(line: &str, state: &mut u64) -> String {
    const WORDS: [&str; 8] = ["null", "-1", "1e999", "\"\"", "[]", "{}", "18446744073709551616", "9"];
    let mut bytes = line.as_bytes().to_vec();
    let at = next(state) % bytes.len();
    match next(state) % 3 {
        0 => bytes[at] = (next(state) % 256) as u8,
        1 => drop(bytes.splice(at..at, WORDS[next(state) % WORDS.len()].bytes())),
        _ => {
            let digit = bytes[at..].iter().position(u8::is_ascii_digit).map_or(at, |d| at + d);
            if digit < bytes.len() {
                bytes.splice(digit..=digit, WORDS[next(state) % WORDS.len()].bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutated_lines_are_understood_or_refused() {
    let (lines, mut state, mut understood, mut whole) = (lines(), 11, 0, LoadPart::default());
    for turn in 0..4_000 {
        let line = mutated(&lines[turn % lines.len()], &mut state);
        let Ok(report) = serde_json::from_str::<AgentReport>(&line).map(AgentReport::cleaned) else { continue };
        understood += 1;
        let again = serde_json::to_string(&report).expect("a report that was read can be written");
        serde_json::from_str::<AgentReport>(&again).expect("a report that was written can be read");
        match report {
            AgentReport::Part(part) => whole.merge(*part),
            AgentReport::Observed(seen) => seen.recording.clone().merge(seen.recording),
            AgentReport::Rows(rows) => assert!(rows.clone().append(*rows)),
            _ => {}
        }
    }
    assert!(understood > 400, "some must be left to understand, else this tests nothing: {understood}");
    assert!(whole.histograms.values().all(|hist| !Summary::of(hist).mean.is_nan()));
}

#[test]
fn a_part_of_many_histograms_is_refused_before_they_take_memory() {
    let empty = Hist::new().to_base64();
    let histograms: Vec<String> = (0..25).map(|i| format!("\"h{i}\":\"{empty}\"")).collect();
    let line = |n: usize| format!("{{\"is\":\"part\",\"histograms\":{{{}}}}}", histograms[..n].join(","));
    assert!(serde_json::from_str::<AgentReport>(&line(24)).is_ok());
    let refused = serde_json::from_str::<AgentReport>(&line(25)).expect_err("25 are too many").to_string();
    assert!(refused.contains("more than 24 names"), "{refused}");
    let classes = |n: usize| format!("{{\"is\":\"part\",\"classes\":[{}]}}", vec!["{}"; n].join(","));
    assert!(serde_json::from_str::<AgentReport>(&classes(65)).is_ok());
    assert!(serde_json::from_str::<AgentReport>(&classes(66)).is_err());
}

#[test]
fn names_that_a_terminal_would_obey_are_dropped() {
    let line = "{\"is\":\"counts\",\"counts\":{\"served\":1,\"\\u001b[2J\":2},\"failures\":[]}";
    let Ok(AgentReport::Counts { counts, .. }) = serde_json::from_str::<AgentReport>(line).map(AgentReport::cleaned)
    else {
        panic!("a line of counts");
    };
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["served"]);
}
