//! SQL statements, one per line. A comment line such as `-- name=lookup weight=3` sets name and weight of the next
//! statement.

use run::{RequestPlan, STATEMENT_METHOD};

use crate::error::ReadError;
use crate::found::{Found, Imported, Source, checked_weight};
use crate::row::{FormatSpec, MAX_LINES_LOOKED_AT};

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "statements",
    help: "one statement of SQL per line; a line `-- name=lookup weight=3` is for the next one; {{places}} are filled",
    matches: |text| {
        let lines = text.lines().map(str::trim).take(MAX_LINES_LOOKED_AT);
        let mut statements = lines.filter(|line| !line.is_empty() && !line.starts_with("--"));
        statements.next().is_some_and(is_statement)
    },
    read,
};

/// First words of SQL statements.
const FIRST_WORDS: &[&str] = &[
    "ANALYZE", "BEGIN", "CALL", "COMMIT", "CREATE", "DELETE", "DO", "DROP", "EXECUTE", "EXPLAIN", "INSERT", "LOCK",
    "MERGE", "NOTIFY", "REFRESH", "RESET", "ROLLBACK", "SELECT", "SET", "SHOW", "START", "TABLE", "TRUNCATE", "UPDATE",
    "VACUUM", "VALUES", "WITH",
];

/// Returns true if a line begins like an SQL statement. A line that begins with an HTTP method and a URL, such as
/// `DELETE http://host/`, is no statement.
fn is_statement(line: &str) -> bool {
    let mut words = line.split([' ', '\t', '(', ';']);
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_url = second.starts_with('/') || run::UrlParts::parse(second).scheme.is_some();
    !is_url && FIRST_WORDS.iter().any(|word| word.eq_ignore_ascii_case(first))
}

fn read(source: &Source<'_>) -> Result<Imported, ReadError> {
    let mut all = Imported { templates: true, ..Imported::default() };
    let mut next = RequestPlan::default();
    for (number, line) in (1..).zip(source.text.trim_start_matches('\u{feff}').lines()) {
        let fail = |message| ReadError { file: source.file.into(), place: Some((number, 1)), message };
        match line.trim().strip_prefix("--") {
            Some(comment) => read_comment(comment, &mut next).map_err(fail)?,
            None if line.trim().is_empty() => {}
            None => all.found.push(Found {
                request: statement(line.trim(), std::mem::take(&mut next)),
                origin: None,
                recorded_us: None,
            }),
        }
    }
    Ok(all)
}

/// Returns the request for a statement, with the settings of the comments before it.
fn statement(text: &str, settings: RequestPlan) -> RequestPlan {
    RequestPlan { method: STATEMENT_METHOD.into(), body: text.trim_end_matches(';').into(), ..settings }
}

/// Reads the settings in a comment, in any order. A comment without settings changes nothing.
fn read_comment(comment: &str, next: &mut RequestPlan) -> Result<(), String> {
    for (name, value) in comment.split_whitespace().filter_map(|word| word.split_once('=')) {
        match name {
            "name" => next.name = value.into(),
            "weight" => {
                let weight =
                    value.parse::<f64>().map_err(|_| format!("a weight of {value:?}: give 0 or more, such as 3"))?;
                next.weight = checked_weight(weight)?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Imported, ReadError> {
        (FORMAT.read)(&Source { file: "s", text, folder: std::path::Path::new(".") })
    }

    #[test]
    fn lines_are_statements_with_names_and_weights() {
        let text = "-- the mix of the shop\n-- name=lookup weight=3\nSELECT {{seq}};\n\nUPDATE t SET n = n + 1\n";
        assert!((FORMAT.matches)(text));
        let all = read(text).unwrap();
        let told: Vec<_> =
            all.found.iter().map(|f| (f.request.name.as_str(), f.request.weight, f.request.body.as_str())).collect();
        assert_eq!(told, [("lookup", 3.0, "SELECT {{seq}}"), ("", 1.0, "UPDATE t SET n = n + 1")]);
        assert!(all.templates && all.found.iter().all(|found| found.request.method == STATEMENT_METHOD));
        let error = read("-- weight=x\nSELECT 1\n").unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("give 0 or more"), "{error}");
    }

    #[test]
    fn requests_of_http_are_no_statements() {
        for text in ["DELETE http://h/", "LOCK /a", "GET /", "select.html", "[[request]]"] {
            assert!(!(FORMAT.matches)(text), "{text}");
        }
        assert!((FORMAT.matches)("-- x\nbegin;\n") && (FORMAT.matches)("values(1)"));
    }
}
