//! The page `docs/reference/thresholds.md`, and the tests of the table of thresholds.

use std::path::Path;

use crate::thresholds::{Basis, THRESHOLDS, Threshold};

const HEAD: &str = "\
# Numbers that decide

Each verdict compares figures with numbers. This page lists them: the value, what it separates, and what the value rests on. *Measured*:
real servers. *Simulated*: simulations with a known answer. *Given*: a standard, the kernel, a law or a cited source. *Chosen*: nothing
shows that another value would be worse. Decisions with one meaning share one number: its row names each of them. Settings of numerical
methods are not in the table.

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
        page += &format!(
            "\n## {}\n\n| name | value | separates | rests on | test that reaches it |\n|---|---|---|---|---|\n",
            group[0].group
        );
        page += &group.iter().map(row).collect::<String>();
    }
    page
}

fn row(t: &Threshold) -> String {
    let basis = format!("{:?}", t.basis).to_lowercase();
    let also = t.also.iter().map(|(name, separates)| format!("; {name}: {separates}")).collect::<String>();
    let test = t.test.replace('_', " ");
    format!("| {} | {} {} | {}{also} | {basis}: {} | {test} |\n", t.name, t.value, t.unit, t.separates, t.reason)
}

/// If LOADLINE_WRITE_THRESHOLDS is set, as `make docs` does, the test first writes the file. The test always compares
/// the page `thresholds.md` with the table of thresholds.
#[test]
fn the_page_of_thresholds_is_that_of_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/thresholds.md");
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

/// Maximum number of rows in the table of thresholds. If the table is full, a new row must replace another row.
const MOST_NUMBERS: usize = 120;

/// Numbers that are not thresholds: zero, one, and the microseconds of a second.
const ARITHMETIC: [&str; 3] = ["0.0", "1.0", "1e6"];

/// Returns the decimal numbers in `code`, except those in comments, strings and tests.
fn decimals(code: &str) -> Vec<String> {
    let code = code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().replace("\\\"", "");
    let uncommented: String =
        code.lines().map(|line| format!("{}\n", line.split("//").next().unwrap_or_default())).collect();
    let unquoted: String = uncommented.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let other = |c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || c == '-');
    let decimal = |word: &&str| {
        let first = word.starts_with(|c: char| c.is_ascii_digit());
        first
            && (word.contains('.') && !word.contains("..") || word.contains('e'))
            && word.replace('_', "").parse::<f64>().is_ok()
    };
    unquoted.split(other).filter(decimal).map(str::to_string).collect()
}

#[test]
fn rules_and_signals_hold_no_numbers_of_their_own() {
    assert_eq!(decimals("x = 0.5 * a; // 0.7\n//! 0.9\nf(\"0.3 \\\n 0.4\", 2.0, 0..3, 8e-6)"), ["0.5", "2.0", "8e-6"]);
    assert!(THRESHOLDS.len() <= MOST_NUMBERS, "{} numbers", THRESHOLDS.len());
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for folder in ["rules", "signals"] {
        for entry in std::fs::read_dir(src.join(folder)).unwrap() {
            let file = entry.unwrap().path();
            // The folders `rules` and `signals` also contain tests, which are skipped.
            if file.ends_with("signals/simulated.rs") || file.is_dir() {
                continue;
            }
            let found = decimals(&std::fs::read_to_string(&file).unwrap());
            let bare: Vec<_> = found.iter().filter(|n| !ARITHMETIC.contains(&n.as_str())).collect();
            assert!(bare.is_empty(), "{}: {bare:?} belong into the table", file.display());
        }
    }
}

/// Maximum number of decimal numbers in code outside of the table of thresholds, the rules and the signals. This
/// maximum may be lowered but not raised: a new number that decides something belongs in the table of thresholds. Most
/// of the existing numbers in the code are percentiles, units and settings of numerical methods.
const LOOSE: usize = 160;

/// Counts the decimal numbers in the code of a folder. Does not count numbers in tests, in made-up runs, and in the
/// table of thresholds.
fn loose(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let is_skipped = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with("tests.rs")
            || ["planted", "tests", "simulated.rs", "network.rs", "thresholds.rs", "thresholds_page.rs"].contains(&name)
    };
    let count = |path: std::path::PathBuf| match path.is_dir() {
        true => loose(&path),
        false => decimals(&std::fs::read_to_string(path).unwrap())
            .iter()
            .filter(|n| !ARITHMETIC.contains(&n.as_str()))
            .count(),
    };
    entries.filter(|path| !is_skipped(path)).map(count).sum()
}

#[test]
fn the_count_of_numbers_outside_of_the_table_never_grows() {
    let found = loose(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(
        found <= LOOSE,
        "{found} decimals outside of the table, {LOOSE} before: a number that decides has a row there"
    );
}

#[test]
fn every_threshold_has_a_name_of_its_own_and_a_test_that_exists() {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    for (at, t) in THRESHOLDS.iter().enumerate() {
        assert!(THRESHOLDS[..at].iter().all(|before| before.name != t.name), "{}", t.name);
        assert!(sources.contains(&format!("fn {}()", t.test)), "{}: no test {}", t.name, t.test);
    }
}
