//! Writes the page of a comparison (`compare.html`), which links to the reports of the compared runs.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use report::ComparedRun;
use run::{Comparison, RunDir};

use crate::kept::{self, RUNS};
use crate::output;

/// Name of the page's file.
const PAGE: &str = "compare.html";
/// Characters of a file name that a URL may contain as they are, in addition to letters and digits (RFC 3986, section
/// 2.3).
const UNRESERVED: &[u8] = b"-_.~";

/// Fails if `folder` has a page that loadline did not write, so that the user learns this before a measurement.
pub(crate) fn check(folder: &Path) -> anyhow::Result<()> {
    let page = folder.join(PAGE);
    ensure!(
        kept::is_report(&page)? != Some(false),
        "{} is not from loadline; name another directory with --out",
        page.display()
    );
    Ok(())
}

/// Writes the page of a comparison into `folder`. `runs` has the runs of both sides, the old side first: directories,
/// or `run.json` files. Returns the line for the user, which names the page.
pub(crate) fn write(folder: &Path, comparison: &Comparison, runs: [&[PathBuf]; 2]) -> anyhow::Result<String> {
    let dir = RunDir::create(folder)?;
    let from = folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))?;
    let of_side = |(runs, is_new): (&[PathBuf], bool)| -> Vec<ComparedRun> {
        let one = |run: &PathBuf| ComparedRun { is_new, name: run.display().to_string(), report: link(&from, run) };
        runs.iter().map(one).collect()
    };
    let runs: Vec<ComparedRun> = runs.into_iter().zip([false, true]).flat_map(of_side).collect();
    dir.put(PAGE, report::comparison_page(comparison, &runs)?.as_bytes())?;
    Ok(format!("report: {}\n", folder.join(PAGE).display()))
}

/// Writes the page of a comparison of saved runs: into the folder that `--out` names, or without `--out`, into a folder
/// named by the current time. Returns the line for the user, which names the page. The line is empty if the user gave
/// no `--out`, and loadline cannot write the page.
pub(crate) fn write_of_saved(
    out: Option<&Path>,
    comparison: &Comparison,
    runs: [&[PathBuf]; 2],
) -> anyhow::Result<String> {
    if let Some(out) = out {
        check(out)?;
        return write(out, comparison, runs);
    }
    let folder = std::fs::create_dir_all(RUNS)
        .map_err(anyhow::Error::from)
        .and_then(|()| kept::fresh(Path::new(RUNS), &kept::stamp(Timestamp::now())));
    let written = folder.and_then(|folder| write(&folder, comparison, runs));
    Ok(written.unwrap_or_else(|why| {
        let why = output::sentence(&why);
        output::tell(&format!("note: the page of the comparison is not saved: {why}; name a directory with --out"));
        String::new()
    }))
}

/// Returns the relative URL from a folder to a run's report; empty if the run has no report.
fn link(from: &Path, run: &Path) -> String {
    let dir = if run.is_dir() { Some(run) } else { run.parent() };
    let report = dir.map(|dir| dir.join("report.html")).filter(|report| report.is_file());
    let report = report.and_then(|report| report.canonicalize().ok());
    report.map_or_else(String::new, |report| url(&relative(from, &report)))
}

/// Returns the relative path from a folder to a file. Both paths are absolute and have no symbolic links.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

/// Returns a relative path as a URL. Bytes with a special meaning in URLs are percent-encoded.
fn url(path: &Path) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || UNRESERVED.contains(byte) || *byte == b'/';
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    bytes.map(|byte| if is_plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_page_links_to_the_report_of_each_run_and_replaces_only_pages_of_loadline() {
        let root = tempfile::tempdir().unwrap();
        let [out, old, new] = ["out", "runs/an old one", "runs/new"].map(|name| root.path().join(name));
        [&out, &old, &new].into_iter().for_each(|dir| fs::create_dir_all(dir).unwrap());
        fs::write(old.join("report.html"), "").unwrap();
        let runs = [&[old][..], &[new.join("run.json")][..]];
        let line = write_of_saved(Some(&out), &Comparison::default(), runs).unwrap();
        assert_eq!(line, format!("report: {}\n", out.join(PAGE).display()));
        let page = fs::read_to_string(out.join(PAGE)).unwrap();
        assert!(page.contains(r#"<a href="../runs/an%20old%20one/report.html">"#), "{page}");
        assert_eq!(page.matches("<a href=\"../").count(), 1, "a run without a report has no link");
        assert!(write_of_saved(Some(&out), &Comparison::default(), runs).is_ok(), "its own page is replaced");
        fs::write(out.join(PAGE), "mine").unwrap();
        let error = write_of_saved(Some(&out), &Comparison::default(), runs).unwrap_err().to_string();
        assert!(error.contains("is not from loadline") && error.contains("--out"), "{error}");
    }
}
