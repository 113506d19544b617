//! Reads any text as `run.json`. Nothing may panic. If the text is a run, writing the run, reading it again, judging
//! it and rendering it must succeed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use report::{Style, render};

fuzz_target!(|text: &str| {
    let Ok(mut run) = run::parse_run("fuzz", text) else { return };
    let again = serde_json::to_string(&run).expect("a run that was read can be written");
    run::parse_run("fuzz", &again).expect("a run that was written can be read");
    judge::judge(&mut run);
    ["text", "html", "csv"].iter().for_each(|form| drop(render(form, &run, &Style::default()).expect("a run can be drawn")));
});
