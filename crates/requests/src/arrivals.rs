//! Times at which requests are due, from a file: one time in seconds per line, or a column of a CSV file.

use std::path::Path;

use run::RecordedTimes;

use crate::error::{ReadError, shown};

/// Maximum size of a file, bytes.
const MAX_BYTES: u64 = 64 << 20;
/// Maximum number of arrival times in a file.
const MAX_TIMES: usize = 1_000_000;
/// Maximum time from the first to the last request, seconds: four weeks.
const MAX_SPAN_S: f64 = 28.0 * 86_400.0;

/// Place of an error (line and column, counted from 1; `None` if unknown), and the error's message.
type PlacedError = (Option<(usize, usize)>, String);

/// Reads arrival times of requests from a file. The file may have the times in any order. The earliest time is the
/// start of the load. If `column` is given, the file is CSV and its first line names the columns. Also returns remarks
/// on unusual times.
pub fn read_arrivals(path: &Path, column: Option<&str>) -> Result<(RecordedTimes, Vec<String>), ReadError> {
    let file = path.display().to_string();
    let advice = "name a file with a time in seconds a line, or with --arrivals-column a column of a CSV file";
    let fail = |(place, message): PlacedError| ReadError { file: file.clone(), place, message };
    let text = run::read_text(path, MAX_BYTES, advice).map_err(|e| crate::error::unread(&e))?;
    let times = times(&text, column).map_err(fail)?;
    let remarks = remarks(&times).into_iter().map(|remark| format!("{file}: {remark}")).collect();
    Ok((recorded(times).map_err(fail)?, remarks))
}

/// Returns a remark if times are not in order, and a remark if times are negative. Each remark names the first time
/// that is out of order or negative.
fn remarks(times: &[f64]) -> Vec<String> {
    let earlier = times.windows(2).find(|two| two[1] < two[0]);
    let earlier =
        earlier.map(|two| format!("the times are not in order and are sorted: {} follows {}", two[1], two[0]));
    let negative = times.iter().find(|time| **time < 0.0);
    let negative =
        negative.map(|time| format!("some times are negative, such as {time}: the load begins at the earliest time"));
    earlier.into_iter().chain(negative).collect()
}

/// Sorts arrival times and turns them into the gaps between them.
fn recorded(mut times: Vec<f64>) -> Result<RecordedTimes, PlacedError> {
    times.sort_by(f64::total_cmp);
    let (Some(first), Some(last)) = (times.first().copied(), times.last().copied()) else {
        return Err((None, "it has no times; write one a line, in seconds".into()));
    };
    if times.len() < 2 || last - first > MAX_SPAN_S {
        let why =
            format!("{} times over {:.0} s; give at least two, over four weeks at most", times.len(), last - first);
        return Err((None, why));
    }
    let since_us = |at: f64| ((at - first) * 1e6).round() as u64;
    let gaps_us = times.iter().scan(0, |before, at| {
        let at_us = since_us(*at);
        Some(at_us - std::mem::replace(before, at_us))
    });
    Ok(RecordedTimes { gaps_us: gaps_us.collect(), items: Vec::new(), speed: 1.0 })
}

fn times(text: &str, column: Option<&str>) -> Result<Vec<f64>, PlacedError> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(column.is_some())
        .comment(Some(b'#'))
        .flexible(column.is_none())
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let at = match column {
        Some(name) => find_column(name, reader.headers().map_err(wrong)?)?,
        None => 0,
    };
    let mut times = Vec::new();
    for row in reader.records() {
        let row = row.map_err(wrong)?;
        let line = row.position().map_or(0, |at| at.line() as usize);
        if column.is_none() && row.len() > 1 {
            return Err((Some((line, 1)), several(&row)));
        }
        if times.len() >= MAX_TIMES {
            return Err((Some((line, 1)), format!("more than {MAX_TIMES} times; give a part of them")));
        }
        times.push(time(row.get(at).unwrap_or_default()).map_err(|why| (Some((line, 1)), why))?);
    }
    Ok(times)
}

fn find_column(name: &str, names: &csv::StringRecord) -> Result<usize, PlacedError> {
    names.iter().position(|column| column == name).ok_or_else(|| {
        let near = run::nearest(name, names.iter()).map_or(String::new(), |near| format!("; did you mean {near}?"));
        let all: Vec<&str> = names.iter().take(20).collect();
        (Some((1, 1)), format!("there is no column {name:?}{near} (its columns: {})", shown(&all.join(", "))))
    })
}

fn several(row: &csv::StringRecord) -> String {
    let line = row.iter().collect::<Vec<_>>().join(",");
    format!("several values: {}; name the column of the times by --arrivals-column", shown(&line))
}

/// Parses a time in seconds, counted from any moment: only differences of times matter.
fn time(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && seconds.abs() < 1e12);
    seconds.ok_or_else(|| format!("{} is not a time; write seconds, such as 12.345 or 1700000000.25", shown(text)))
}

fn wrong(e: csv::Error) -> PlacedError {
    let place = e.position().map(|at| (at.line() as usize, 1));
    (place, e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, column: Option<&str>) -> Result<Vec<u64>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("times");
        std::fs::write(&path, text).unwrap();
        read_arrivals(&path, column).map(|(times, _)| times.gaps_us).map_err(|e| e.to_string())
    }

    /// An earlier version of loadline accepted unordered and negative times without a remark.
    #[test]
    fn unusual_times_are_named() {
        assert_eq!(remarks(&[0.1, 0.05, 0.2]), ["the times are not in order and are sorted: 0.05 follows 0.1"]);
        assert!(remarks(&[-1.0, 0.0])[0].starts_with("some times are negative, such as -1:"));
        assert_eq!((remarks(&[0.0, 1.0, 1.0]), remarks(&[2.0, -1.0]).len()), (Vec::new(), 2));
    }

    #[test]
    fn times_are_lines_or_a_column_and_the_first_is_the_begin() {
        assert_eq!(read("# seconds\n10.5\n10.25\n\n11\n", None), Ok(vec![0, 250_000, 500_000]));
        let csv = "path, at\n/a,1700000000.5\n/b,1700000001.0\n";
        assert_eq!(read(csv, Some("at")), Ok(vec![0, 500_000]));
        assert_eq!(read("-1\n1\n", None), Ok(vec![0, 2_000_000]));
    }

    #[test]
    fn mistakes_have_their_line() {
        for (text, column, says) in [
            ("1\n2\nthree\n", None, "line 3, column 1: \"three\" is not a time"),
            ("1\nnan\n", None, "line 2, column 1: \"nan\" is not a time"),
            ("at,path\n1,/a\n", None, "line 1, column 1: several values: \"at,path\"; name the column"),
            ("at,path\n1,/a\n", Some("att"), "did you mean at?"),
            ("at,path\n1,/a\n2\n", Some("at"), "line 3"),
            ("1\n", None, "give at least two"),
            ("", None, "it has no times"),
            ("0\n1e10\n", None, "four weeks at most"),
        ] {
            let error = read(text, column).unwrap_err();
            assert!(error.contains(says), "{text:?}: {error}");
        }
    }
}
