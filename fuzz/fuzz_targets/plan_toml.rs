//! Reads any text as a plan or as a workload. Nothing may panic. If a plan passes its check, it must be possible to
//! write the plan and to read it again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use workload::Workload;

fuzz_target!(|text: &str| {
    if let Ok(mut plan) = run::Plan::from_toml("fuzz", text)
        && plan.check().is_ok()
    {
        plan.redact_secrets(&[]);
        let written = serde_json::to_string(&plan).expect("a plan can be written");
        serde_json::from_str::<run::Plan>(&written).expect("a plan that was written can be read");
    }
    let _ = Workload::from_toml("fuzz", text);
});
