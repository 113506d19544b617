//! A short version of `fuzz/fuzz_targets/run_json.rs`. loadline must read or reject a mutated run, and never panic. If
//! loadline can read a run, it must also be able to read the run after saving it again.

use loadline_run::{Absence, Column, CounterId, FORMAT, Hist, Recording, Run, Side, Trial, parse_run};

fn recording() -> Recording {
    let column = |instance: &str, values: [Option<f64>; 3]| Column {
        counter: CounterId::new("thread.cpu"),
        instance: instance.into(),
        values: values.to_vec(),
    };
    Recording {
        t_s: vec![0.0, 0.5, 1.0],
        columns: vec![
            column("a:1/1", [Some(5.0); 3]),
            column("a:1/2", [Some(5.0), Some(5.5), Some(7.0)]),
            column("a:1/3", [None, Some(1.0 / 3.0), Some(2.0)]),
        ],
        absent: vec![Absence {
            counter: CounterId::new("cgroup.cpu_quota"),
            instance: String::new(),
            reason: "no quota".into(),
        }],
        ..Recording::default()
    }
}

fn seed() -> String {
    let mut hist = Hist::new();
    (1..100).for_each(|i| hist.record_ns(i * 1_000));
    let server = Some(Side { recording: recording(), ..Side::default() });
    let mut trial = Trial { label: "8 connections".into(), server, ..Trial::default() };
    trial.histograms.insert("response".into(), hist);
    let run = Run { format: FORMAT.into(), trials: vec![trial], ..Run::default() };
    serde_json::to_string(&run).unwrap_or_default()
}

/// Returns the next pseudo-random number (xorshift64*), with a fixed seed, so every test run uses the same texts.
fn next(state: &mut u64) -> usize {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize
}

#[test]
fn mutated_runs_load_or_are_refused() {
    let (seed, mut state, mut loaded) = (seed(), 7, 0);
    const WORDS: [&str; 8] = ["null", "-1", "1e999", "\"\"", "[]", "{}", "18446744073709551616", "true"];
    for _ in 0..3_000 {
        let mut bytes = seed.clone().into_bytes();
        for _ in 0..=next(&mut state) % 3 {
            let at = next(&mut state) % bytes.len();
            match next(&mut state) % 3 {
                0 => bytes[at] = (next(&mut state) % 256) as u8,
                1 => drop(bytes.splice(at..at, WORDS[next(&mut state) % WORDS.len()].bytes())),
                _ => {
                    // Replaces a digit by one of the values in `WORDS`. The mutated text may still be valid JSON, but
                    // then usually has a value of a wrong type.
                    let digits = bytes[at..].iter().position(u8::is_ascii_digit).map_or(at, |d| at + d);
                    if digits < bytes.len() {
                        bytes.splice(digits..=digits, WORDS[next(&mut state) % WORDS.len()].bytes());
                    }
                }
            }
        }
        if let Ok(run) = parse_run("mutated", &String::from_utf8_lossy(&bytes)) {
            loaded += 1;
            let again = serde_json::to_string(&run).expect("a run that was read can be written");
            parse_run("again", &again).expect("a run that was written can be read");
        }
    }
    assert!(loaded > 100, "some mutations must leave a run that loads, else this tests nothing: {loaded}");
}
