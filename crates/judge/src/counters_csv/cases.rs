//! Reads the cases of a file of counters, and names each mistake with its place.

use std::collections::BTreeSet;

use super::quantities::{self, QUANTITIES, Values};

/// Maximum value of a collected figure. No counter of a real machine is larger, and floating-point products of larger
/// figures would be inexact.
const MOST: f64 = 1e15;

/// Maximum number of cases in a file. The time of the analysis grows with the square of the number of cases, since each
/// case is compared with all others.
pub const MAX_CASES: usize = run::MAX_TRIALS;

/// Maximum size of a file, bytes: 800 bytes per case.
pub const MAX_BYTES: u64 = 8 << 20;

/// One operating point, with its collected figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// Name of the operating point.
    pub name: String,
    /// Collected figures, by column.
    pub values: Values,
    /// Values that a book or paper printed for a quantity, by quantity.
    pub printed: Values,
}

/// Reason why a file could not be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CsvError {
    /// The file has no header line.
    #[error("the file is empty: the first line must name the columns, beginning with `case`")]
    Empty,
    /// The file has too many cases (operating points).
    #[error("the file has {0} cases, at most {MAX_CASES} are read; give one line an operating point, not one a sample")]
    Cases(usize),
    /// The first column is not `case`.
    #[error("the first column is `{0}`: it must be `case`, the name of the operating point")]
    NoCase(String),
    /// The file has a column that no quantity uses.
    #[error("column `{name}` is not known{near}; the known ones are: {known}")]
    Column {
        /// Name of the column that no quantity uses.
        name: String,
        /// Part of the error message that suggests the known column with the most similar name; empty if there is none.
        near: String,
        /// Names of all known columns.
        known: String,
    },
    /// The header names a column twice, so one of two figures would be ignored.
    #[error("the first line names column `{0}` twice: rename or remove one of them")]
    ColumnTwice(String),
    /// Two lines have the same case, so their figures would be mixed up.
    #[error("line {line}: there is another case `{name}`; give each operating point a name of its own")]
    CaseTwice {
        /// Number of the second line in the file, counted from 1.
        line: usize,
        /// Name of both cases.
        name: String,
    },
    /// A cell of the table is not a number.
    #[error("line {line}, column `{column}`: `{text}` is not a number; leave the cell empty if the value is not known")]
    Number {
        /// Number of the line in the file, counted from 1.
        line: usize,
        /// Column of the invalid cell.
        column: String,
        /// Text of the invalid cell.
        text: String,
    },
    /// A collected figure is not between 0 and 1e15.
    #[error("line {line}, column `{column}`: {text} is out of range; give 0 to 1e15, or leave the cell empty")]
    Range {
        /// Number of the line in the file, counted from 1.
        line: usize,
        /// Column of the invalid cell.
        column: String,
        /// Text of the invalid cell.
        text: String,
    },
    /// A line has more or fewer cells than the header.
    #[error("line {line} has {found} cells, the first line names {wanted}")]
    Cells {
        /// Number of the line in the file, counted from 1.
        line: usize,
        /// Number of cells in the row.
        found: usize,
        /// Number of columns in the header.
        wanted: usize,
    },
}

/// Reads the cases of a file.
pub fn read(text: &str) -> Result<Vec<Case>, CsvError> {
    let lines = text.lines().enumerate().map(|(i, l)| (i + 1, l.trim_end_matches('\r')));
    let mut lines = lines.filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let (_, header) = lines.next().ok_or(CsvError::Empty)?;
    let columns = header.trim_start_matches('\u{feff}').split(',').map(str::trim).collect::<Vec<_>>();
    check(&columns)?;
    let cases = lines.clone().count();
    if cases > MAX_CASES {
        return Err(CsvError::Cases(cases));
    }
    let mut names = BTreeSet::new();
    let distinct = |(line, text)| {
        let case = case(line, text, &columns)?;
        let is_new = names.insert(case.name.clone());
        if is_new { Ok(case) } else { Err(CsvError::CaseTwice { line, name: case.name }) }
    };
    lines.map(distinct).collect()
}

fn check(columns: &[&str]) -> Result<(), CsvError> {
    match columns.first() {
        Some(&"case") => {}
        first => return Err(CsvError::NoCase((*first.unwrap_or(&"")).to_string())),
    }
    let twice = columns.iter().enumerate().find(|(at, column)| columns[..*at].contains(column));
    if let Some((_, column)) = twice {
        return Err(CsvError::ColumnTwice((*column).to_string()));
    }
    let known = quantities::columns();
    let names: Vec<&str> = QUANTITIES.iter().map(|q| q.id).collect();
    for column in &columns[1..] {
        let (name, among) = match column.strip_prefix("printed.") {
            Some(name) => (name, &names),
            None => (*column, &known),
        };
        if !among.contains(&name) {
            let near = run::nearest(name, among.iter().copied()).map(|n| format!("; did you mean `{n}`?"));
            let (name, near) = ((*column).to_string(), near.unwrap_or_default());
            return Err(CsvError::Column { name, near, known: among.join(", ") });
        }
    }
    Ok(())
}

fn case(line: usize, text: &str, columns: &[&str]) -> Result<Case, CsvError> {
    let cells: Vec<&str> = text.split(',').map(str::trim).collect();
    if cells.len() != columns.len() {
        return Err(CsvError::Cells { line, found: cells.len(), wanted: columns.len() });
    }
    let mut case = Case { name: (*cells.first().unwrap_or(&"")).to_string(), ..Case::default() };
    for (column, cell) in columns.iter().zip(&cells).skip(1).filter(|(_, cell)| !cell.is_empty()) {
        let value = cell.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or_else(|| CsvError::Number {
            line,
            column: (*column).to_string(),
            text: (*cell).to_string(),
        })?;
        match column.strip_prefix("printed.") {
            Some(quantity) => case.printed.insert(quantity.to_string(), value),
            // Collected figures are counts, rates and shares, which are never negative. Only a printed figure may be
            // negative.
            None if (0.0..=MOST).contains(&value) => case.values.insert((*column).to_string(), value),
            None => return Err(CsvError::Range { line, column: (*column).to_string(), text: (*cell).to_string() }),
        };
    }
    Ok(case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_columns_and_cases_are_refused() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert!(error("case,clients,clients\na,1,2\n").contains("column `clients` twice"));
        assert!(error("case,printed.cpu_us,printed.cpu_us\na,1,2\n").contains("`printed.cpu_us` twice"));
        assert_eq!(error("case,clients\na,1\nb,2\na,3\n").split(';').next(), Some("line 4: there is another case `a`"));
        assert_eq!(read("case,clients\na,1\nb,1\n").unwrap().len(), 2);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        assert_eq!(read(""), Err(CsvError::Empty));
        assert_eq!(read("# nothing\n"), Err(CsvError::Empty));
        assert!(read("name,clients\n").unwrap_err().to_string().contains("`case`"));
        let near = read("case,cliens\n").unwrap_err().to_string();
        assert!(near.contains("did you mean `clients`?"), "{near}");
        assert!(read("case,clients\na,x\n").unwrap_err().to_string().contains("line 2"));
        assert!(read("case,clients\n\na,1,2\n").unwrap_err().to_string().contains("line 3 has 3 cells"));
        for wrong in ["-5", "1e308"] {
            let error = read(&format!("case,clients\na,1\nb,{wrong}\n")).unwrap_err().to_string();
            assert!(error.contains("line 3, column `clients`") && error.contains(wrong), "{error}");
        }
        assert_eq!(read("case,clients\na,\n").unwrap()[0].values.len(), 0);
    }
}
