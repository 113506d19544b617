//! Reads stored runs. A file is untrusted, so loadline checks its size before it allocates memory for its contents.

use std::fs;
use std::path::Path;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::read_bounded;
use crate::rundir::{FORMAT, Run, RunDirError};

/// Maximum size of `run.json`, bytes. One day of samples from a busy host fits into a file of this size. A machine with
/// 2 GB of memory can read such a file.
pub const MAX_RUN_BYTES: u64 = 256 << 20;
/// Maximum number of trials in a stored run. The number of trials is limited because all conclusions use every trial,
/// and every table has a row for each trial.
pub const MAX_TRIALS: usize = 10_000;
/// Maximum number of histograms, including those of request classes. An empty histogram takes 60 bytes of text and 270
/// KiB of memory.
pub const MAX_RUN_HISTOGRAMS: usize = 8_000;
/// Maximum sum of the numbers of hosts, of sides at rest, and of client hosts of trials. An empty host or side takes
/// two bytes of text and up to 2 KiB of memory.
pub const MAX_RUN_HOSTS: usize = 50_000;
/// Maximum number of objects (`{`) in `run.json`. Each object takes a few hundred bytes of memory. loadline writes
/// about 90 bytes of text per object, so its own files have fewer objects.
pub const MAX_RUN_OBJECTS: usize = 3_000_000;
/// Maximum number of values (commas) in `run.json`. loadline writes about 16 bytes per value, so a file of
/// [`MAX_RUN_BYTES`] that loadline wrote has fewer values than this maximum.
pub const MAX_RUN_VALUES: usize = 16 << 20;

/// Advice for a run that is too large to be read.
const SMALLER_RUN: &str = "split the run, or sample less often (--interval)";

/// Beginning of the value of `format` in every version.
const FORMAT_MARK: &str = "loadline-run/";
/// Maximum distance of [`FORMAT_MARK`] from the beginning of the file, bytes.
const MAX_MARK_AT: usize = 100;

/// Reads a run from its directory or from its `run.json`.
pub fn load_run(path: &Path) -> Result<Run, RunDirError> {
    let file = if path.is_dir() { path.join("run.json") } else { path.to_path_buf() };
    let name = file.display().to_string();
    let advice = "name a directory that loadline wrote with --out, or its run.json";
    let text = read_text(&file, MAX_RUN_BYTES, advice).map_err(|error| match error {
        RunDirError::TooLarge { path, found, most, .. } => {
            RunDirError::TooLarge { path, found, most, advice: SMALLER_RUN }
        }
        error => error,
    })?;
    parse_run(&name, &text)
}

/// Reads a text file of at most `max_bytes` bytes. `advice` is the text that the error for a larger file gives to the
/// user.
pub fn read_text(path: &Path, max_bytes: u64, advice: &'static str) -> Result<String, RunDirError> {
    text_of(path, read_bytes(path, max_bytes, advice)?, advice).map_err(|(_, error)| error)
}

/// Reads a file of at most `max_bytes` bytes. `advice` is the text that the error for a larger file gives to the user.
pub fn read_bytes(path: &Path, max_bytes: u64, advice: &'static str) -> Result<Vec<u8>, RunDirError> {
    let name = path.display().to_string();
    let fail = |source| RunDirError::Io { what: "read", path: name.clone(), source, advice };
    let too_large = |bytes: u64| RunDirError::TooLarge {
        path: name.clone(),
        found: format!("{bytes} bytes"),
        most: max_bytes,
        advice,
    };
    let bytes = fs::metadata(path).map_err(fail)?.len();
    if bytes > max_bytes {
        return Err(too_large(bytes));
    }
    read_bounded(path, max_bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::FileTooLarge => too_large(max_bytes + 1),
        _ => fail(error),
    })
}

/// Decodes the bytes of the file `path`: UTF-8, or UTF-16 with a byte order mark, as Windows writes it. The returned
/// text does not contain the byte order mark. If the bytes are no text, the error also returns the bytes.
pub fn text_of(path: &Path, bytes: Vec<u8>, advice: &'static str) -> Result<String, (Vec<u8>, RunDirError)> {
    decode(bytes).map_err(|(bytes, why)| {
        let source = std::io::Error::new(std::io::ErrorKind::InvalidData, why);
        (bytes, RunDirError::Io { what: "read", path: path.display().to_string(), source, advice })
    })
}

fn decode(bytes: Vec<u8>) -> Result<String, (Vec<u8>, &'static str)> {
    let units = |unit: fn([u8; 2]) -> u16| {
        bytes[2..].chunks_exact(2).map(move |two| unit([two[0], two[1]])).collect::<Vec<_>>()
    };
    let wide = match bytes.get(..2) {
        Some([0xff, 0xfe]) => Some(units(u16::from_le_bytes)),
        Some([0xfe, 0xff]) => Some(units(u16::from_be_bytes)),
        _ => None,
    };
    if let Some(units) = wide {
        return String::from_utf16(&units).map_err(|_| (bytes, "it is not UTF-16, as its byte order mark says"));
    }
    let gzip = bytes.starts_with(&[0x1f, 0x8b]);
    let text = String::from_utf8(bytes).map_err(|error| {
        let why = match gzip {
            true => "it is compressed by gzip; decompress it first",
            false => "it is not text in UTF-8",
        };
        (error.into_bytes(), why)
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Fields that loadline checks before it allocates memory for a run: the format, and the numbers of entries that take
/// much memory.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    format: Option<String>,
    trials: Vec<Parts>,
    hosts: Count,
    at_rest: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Parts {
    histograms: Count,
    classes: Count,
    addresses: Count,
    client_hosts: Count,
    host_loads: Count,
}

impl Head {
    fn sum(&self, of: impl Fn(&Parts) -> usize) -> usize {
        self.trials.iter().map(of).sum()
    }

    fn hosts(&self) -> usize {
        self.hosts.0 + self.at_rest.0 + self.sum(|trial| trial.client_hosts.0 + trial.host_loads.0)
    }
}

/// Number of elements in a list or an object. To count the elements, the reader skips them without reading them. An
/// element of a wrong type therefore causes an error only later, when the whole run is read.
#[derive(Default)]
struct Count(usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(Counted).map(Count)
    }
}

struct Counted;

impl<'de> Visitor<'de> for Counted {
    type Value = usize;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list or an object")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<usize, E> {
        Ok(0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<usize, A::Error> {
        let mut count = 0;
        while list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<usize, A::Error> {
        let mut count = 0;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

/// Returns the number of objects and the number of commas in a JSON text. Braces and commas inside JSON strings are not
/// counted.
fn weight(text: &str) -> (usize, usize) {
    let (mut objects, mut commas, mut quoted, mut escaped) = (0, 0, false, false);
    for byte in text.bytes() {
        match (quoted, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => quoted = !quoted,
            (false, b'{') => objects += 1,
            (false, b',') => commas += 1,
            _ => {}
        }
    }
    (objects, commas)
}

/// Refuses a text with too many objects or values.
pub(super) fn check_weight(name: &str, text: &str) -> Result<(), RunDirError> {
    let (objects, values) = weight(text);
    fits(name, &[(objects, MAX_RUN_OBJECTS, "objects"), (values, MAX_RUN_VALUES, "values")])
}

/// Returns an error for the first of `counts` that exceeds its limit. Without limits on the numbers of its entries, a
/// file of at most [`MAX_RUN_BYTES`] could take ten times its size in memory.
fn fits(name: &str, counts: &[(usize, usize, &str)]) -> Result<(), RunDirError> {
    let Some((found, most, what)) = counts.iter().find(|(found, most, _)| found > most) else { return Ok(()) };
    Err(RunDirError::TooLarge {
        path: name.into(),
        found: format!("{found} {what}"),
        most: *most as u64,
        advice: SMALLER_RUN,
    })
}

/// Returns the error for a text that cannot be parsed: a damaged run, or no run at all. A truncated file still contains
/// the format, because loadline writes the format first.
pub(super) fn unreadable(name: &str, text: &str, error: &serde_json::Error) -> RunDirError {
    match text.find(FORMAT_MARK) {
        Some(0..MAX_MARK_AT) => RunDirError::Parse { path: name.into(), message: error.to_string() },
        _ => RunDirError::NotARun { path: name.into() },
    }
}

/// Fails if `format`, the format of the file `name`, is not the format that this version of loadline reads. An empty
/// format means that the file is not a run.
pub(super) fn check_format(name: &str, format: &str) -> Result<(), RunDirError> {
    match format {
        FORMAT => Ok(()),
        "" => Err(RunDirError::NotARun { path: name.into() }),
        other => Err(RunDirError::Format { path: name.into(), found: other.into() }),
    }
}

/// Parses the text of a `run.json`. `name` is the file name for error messages.
pub fn parse_run(name: &str, text: &str) -> Result<Run, RunDirError> {
    check_weight(name, text)?;
    let head: Head = serde_json::from_str(text).map_err(|e| unreadable(name, text, &e))?;
    check_format(name, head.format.as_deref().unwrap_or_default())?;
    let histograms = head.sum(|trial| trial.histograms.0 + trial.classes.0 + trial.addresses.0);
    fits(
        name,
        &[
            (head.trials.len(), MAX_TRIALS, "trials"),
            (histograms, MAX_RUN_HISTOGRAMS, "histograms"),
            (head.hosts(), MAX_RUN_HOSTS, "hosts"),
        ],
    )?;
    drop(head);
    // The format of the run was already checked, so a parse error here means that the run is damaged.
    let damaged = |e: serde_json::Error| RunDirError::Parse { path: name.into(), message: e.to_string() };
    let mut run: Run = serde_json::from_str(text).map_err(damaged)?;
    run.redact_secrets();
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunDir, Trial};

    #[test]
    fn a_run_survives_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let kept = RunDir::create(&dir.path().join("a/b")).unwrap();
        let run = Run { format: FORMAT.into(), trials: vec![Trial::default()], ..Run::default() };
        kept.save(&run).unwrap();
        assert_eq!(load_run(kept.path()).unwrap(), run);
    }

    /// An earlier version of loadline advised to split the run, although the file was no run.
    #[test]
    fn a_file_that_is_too_large_gets_the_advice_of_its_reader() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "four").unwrap();
        let error = read_bytes(file.path(), 3, "name a file of requests").unwrap_err().to_string();
        assert!(error.contains("has 4 bytes, at most 3 are read; name a file of requests"), "{error}");
    }

    /// Editors of Windows begin a file with a byte order mark, or write UTF-16.
    #[test]
    fn a_byte_order_mark_is_no_part_of_a_text() {
        let words = "http://h/ü";
        let wide = |order: fn(u16) -> [u8; 2]| -> Vec<u8> {
            format!("\u{feff}{words}").encode_utf16().flat_map(order).collect()
        };
        let marked = format!("\u{feff}{words}").into_bytes();
        for bytes in [words.as_bytes().to_vec(), marked, wide(u16::to_le_bytes), wide(u16::to_be_bytes)] {
            assert_eq!(decode(bytes.clone()).as_deref(), Ok(words), "{bytes:?}");
        }
        assert!(decode(vec![0xff, 0xfe, 0, 0xd8]).is_err_and(|(_, why)| why.contains("UTF-16")));
        assert!(decode(vec![0x1f, 0x8b, 8]).is_err_and(|(_, why)| why.contains("gzip")));
    }

    #[test]
    fn text_in_strings_does_not_count_as_json_values() {
        assert_eq!(weight(r#"{"a":[1,2,{"b{,":"\\\",{"}],"c":"\\"}"#), (2, 3));
    }

    #[test]
    fn another_format_is_refused_by_name() {
        let error = parse_run("x.json", r#"{"format":"loadline-run/9"}"#).unwrap_err();
        assert!(error.to_string().contains("loadline-run/9"));
    }

    #[test]
    fn a_file_that_is_no_run_is_told_as_such_without_the_words_of_a_parser() {
        for text in [
            "127.0.0.1 - - [26/Nov/2026] \"GET / HTTP/1.1\"",
            "",
            "a,b\n1,2",
            "[1, 2]",
            "{}",
            "{\"uri\": 1}\n{\"uri\": 2}",
            "{\"a\": 1}",
        ] {
            let error = parse_run("a.log", text).unwrap_err().to_string();
            assert!(error.contains("a.log is not a run of loadline") && error.contains("run.json"), "{text}: {error}");
            assert!(!error.contains("line 1") && !error.contains("expected"), "{text}: {error}");
        }
        let cut = parse_run("run.json", "{\"format\":\"loadline-run/1\",\"trials\":[").unwrap_err().to_string();
        assert!(cut.contains("not a complete run") && cut.contains("line 1"), "{cut}");
    }
}
