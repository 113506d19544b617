//! Test with other programs that use the machine. The first warning of loadline must report the other programs, even in
//! an experiment that only measures the time of calls.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use testkit::{Hog, alone, binary, json};

#[test]
fn other_programs_are_the_first_warning_on_timed_calls() {
    let _alone = alone();
    let hogs = [Hog::on(0, 2), Hog::on(1, 2)];
    let sets = ["figures=false", "backends=[\"epoll\"]", "cold=[0]", "rounds=1", "calls=200", "across=0", "seconds=1"];
    let mut args = vec!["lab", "event-api"];
    sets.iter().for_each(|set| args.extend(["--set", set]));
    let run = json(binary!(), &args);
    drop(hogs);
    let warnings = &run["findings"]["trust"]["warnings"];
    assert!(warnings[0].as_str().is_some_and(|w| w.starts_with("other programs used")), "{warnings:#}");
}
