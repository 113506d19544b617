//! Runs `scripts/check-cases` on a folder of small inputs and servers. The folder is not in the repository, because
//! others wrote its files.

use std::path::Path;
use std::process::Command;

/// Environment variable that names the folder.
const FOLDER: &str = "LOADLINE_CASES";

#[test]
fn every_case_of_a_folder_has_the_right_value() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        // The folder is not part of the project, so the test is skipped without it, even with LOADLINE_REQUIRE=all.
        println!("SKIP cases of others: {FOLDER} names no folder with cases");
        return;
    };
    // No other test may run at the same time, because the cases use fixed ports, and some of them measure.
    let _alone = testkit::alone();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check-cases");
    let output = Command::new(script).arg(&folder).arg(env!("CARGO_BIN_EXE_loadline")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains(": ok"), "no case was checked in {}: {said}", Path::new(&folder).display());
    for line in said.lines().filter(|line| line.contains(": skipped") || line.contains(": no check")) {
        println!("SKIP case {line}");
    }
}
