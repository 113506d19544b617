//! Reads the scripts of Response Probe, which consist of three kinds of files: `.SCR` (processes), `.SCP` (threads of a
//! process) and `.SCT` (one thread).
//!
//! `#` begins a comment. File names are relative to the file that contains them. If no file has exactly the given name,
//! upper and lower case letters count as equal, as on Windows.

use std::path::{Path, PathBuf};

use super::spec::{Access, MAX_REPEAT, Mode, ProcessSpec, Spread, ThreadSpec, Workload};
use super::{Result, WorkloadError, access};

/// Maximum size of one file of a script, bytes.
const MAX_SCRIPT_BYTES: u64 = 16 << 20;

/// Reads a `.SCR` file and the files that it names, for a trial of `seconds` seconds. Calls `note` for each code file
/// that does not exist, and then ignores this file.
pub fn read_script(path: &Path, seconds: f64, mut note: impl FnMut(String)) -> Result<Workload> {
    let mut workload = Workload { seconds, seed: 1, process: Vec::new() };
    for line in lines(path)? {
        workload.process.push(process(path, &line, &mut note)?);
    }
    let wrong = |message| WorkloadError::Script { file: path.display().to_string(), line: None, message };
    workload.check().map_err(wrong)?;
    Ok(workload)
}

struct Line {
    number: usize,
    words: Vec<String>,
}

fn lines(path: &Path) -> Result<Vec<Line>> {
    let name = path.display().to_string();
    let bytes =
        run::read_bounded(path, MAX_SCRIPT_BYTES).map_err(access("read", &name, "name a script that exists"))?;
    let text = String::from_utf8_lossy(&bytes);
    let split = |(at, line): (usize, &str)| Line {
        number: at + 1,
        words: line.split('#').next().unwrap_or("").split_whitespace().map(String::from).collect(),
    };
    Ok(text.lines().enumerate().map(split).filter(|line| !line.words.is_empty()).collect())
}

fn wrong(path: &Path, line: &Line, message: impl Into<String>) -> WorkloadError {
    WorkloadError::Script { file: path.display().to_string(), line: Some(line.number), message: message.into() }
}

/// Splits `REPEAT n` from the beginning of a line. Returns `n` and the remaining words of the line. Without `REPEAT`,
/// `n` is 1.
fn repeat<'a>(path: &Path, line: &'a Line) -> Result<(u32, &'a [String])> {
    match line.words.as_slice() {
        [word, count, rest @ ..] if word.eq_ignore_ascii_case("REPEAT") => {
            let n = count.parse().ok().filter(|n| (1..=MAX_REPEAT).contains(n));
            Ok((n.ok_or_else(|| wrong(path, line, format!("REPEAT {count}: give 1 to {MAX_REPEAT}")))?, rest))
        }
        words => Ok((1, words)),
    }
}

/// Parses `[REPEAT n] PROCESS params.SCP dataPages codeFile [procName [I|N|H|R]]`. The optional letter at the end is
/// the priority of the process.
fn process(path: &Path, line: &Line, note: &mut impl FnMut(String)) -> Result<ProcessSpec> {
    const FORM: &str = "expected [REPEAT n] PROCESS file.SCP dataPages codeFile [name [I|N|H|R]]";
    let (repeat, words) = repeat(path, line)?;
    let [keyword, script, pages, code, rest @ ..] = words else { return Err(wrong(path, line, FORM)) };
    if !keyword.eq_ignore_ascii_case("PROCESS") || rest.len() > 2 {
        return Err(wrong(path, line, FORM));
    }
    let data_pages = pages.parse().map_err(|_| wrong(path, line, format!("{pages:?} is not a number of pages")))?;
    let letters = [("I", "idle"), ("N", "normal"), ("H", "high"), ("R", "realtime")];
    let priority = letter(path, line, rest.get(1), &letters)?;
    let name = rest.first().map_or("probeprc", |n| n.trim_end_matches(".EXE").trim_end_matches(".exe"));
    let code_path = beside(path, code);
    let mut code_file = code_path.display().to_string();
    if !code_path.exists() {
        note(format!(
            "{} line {}: the code file {code_file} is not there, so no code pages are touched",
            path.display(),
            line.number
        ));
        code_file.clear();
    }
    let script = beside(path, script);
    let mut spec = ProcessSpec { repeat, name: name.into(), priority, data_pages, code_file, thread: Vec::new() };
    for line in lines(&script)? {
        spec.thread.push(thread(&script, &line)?);
    }
    Ok(spec)
}

/// Parses `[REPEAT n] THREAD params.SCT [T|H|A|N|B|L|I]`. The letter at the end is the thread's priority.
fn thread(path: &Path, line: &Line) -> Result<ThreadSpec> {
    const FORM: &str = "expected [REPEAT n] THREAD file.SCT [T|H|A|N|B|L|I]";
    let (repeat, words) = repeat(path, line)?;
    let [keyword, script, rest @ ..] = words else { return Err(wrong(path, line, FORM)) };
    if !keyword.eq_ignore_ascii_case("THREAD") || rest.len() > 1 {
        return Err(wrong(path, line, FORM));
    }
    let letters = [
        ("T", "time-critical"),
        ("H", "highest"),
        ("A", "above"),
        ("N", "normal"),
        ("B", "below"),
        ("L", "lowest"),
        ("I", "idle"),
    ];
    let priority = letter(path, line, rest.first(), &letters)?;
    let script = beside(path, script);
    let spec = ThreadSpec { repeat, priority, ..parameters(&script)? };
    let file = script.display().to_string();
    spec.check().map_err(|message| WorkloadError::Script { file, line: None, message })?;
    Ok(spec)
}

/// Reads the parameters of one thread from a file. The parameters may be in any order.
fn parameters(path: &Path) -> Result<ThreadSpec> {
    const REQUIRED: [&str; 7] =
        ["THINKTIME", "CYCLEREADS", "FILESEEK", "CPUTIME", "DATAPAGE", "CODEPAGE", "FILEACCESS"];
    let mut spec = ThreadSpec::default();
    let mut seen = Vec::new();
    for line in lines(path)? {
        let keyword = line.words[0].to_ascii_uppercase();
        parameter(path, &line, &keyword, &mut spec)?;
        seen.push(keyword);
    }
    match REQUIRED.iter().find(|name| !seen.iter().any(|s| s == *name)) {
        Some(missing) => {
            let file = path.display().to_string();
            Err(WorkloadError::Script { file, line: None, message: format!("{missing} is missing") })
        }
        None => Ok(spec),
    }
}

fn parameter(path: &Path, line: &Line, keyword: &str, spec: &mut ThreadSpec) -> Result<()> {
    let values = &line.words[1..];
    let one = || match values {
        [value] => Ok(value.clone()),
        _ => Err(wrong(path, line, format!("{keyword} takes one value"))),
    };
    let spread = || match values {
        [mean, deviation] => match (mean.parse::<f64>(), deviation.parse::<f64>()) {
            (Ok(mean), Ok(deviation)) if mean >= 0.0 && deviation >= 0.0 => Ok(Spread { mean, deviation }),
            _ => Err(wrong(path, line, format!("{keyword} takes a mean and a deviation, neither negative"))),
        },
        _ => Err(wrong(path, line, format!("{keyword} takes a mean and a deviation"))),
    };
    let choice = |names: &[&str]| {
        let value = one()?.to_ascii_uppercase();
        let known = names.iter().position(|n| *n == value);
        known.ok_or_else(|| wrong(path, line, format!("{keyword} is one of {}", names.join(", "))))
    };
    match keyword {
        "THINKTIME" => spec.think_ms = spread()?,
        "CYCLEREADS" => spec.cycle_reads = spread()?,
        "FILESEEK" => spec.seek_records = spread()?,
        "CPUTIME" => spec.cpu_ms = spread()?,
        "DATAPAGE" => spec.data_page = spread()?,
        "CODEPAGE" => spec.code_page = spread()?,
        "FILEACCESS" => spec.file = local_or_remote(path, &one()?),
        "FILEATTRIBUTE" => spec.access = [Access::Random, Access::Sequential][choice(&["RANDOM", "SEQUENTIAL"])?],
        "FILEACCESSMODE" => {
            spec.mode =
                [Mode::Mapped, Mode::Buffered, Mode::Unbuffered][choice(&["MAPPED", "BUFFERED", "UNBUFFERED"])?];
        }
        "RECORDSIZE" => {
            let value = one()?;
            spec.record_bytes =
                value.parse().map_err(|_| wrong(path, line, format!("{value:?} is not a number of bytes")))?;
        }
        "FILEACTION" => spec.actions = one()?.to_ascii_uppercase(),
        other => return Err(wrong(path, line, format!("{other:?} is not a parameter of a thread"))),
    }
    Ok(())
}

fn local_or_remote(path: &Path, file: &str) -> String {
    if file.starts_with("record://") { file.into() } else { beside(path, file).display().to_string() }
}

fn letter(path: &Path, line: &Line, word: Option<&String>, letters: &[(&str, &str)]) -> Result<String> {
    let Some(word) = word else { return Ok("normal".into()) };
    let found = letters.iter().find(|(letter, _)| word.eq_ignore_ascii_case(letter));
    found.map(|(_, name)| (*name).to_string()).ok_or_else(|| {
        let known = letters.iter().map(|(l, _)| *l).collect::<Vec<_>>().join(", ");
        wrong(path, line, format!("{word:?} is not a priority; they are {known}"))
    })
}

/// Finds a file that a script names, in the script's folder. If no file has exactly the given name, upper and lower
/// case letters count as equal.
fn beside(path: &Path, name: &str) -> PathBuf {
    let name = name.replace('\\', "/");
    let directory = path.parent().unwrap_or(Path::new(""));
    let exact = directory.join(&name);
    if exact.exists() {
        return exact;
    }
    let entries = std::fs::read_dir(if directory.as_os_str().is_empty() { Path::new(".") } else { directory });
    let alike = entries.into_iter().flatten().flatten().map(|e| e.path());
    let same = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().eq_ignore_ascii_case(&name));
    alike.into_iter().find(same).unwrap_or(exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| std::fs::write(dir.path().join(name), text).unwrap());
        let main = dir.path().join("A.SCR");
        (dir, main)
    }

    const SCT: &str = "# the workload of source 3\nTHINKTIME 0 0\nCYCLEREADS 100 0\nFILESEEK 0 0\nCPUTIME 0 0\nDATAPAGE 0 0\n\
                       CODEPAGE 0 0\nFILEACCESS record://10.77.0.1:9\nFILEATTRIBUTE RANDOM\nFILEACCESSMODE UNBUFFERED\n\
                       RECORDSIZE 2048\nFILEACTION R\n";

    #[test]
    fn three_files_become_one_workload_that_can_be_written_as_toml() {
        let (_dir, main) = script(&[
            ("A.SCR", "REPEAT 2 PROCESS a.scp 10 CODE.DAT IDEAGEN.EXE H # two\n"),
            ("A.SCP", "REPEAT 3 THREAD A.SCT T\nTHREAD A.SCT\n"),
            ("A.SCT", SCT),
        ]);
        let mut notes = Vec::new();
        let workload = read_script(&main, 20.0, |note| notes.push(note)).unwrap();
        assert!(notes.len() == 1 && notes[0].contains("A.SCR line 1") && notes[0].contains("CODE.DAT"), "{notes:?}");
        let process = &workload.process[0];
        assert_eq!((process.repeat, process.name.as_str(), process.priority.as_str()), (2, "IDEAGEN", "high"));
        assert_eq!((process.thread[0].repeat, process.thread[0].priority.as_str()), (3, "time-critical"));
        let thread = &process.thread[1];
        assert_eq!((thread.record_bytes, thread.mode, thread.cycle_reads.mean), (2048, Mode::Unbuffered, 100.0));
        let text = toml::to_string(&workload).unwrap();
        assert_eq!(Workload::from_toml("a.toml", &text).unwrap(), workload);
    }

    #[test]
    fn errors_name_file_and_line() {
        let (_dir, main) = script(&[("A.SCR", "\nPROCESS A.SCP ten CODE.DAT\n"), ("A.SCP", "")]);
        let error = read_script(&main, 1.0, |_| {}).unwrap_err().to_string();
        assert!(error.contains("A.SCR line 2") && error.contains("ten"), "{error}");
        for (right, wrong, why) in
            [("CPUTIME 0 0\n", "", "CPUTIME is missing"), ("RECORDSIZE 2048", "RECORDSIZE 1000", "multiples of 512")]
        {
            let thread = SCT.replace(right, wrong);
            let files = [("A.SCR", "PROCESS A.SCP 1 C\n"), ("A.SCP", "THREAD A.SCT\n"), ("A.SCT", thread.as_str())];
            let (_dir, main) = script(&files);
            let error = read_script(&main, 1.0, |_| {}).unwrap_err().to_string();
            assert!(error.contains("A.SCT") && error.contains(why), "{error}");
        }
    }
}
