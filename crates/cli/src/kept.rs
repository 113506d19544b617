//! The directory in which loadline stores a run. Without `--force`, loadline first moves an earlier run in this
//! directory to a sibling directory, whose name contains the time of the earlier run. loadline refuses a directory if
//! its `run.json` or `report.html` is not from loadline. Without `--out`, each run has its own directory in
//! `loadline-runs/`.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, bail, ensure};
use jiff::Timestamp;

/// Parent directory of the runs for which the user gave no `--out`.
pub(crate) const RUNS: &str = "loadline-runs";
/// Name of the link in [`RUNS`] to the latest run.
pub(crate) const LATEST: &str = "latest";
/// Text near the beginning of every report. loadline recognizes a report by this text.
const REPORT_MARK: &str = "· loadline</title>";
/// Text at the beginning of every `run.json`. loadline recognizes a run by this text.
const RUN_MARK: &str = "\"format\":\"loadline-run/";

/// Directory of one run. Dropping this value before a `run.json` exists restores the earlier state of the directory.
#[derive(Debug)]
pub(crate) struct Kept {
    dir: PathBuf,
    /// True if loadline created the directory for this run.
    made: bool,
    /// Directory to which loadline moved the files of an earlier run; `None` without an earlier run.
    aside: Option<PathBuf>,
    /// Version of the `run.json` of an earlier run that stays in the directory until this run replaces it (`--force`).
    replaced: Option<Version>,
    /// Link that will point to this run once the run is complete or interrupted. `None` if `--out` names the directory.
    link: Option<PathBuf>,
    /// Lock that keeps other runs out of the directory until this run has ended.
    _lock: Option<fs::File>,
}

impl Kept {
    /// Prepares the directory that `--out` names, or without `--out`, a directory named by the current time. Returns
    /// `None` if the run is only printed, or if no directory can be created and the user gave no `--out`.
    pub(crate) fn prepare(out: Option<&Path>, force: bool, json: bool) -> anyhow::Result<Option<Self>> {
        match out {
            Some(out) => Self::named(out, force).map(Some),
            None if json => Ok(None),
            None => Ok(Self::by_time(Path::new(RUNS), Path::new(RUNS).join(LATEST))
                .map_err(|why| {
                    let why = crate::output::sentence(&why);
                    crate::output::tell(&format!("note: the run is not saved: {why}; name a directory with --out"));
                })
                .ok()),
        }
    }

    /// Prepares the directory that `--out` names. Without `force`, an earlier run in the directory moves away.
    pub(crate) fn named(out: &Path, force: bool) -> anyhow::Result<Self> {
        if out.is_symlink() && out.is_dir() {
            let beside = fs::canonicalize(out)?.parent().map(Path::to_path_buf).unwrap_or_default();
            return Self::by_time(&beside, out.to_path_buf());
        }
        let made = !out.exists();
        let _lock = lock(out)?;
        let mut kept = Self { dir: out.to_path_buf(), made, aside: None, replaced: None, link: None, _lock };
        let earlier = is_ours(&out.join("run.json"), RUN_MARK)?;
        let report = is_report(&out.join("report.html"))?;
        ensure!(
            earlier != Some(false) && report != Some(false) && (earlier.is_some() || report.is_none()),
            "{} holds a run.json or report.html that loadline did not write; name another directory with --out",
            out.display()
        );
        if earlier.is_some() && !force {
            kept.aside = Some(set_aside(out)?);
        }
        kept.replaced = version(out);
        Ok(kept)
    }

    fn by_time(under: &Path, link: PathBuf) -> anyhow::Result<Self> {
        fs::create_dir_all(under).with_context(|| format!("cannot create {}", under.display()))?;
        let dir = fresh(under, &stamp(Timestamp::now()))?;
        Ok(Self { dir, made: true, aside: None, replaced: None, link: Some(link), _lock: None })
    }

    /// Creates the directory `name` in the folder of several runs. The returned value makes `link` point to the
    /// directory when the run is complete or interrupted.
    pub(crate) fn inside(folder: &Path, name: &str, link: Option<PathBuf>) -> anyhow::Result<Self> {
        let dir = folder.join(name);
        fs::create_dir(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        Ok(Self { dir, made: true, aside: None, replaced: None, link, _lock: None })
    }

    /// Returns the path of the run's directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of the directory, quoted as an argument of a shell command.
    pub(crate) fn shell_path(&self) -> String {
        let path = self.dir.display().to_string();
        let is_plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c));
        if is_plain { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
    }

    /// Makes the link `latest` point to the complete run. Returns lines for the user, which name the report and the
    /// directory to which an earlier run was moved.
    pub(crate) fn settle(&self) -> anyhow::Result<String> {
        let earlier = self.settle_quietly()?;
        Ok(format!("{earlier}report: {}\n", self.dir.join("report.html").display()))
    }

    /// Does the work of [`Kept::settle`], and returns only the line about an earlier run, if any.
    pub(crate) fn settle_quietly(&self) -> anyhow::Result<String> {
        let earlier = self.aside.as_ref().map(|aside| format!("the earlier run is now in {}\n", aside.display()));
        if let Some(link) = &self.link {
            point(link, &self.dir)?;
        }
        Ok(earlier.unwrap_or_default())
    }
}

impl Kept {
    /// Makes the link `latest` point to an interrupted run. Returns the directory with the run's measurements, or
    /// `None` if the run has no measurements.
    pub(crate) fn cut_short(&self) -> Option<String> {
        // With `--force`, the directory may still hold only the earlier run.
        if version(&self.dir).is_none_or(|found| Some(found) == self.replaced) {
            return None;
        }
        let linked = self.link.as_ref().map_or(Ok(()), |link| point(link, &self.dir));
        let why = linked.err().map_or(String::new(), |why| format!(" ({why:#})"));
        Some(format!("{}{why}", self.dir.display()))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.dir.join("run.json").exists() {
            return;
        }
        // If the new run has no measurements, moves the files of the earlier run back. If loadline cannot move a file
        // of the earlier run back, the file stays in the sibling directory.
        if let Some(aside) = &self.aside {
            let _ = move_files(aside, &self.dir);
            let _ = fs::remove_dir(aside);
        }
        if self.made {
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

/// Inode number and time of the last change of a `run.json`. loadline replaces the whole file each time it saves the
/// run.
type Version = (u64, SystemTime);

/// Returns the version of the `run.json` in a directory; `None` if there is none.
fn version(dir: &Path) -> Option<Version> {
    let file = fs::metadata(dir.join("run.json")).ok()?;
    Some((file.ino(), file.modified().ok()?))
}

/// Locks the directory of a run, so two simultaneous runs do not mix their files. Returns `None` if creating or opening
/// the directory fails. If the result is `None`, loadline reports an error later, when it writes the run's first file.
fn lock(out: &Path) -> anyhow::Result<Option<fs::File>> {
    let Ok(dir) = fs::create_dir_all(out).and_then(|()| fs::File::open(out)) else { return Ok(None) };
    let free = sys::lock::try_exclusive(&dir).with_context(|| format!("cannot lock {}", out.display()))?;
    let advice = "wait for its end, or name another directory with --out";
    ensure!(free, "another loadline writes its run into {}; {advice}", out.display());
    Ok(Some(dir))
}

/// Returns true if `file` is an HTML page that loadline wrote. Returns `None` if `file` cannot be opened.
pub(crate) fn is_report(file: &Path) -> anyhow::Result<Option<bool>> {
    is_ours(file, REPORT_MARK)
}

/// Returns true if loadline wrote `file`, which is the case if the text `mark` is in the first 4096 bytes. Returns
/// `None` if `file` cannot be opened.
fn is_ours(file: &Path, mark: &str) -> anyhow::Result<Option<bool>> {
    let Ok(found) = fs::File::open(file) else { return Ok(None) };
    let mut head = Vec::new();
    found.take(4096).read_to_end(&mut head).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(Some(String::from_utf8_lossy(&head).contains(mark)))
}

/// Moves the files of the run in a directory to a sibling directory, which is named by the time of that run.
fn set_aside(dir: &Path) -> anyhow::Result<PathBuf> {
    let advice =
        || format!("cannot keep the earlier run in {}; name another directory, or give --force", dir.display());
    let whole = fs::canonicalize(dir).with_context(advice)?;
    let name = whole.file_name().map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned());
    let written = fs::metadata(dir.join("run.json")).and_then(|m| m.modified()).with_context(advice)?;
    let time = stamp(Timestamp::try_from(written).with_context(advice)?);
    let aside = fresh(whole.parent().unwrap_or(&whole), &format!("{name}-{time}")).with_context(advice)?;
    move_files(dir, &aside).with_context(advice)?;
    let beside = dir
        .parent()
        .filter(|_| dir.file_name().is_some())
        .map(|parent| parent.join(aside.file_name().unwrap_or_default()));
    Ok(beside.unwrap_or(aside))
}

fn move_files(from: &Path, to: &Path) -> std::io::Result<()> {
    for file in std::iter::once("run.json").chain(KEPT.iter().map(|(_, file)| *file)) {
        match fs::rename(from.join(file), to.join(file)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

/// Creates the directory `name` in `under`. If the name is already used, appends a number.
pub(crate) fn fresh(under: &Path, name: &str) -> anyhow::Result<PathBuf> {
    for number in 1..1000 {
        let dir = under.join(if number == 1 { name.to_string() } else { format!("{name}-{number}") });
        match fs::create_dir(&dir) {
            Ok(()) => return Ok(dir),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e).with_context(|| format!("cannot create {}", dir.display())),
        }
    }
    bail!("{} holds a thousand runs of {name}", under.display())
}

/// Makes a link point to a directory, in one atomic step. An older version of loadline stored runs in a directory with
/// the link's name. If a directory with the link's name exists, this function renames the directory first.
fn point(link: &Path, dir: &Path) -> anyhow::Result<()> {
    if link.is_dir() && !link.is_symlink() {
        let moved = fs::metadata(link)?.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
        let name = format!("{LATEST}-{}", stamp(moved.unwrap_or_default()));
        fs::rename(link, link.with_file_name(name)).with_context(|| format!("cannot move {}", link.display()))?;
    }
    let new = link.with_file_name(format!(".{LATEST}.{}", std::process::id()));
    let made = aim(link, dir).and_then(|aim| std::os::unix::fs::symlink(aim, &new));
    made.and_then(|()| fs::rename(&new, link)).with_context(|| format!("cannot make the link {}", link.display()))
}

/// Returns the text of a link to a directory. If the directory is inside the link's folder, which can then be moved,
/// the text is a relative path, and otherwise the absolute path.
fn aim(link: &Path, dir: &Path) -> std::io::Result<PathBuf> {
    let parent = link.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
    let whole = fs::canonicalize(dir)?;
    let inside = whole.strip_prefix(&folder).ok().filter(|inside| !inside.as_os_str().is_empty());
    Ok(inside.map(Path::to_path_buf).unwrap_or(whole))
}

/// Formats a UTC time as a name that can be sorted: `20261122-031500`.
pub(crate) fn stamp(time: Timestamp) -> String {
    time.strftime("%Y%m%d-%H%M%S").to_string()
}

/// Output forms that loadline writes into the directory of a run in addition to `run.json`, each with its file name.
pub(crate) const KEPT: &[(&str, &str)] = &[("html", "report.html"), ("hdr", "latency.hlog")];

#[cfg(test)]
mod tests;
