//! The page `docs/thresholds.md`, and the tests of the table.

use std::path::Path;

use crate::thresholds::{Basis, THRESHOLDS, Threshold};

const HEAD: &str = "\
# Numbers that decide

Each verdict compares figures with numbers. This page lists them: the value, what it separates, and what the value rests on. *Measured*:
real servers. *Simulated*: simulations with a known answer. *Given*: a standard, the kernel, a law or a cited source. *Chosen*: nothing
shows that another value would be worse. Confidences and settings of numerical methods are not in the table yet.

This page is generated: `make docs` writes it from `crates/judge/src/thresholds.rs`, and a test fails while it differs.
";

fn page() -> String {
    let count = |basis: Basis| THRESHOLDS.iter().filter(|t| t.basis == basis).count();
    let mut page = format!(
        "{HEAD}\n{} numbers: {} measured, {} simulated, {} given, {} chosen.\n",
        THRESHOLDS.len(),
        count(Basis::Measured),
        count(Basis::Simulated),
        count(Basis::Given),
        count(Basis::Chosen)
    );
    for group in THRESHOLDS.chunk_by(|a, b| a.group == b.group) {
        page += &format!("\n## {}\n\n| name | value | separates | rests on |\n|---|---|---|---|\n", group[0].group);
        page += &group.iter().map(row).collect::<String>();
    }
    page
}

fn row(t: &Threshold) -> String {
    let basis = format!("{:?}", t.basis).to_lowercase();
    format!("| {} | {} {} | {} | {basis}: {} |\n", t.name, t.value, t.unit, t.separates, t.reason)
}

/// With LOADLINE_WRITE_THRESHOLDS set, as `make docs` does, the file is written before it is compared.
#[test]
fn the_page_of_thresholds_is_that_of_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/thresholds.md");
    let made = page();
    if std::env::var_os("LOADLINE_WRITE_THRESHOLDS").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept == made, "{} is not current: `make docs` writes it", file.display());
}

fn sources(dir: &Path) -> String {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: std::path::PathBuf| match path.is_dir() {
        true => sources(&path),
        false => std::fs::read_to_string(path).unwrap(),
    };
    entries.map(text).collect()
}

#[test]
fn every_threshold_has_a_name_of_its_own_and_a_test_that_exists() {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    for (at, t) in THRESHOLDS.iter().enumerate() {
        assert!(THRESHOLDS[..at].iter().all(|before| before.name != t.name), "{}", t.name);
        assert!(sources.contains(&format!("fn {}()", t.test)), "{}: no test {}", t.name, t.test);
    }
}
