//! Any text as run.json: no panic, and what loads can be written and loaded again.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(run) = run::parse_run("fuzz", text) {
        let again = serde_json::to_string(&run).expect("a run that was read can be written");
        run::parse_run("fuzz", &again).expect("a run that was written can be read");
    }
});
