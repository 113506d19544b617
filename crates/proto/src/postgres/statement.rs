//! SQL statements of a load. Statements without placeholders are encoded once, before the load. Values for placeholders
//! are filled into the text for every send, or sent as parameters of prepared statements.

use bytes::BytesMut;
use fastrand::Rng;
use postgres_protocol::message::frontend;
use run::RequestSet;

use super::messages;
use crate::ProtoError;
use crate::template::{Piece, Source};

/// Statement of a load for which the user gives no statements.
const DEFAULT_STATEMENT: &str = "SELECT 1";
/// First words of statements that do not change data.
const READS: &[&str] = &["SELECT", "SHOW", "TABLE", "VALUES"];

/// One statement.
pub(super) struct Statement {
    /// Messages to send; empty if values are filled in for every send.
    pub(super) bytes: Box<[u8]>,
    /// Message that prepares the statement; empty if the statement is sent as text.
    pub(super) preparation: Box<[u8]>,
    /// True if the statement does not change data.
    pub(super) only_reads: bool,
    filled: Option<Filled>,
}

/// A statement into which values are filled for every send.
enum Filled {
    /// Text of the statement, cut into constant pieces and placeholders. The flag of a placeholder is true if the
    /// placeholder is within single quotation marks.
    Text(Vec<(Piece, bool)>),
    /// Name of the prepared statement, and the values for its parameters.
    Parameters(String, Vec<Piece>),
}

/// Encodes the statements of a set; without a set, encodes [`DEFAULT_STATEMENT`].
pub(super) fn statements(
    set: Option<&RequestSet>,
    source: Option<&Source>,
    prepared: bool,
) -> Result<Vec<Statement>, ProtoError> {
    let Some(set) = set else { return Ok(vec![Statement::new(DEFAULT_STATEMENT, 0, None, prepared)?]) };
    let each = set.requests.iter().enumerate().map(|(at, request)| {
        let in_set = |error| ProtoError::InSet { place: at + 1, name: request.called(), error: Box::new(error) };
        Statement::new(&request.body, at, source, prepared).map_err(in_set)
    });
    each.collect()
}

impl Statement {
    fn new(text: &str, at: usize, source: Option<&Source>, prepared: bool) -> Result<Self, ProtoError> {
        let wrong = |advice| ProtoError::Invalid { what: "the statement", value: text.into(), advice };
        if text.trim().is_empty() || text.contains('\0') {
            return Err(wrong("give a statement of SQL without zero bytes"));
        }
        let first = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let only_reads = READS.iter().any(|read| read.eq_ignore_ascii_case(first));
        let source = source.filter(|source| source.fills(text.as_bytes()));
        let pieces = source.map_or_else(|| Ok(vec![Piece::Text(text.as_bytes().into())]), |s| s.cut(text, false))?;
        let mut statement = Self { bytes: Box::default(), preparation: Box::default(), only_reads, filled: None };
        if prepared {
            let advice = "a place of a prepared statement is a whole value: write it without text beside it in the same \
                          quotation marks, or leave --prepared out";
            let (sql, parameters) = with_parameters(pieces).ok_or_else(|| wrong(advice))?;
            let name = format!("s{at}");
            statement.preparation = preparation(&name, &sql).ok_or_else(|| wrong("it cannot be prepared"))?;
            statement.filled = Some(Filled::Parameters(name, parameters));
        } else {
            statement.filled = Some(Filled::Text(with_quotes(pieces)));
        }
        if source.is_none() {
            let mut bytes = Vec::new();
            statement.write(&mut bytes, |_, _| {});
            (statement.bytes, statement.filled) = (bytes.into(), None);
        }
        Ok(statement)
    }

    /// Appends the statement's messages, with values for one send. Appends nothing if the statement has no
    /// placeholders.
    pub(super) fn fill(&self, source: &Source, rng: &mut Rng, out: &mut Vec<u8>) {
        if self.filled.is_some() {
            let index = source.next_index(rng);
            self.write(out, |piece, out| source.fill(std::slice::from_ref(piece), index, &[], rng, out));
        }
    }

    /// Appends the statement's messages. `fill` appends the value of a placeholder.
    fn write(&self, out: &mut Vec<u8>, mut fill: impl FnMut(&Piece, &mut Vec<u8>)) {
        match &self.filled {
            None => {}
            Some(Filled::Text(pieces)) => messages::query(out, |out| {
                for (piece, quoted) in pieces {
                    match piece {
                        Piece::Text(text) => out.extend_from_slice(text),
                        piece => {
                            let begin = out.len();
                            fill(piece, out);
                            if *quoted {
                                double_quotes(out, begin);
                            }
                        }
                    }
                }
            }),
            Some(Filled::Parameters(name, parameters)) => {
                messages::execute(out, name, parameters.len() as u16, |at, out| {
                    fill(&parameters[usize::from(at)], out)
                });
            }
        }
    }
}

/// Returns the Parse message that prepares a statement; `None` if the statement cannot be encoded.
fn preparation(name: &str, sql: &str) -> Option<Box<[u8]>> {
    let mut bytes = BytesMut::new();
    frontend::parse(name, sql, [], &mut bytes).ok()?;
    Some(bytes[..].into())
}

/// Returns true if the end of a text lies within single quotation marks.
fn ends_in_quotes(text: &[u8]) -> bool {
    text.iter().filter(|byte| **byte == b'\'').count() % 2 == 1
}

/// Adds to each piece a flag that is true if the piece ends within single quotation marks.
fn with_quotes(pieces: Vec<Piece>) -> Vec<(Piece, bool)> {
    let mut quoted = false;
    let each = pieces.into_iter().map(|piece| {
        if let Piece::Text(text) = &piece {
            quoted ^= ends_in_quotes(text);
        }
        (piece, quoted)
    });
    each.collect()
}

/// Doubles the quotation marks of the value from position `begin` on, so that the value cannot end the surrounding
/// quoted text.
fn double_quotes(out: &mut Vec<u8>, begin: usize) {
    if out[begin..].contains(&b'\'') {
        let value = out.split_off(begin);
        for byte in value {
            out.extend(std::iter::repeat_n(byte, 1 + usize::from(byte == b'\'')));
        }
    }
}

/// Replaces the placeholders of a statement by `$1`, `$2` and so on, and removes the quotation marks around the
/// placeholders. Returns the statement and its parameters. Returns `None` if a placeholder is only a part of a quoted
/// text, or if there are too many placeholders.
fn with_parameters(pieces: Vec<Piece>) -> Option<(String, Vec<Piece>)> {
    let (mut sql, mut parameters, mut closes) = (String::new(), Vec::new(), false);
    for piece in pieces {
        if let Piece::Text(text) = &piece {
            let text = std::str::from_utf8(text).ok()?;
            sql.push_str(if closes { text.strip_prefix('\'')? } else { text });
            closes = false;
            continue;
        }
        if closes {
            return None;
        }
        if ends_in_quotes(sql.as_bytes()) {
            sql.truncate(sql.strip_suffix('\'')?.len());
            closes = true;
        }
        parameters.push(piece);
        sql = format!("{sql}${}", parameters.len());
    }
    (!closes && parameters.len() <= usize::from(u16::MAX)).then_some((sql, parameters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        let data = run::DataTable {
            columns: vec!["name".into()],
            rows: vec![vec!["O'Hara".into()]],
            ..run::DataTable::default()
        };
        Source::new(&RequestSet { data: Some(data), templates: true, ..RequestSet::default() })
    }

    fn sent(text: &str, prepared: bool) -> String {
        let (source, mut rng, mut out) = (source(), Rng::with_seed(1), Vec::new());
        let statement = Statement::new(text, 3, Some(&source), prepared).unwrap();
        statement.fill(&source, &mut rng, &mut out);
        out.extend_from_slice(&statement.bytes);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_in_quotation_marks_cannot_end_them() {
        assert_eq!(
            sent("SELECT '{{name}}', \"{{name}}\", {{seq}}", false),
            "Q\0\0\0\x22SELECT 'O''Hara', \"O'Hara\", 1\0"
        );
        assert_eq!(sent("SELECT 1", false), "Q\0\0\0\x0dSELECT 1\0");
    }

    #[test]
    fn places_of_prepared_statements_are_parameters() {
        let bound = "B\0\0\0\x1d\0s3\0\0\0\0\x02\0\0\0\x06O'Hara\0\0\0\x011\0\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
        assert_eq!(sent("SELECT f('{{name}}', {{seq}})", true), bound);
        let source = source();
        let sql = |text: &str| with_parameters(source.cut(text, false).unwrap()).map(|(sql, _)| sql);
        assert_eq!(sql("SELECT '{{name}}'::text, {{seq}}").as_deref(), Some("SELECT $1::text, $2"));
        for text in ["SELECT 'a{{name}}'", "SELECT '{{name}}b'", "SELECT '{{name}}{{seq}}'", "SELECT '{{name}}"] {
            assert_eq!(sql(text), None, "{text}");
        }
    }

    #[test]
    fn only_reading_statements_may_be_sent_again() {
        let reads = |text: &str| Statement::new(text, 0, None, false).unwrap().only_reads;
        assert!(reads("select 1") && reads("VALUES(1)") && !reads("DELETE FROM t") && !reads("WITH x AS (SELECT 1)"));
        assert!(Statement::new(" ", 0, None, false).is_err() && Statement::new("a\0b", 0, None, false).is_err());
    }
}
