//! Rows of values for the placeholders of requests: CSV with a header line, or one JSON object per line.

use std::path::Path;

use run::{DataOrder, DataTable};
use serde_json::{Map, Value};

use crate::error::{ReadError, shown};

/// Maximum size of a file, bytes.
const MAX_BYTES: u64 = 256 << 20;

/// Reads the table of values for placeholders from a file. The first character of the table shows whether it is CSV or
/// JSON.
pub fn read_data(path: &Path, order: DataOrder) -> Result<DataTable, ReadError> {
    let name = path.display().to_string();
    let fail = |place, message: String| ReadError { file: name.clone(), place, message };
    let advice = "name a CSV file whose first line has the names of the columns, or a file with a JSON object a line";
    let text = run::read_text(path, MAX_BYTES, advice).map_err(|e| crate::error::unread(&e))?;
    let read = if text.trim_start().starts_with('{') { json_lines(&text) } else { csv(&text) };
    let (columns, rows) = read.map_err(|(place, why)| fail(place, why))?;
    if rows.is_empty() {
        return Err(fail(None, format!("it has no rows; {advice}")));
    }
    for (number, row) in (0..).zip(&rows) {
        let bad = columns.iter().zip(&row.1).find(|(_, value)| value.chars().any(char::is_control));
        if let Some((column, value)) = bad {
            let why = format!(
                "the value of {column:?} in row {} has a line end or another control character: {}",
                number + 1,
                shown(value)
            );
            return Err(fail(Some((row.0, 1)), why));
        }
    }
    let rows = rows.into_iter().map(|(_, values)| values).collect();
    Ok(DataTable { columns, rows, order, ..DataTable::default() })
}

/// Column names, and each row with its line number.
type Rows = (Vec<String>, Vec<(usize, Vec<String>)>);
/// Place of an error (line and column, counted from 1; `None` if unknown), and the error's message.
type PlacedError = (Option<(usize, usize)>, String);

fn csv(text: &str) -> Result<Rows, PlacedError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::Headers).from_reader(text.as_bytes());
    let wrong = |e: csv::Error| {
        let place = e.position().map(|at| (at.line() as usize, 1));
        let why = match e.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("{len} values where the first line names {expected_len} columns")
            }
            _ => e.to_string(),
        };
        (place, why)
    };
    let columns: Vec<String> = reader.headers().map_err(wrong)?.iter().map(str::to_owned).collect();
    check_names(&columns)?;
    let row = |row: csv::Result<csv::StringRecord>| {
        let row = row.map_err(wrong)?;
        let line = row.position().map_or(0, |at| at.line() as usize);
        Ok((line, row.iter().map(str::to_owned).collect()))
    };
    Ok((columns, reader.records().map(row).collect::<Result<_, PlacedError>>()?))
}

/// Checks that all column names can be used in `{{…}}`.
fn check_names(columns: &[String]) -> Result<(), PlacedError> {
    let good = |name: &String| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    match columns.iter().position(|name| !good(name)) {
        Some(at) => {
            let why = format!("{} is not a name of a column; use letters, digits, _, - and .", shown(&columns[at]));
            Err((Some((1, 1)), why))
        }
        None => Ok(()),
    }
}

fn json_lines(text: &str) -> Result<Rows, PlacedError> {
    let mut columns: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let object: Map<String, Value> = serde_json::from_str(line)
            .map_err(|e| (Some((number, e.column().max(1))), format!("not a JSON object: {e}")))?;
        if columns.is_empty() {
            columns = object.keys().cloned().collect();
            check_names(&columns)?;
        }
        let value = |name: &String| match object.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Ok(other.to_string()),
            None => Err((Some((number, 1)), format!("it has no {name:?}, which the first line has"))),
        };
        rows.push((number, columns.iter().map(value).collect::<Result<_, PlacedError>>()?));
    }
    Ok((columns, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<DataTable, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d");
        std::fs::write(&path, text).unwrap();
        read_data(&path, DataOrder::Cycle).map_err(|e| e.to_string())
    }

    #[test]
    fn csv_and_json_lines_are_the_same_table() {
        let csv = of("user, term\nann,\"a, b\"\nbob,\n").unwrap();
        assert_eq!(
            (csv.columns, csv.rows[0].clone()),
            (vec!["user".into(), "term".into()], vec!["ann".into(), "a, b".into()])
        );
        let json = of("{\"term\": \"a, b\", \"user\": \"ann\"}\n{\"user\": \"bob\", \"term\": 3}\n").unwrap();
        assert_eq!(json.rows, [["a, b", "ann"], ["3", "bob"]]);
    }

    #[test]
    fn mistakes_have_their_line() {
        for (text, says) in [
            ("a,b\n1,2\n3\n", "line 3, column 1: 1 values where the first line names 2 columns"),
            ("a b\n1\n", "is not a name of a column"),
            ("a\n\"x\ny\"\n", "line 2, column 1: the value of \"a\" in row 1 has a line end"),
            ("{\"a\": 1}\n{\"b\": 1}\n", "line 2, column 1: it has no \"a\""),
            ("{\"a\": 1}\n{\n", "line 2, column"),
            ("a\n", "no rows"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(says), "{text:?}: {error}");
        }
    }
}
