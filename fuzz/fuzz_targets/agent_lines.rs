//! Reads any text as messages between the conductor (the main process) and its agents. No line may cause a panic. If a
//! line is a report, it must be possible to write the report and to read it again. The results that agents report must
//! be mergeable.
#![no_main]

use libfuzzer_sys::fuzz_target;
use run::{AgentCommand, AgentReport, AgentSpec, LoadPart, Summary};

fuzz_target!(|text: &str| {
    let mut whole = LoadPart::default();
    for line in text.lines() {
        if let Ok(AgentSpec::Load { plan, .. }) = serde_json::from_str(line) {
            let _ = plan.check();
            plan.revealed();
        }
        let _ = serde_json::from_str::<AgentCommand>(line);
        let Ok(report) = serde_json::from_str::<AgentReport>(line).map(AgentReport::cleaned) else { continue };
        let again = serde_json::to_string(&report).expect("a report that was read can be written");
        serde_json::from_str::<AgentReport>(&again).expect("a report that was written can be read");
        match report {
            AgentReport::Part(part) => {
                whole.merge((*part).clone());
                whole.merge(*part);
            }
            AgentReport::Observed(seen) => {
                let mut both = seen.recording.clone();
                both.merge(seen.recording);
            }
            AgentReport::Rows(rows) => {
                let (mut both, values) = (rows.clone(), rows.values());
                assert!(both.append(*rows) && both.values() == 2 * values);
            }
            _ => {}
        }
    }
    whole.histograms.values().map(Summary::of).for_each(|summary| assert!(!summary.mean.is_nan()));
});
