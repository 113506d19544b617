//! Reads any text as a CSV file of collected counters. Nothing may panic. If the file contains counters, it must be
//! possible to judge and render a run made from them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use report::{Style, render};

fuzz_target!(|text: &str| {
    let Ok(cases) = judge::counters_csv::read(text) else { return };
    judge::counters_csv::derive(&cases);
    let mut run = judge::counters_csv::as_run(&cases);
    judge::judge(&mut run);
    render("text", &run, &Style::default()).expect("a run can be drawn");
});
