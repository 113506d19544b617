//! SQLSTATE codes of failed statements, as statuses with names.

/// Status of the first row of [`SQLSTATES`].
const FIRST_STATUS: u16 = 2000;

/// SQLSTATE codes, each with PostgreSQL's words for it. The rows of single codes come first; after them, each class of
/// codes has one row. The row of a class begins with the first two characters of the class's codes, followed by `xxx`.
/// The last row is for codes of unknown classes. Source: PostgreSQL's manual, "PostgreSQL Error Codes".
const SQLSTATES: &[&str] = &[
    "08P01 protocol violation",
    "0A000 feature not supported",
    "21000 cardinality violation",
    "22001 string data right truncation",
    "22003 numeric value out of range",
    "22004 null value not allowed",
    "22007 invalid datetime format",
    "22008 datetime field overflow",
    "22012 division by zero",
    "22021 character not in repertoire",
    "22023 invalid parameter value",
    "22P02 invalid text representation",
    "22P03 invalid binary representation",
    "23502 not null violation",
    "23503 foreign key violation",
    "23505 unique violation",
    "23514 check violation",
    "23P01 exclusion violation",
    "25001 active SQL transaction",
    "25006 read only SQL transaction",
    "25P01 no active SQL transaction",
    "25P02 in failed SQL transaction",
    "25P03 idle in transaction session timeout",
    "26000 invalid SQL statement name",
    "28000 invalid authorization specification",
    "28P01 invalid password",
    "3D000 invalid catalog name",
    "40001 serialization failure",
    "40P01 deadlock detected",
    "42501 insufficient privilege",
    "42601 syntax error",
    "42702 ambiguous column",
    "42703 undefined column",
    "42704 undefined object",
    "42804 datatype mismatch",
    "42883 undefined function",
    "42P01 undefined table",
    "42P02 undefined parameter",
    "42P05 duplicate prepared statement",
    "42P07 duplicate table",
    "42P18 indeterminate datatype",
    "53100 disk full",
    "53200 out of memory",
    "53300 too many connections",
    "53400 configuration limit exceeded",
    "54001 statement too complex",
    "55000 object not in prerequisite state",
    "55006 object in use",
    "55P03 lock not available",
    "57014 query canceled",
    "57P01 admin shutdown",
    "57P02 crash shutdown",
    "57P03 cannot connect now",
    "57P04 database dropped",
    "57P05 idle session timeout",
    "58030 I/O error",
    "P0001 raise exception",
    "P0002 no data found",
    "XX000 internal error",
    "XX001 data corrupted",
    "03xxx statement not yet complete",
    "08xxx connection exception",
    "20xxx case not found",
    "22xxx data exception",
    "23xxx integrity constraint violation",
    "24xxx invalid cursor state",
    "25xxx invalid transaction state",
    "27xxx triggered data change violation",
    "28xxx invalid authorization specification",
    "2Bxxx dependent privilege descriptors still exist",
    "2Dxxx invalid transaction termination",
    "2Fxxx SQL routine exception",
    "34xxx invalid cursor name",
    "38xxx external routine exception",
    "39xxx external routine invocation exception",
    "3Bxxx savepoint exception",
    "3Fxxx invalid schema name",
    "40xxx transaction rollback",
    "42xxx syntax error or access rule violation",
    "44xxx with check option violation",
    "53xxx insufficient resources",
    "54xxx program limit exceeded",
    "55xxx object not in prerequisite state",
    "57xxx operator intervention",
    "58xxx system error",
    "F0xxx configuration file error",
    "HVxxx foreign data wrapper error",
    "P0xxx PL/pgSQL error",
    "XXxxx internal error",
    "other SQLSTATE",
];

/// Returns the status of a SQLSTATE code. A code that has no row in `SQLSTATES` gets the status of its class.
pub fn sqlstate_status(code: &str) -> u16 {
    let class = code.get(..2).unwrap_or_default();
    let is_code = |row: &&str| row.split(' ').next() == Some(code);
    let is_class = |row: &&str| row.strip_prefix(class).is_some_and(|rest| rest.starts_with("xxx"));
    let row = SQLSTATES.iter().position(is_code).or_else(|| SQLSTATES.iter().position(is_class));
    FIRST_STATUS + row.unwrap_or(SQLSTATES.len() - 1) as u16
}

/// Returns true if a status stands for a SQLSTATE code.
pub(super) const fn is_sqlstate(status: u16) -> bool {
    status >= FIRST_STATUS && ((status - FIRST_STATUS) as usize) < SQLSTATES.len()
}

/// Returns the code and the words of a status; `None` if the status stands for no SQLSTATE code.
pub(super) fn sqlstate_name(status: u16) -> Option<&'static str> {
    SQLSTATES.get(usize::from(status.checked_sub(FIRST_STATUS)?)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_their_words_and_unknown_ones_those_of_their_class() {
        for (code, name) in [
            ("40001", "40001 serialization failure"),
            ("22099", "22xxx data exception"),
            ("U0001", "other SQLSTATE"),
            ("", "other SQLSTATE"),
            ("é", "other SQLSTATE"),
        ] {
            assert_eq!(sqlstate_name(sqlstate_status(code)), Some(name), "{code}");
        }
        assert_eq!((sqlstate_name(404), sqlstate_name(u16::MAX)), (None, None));
        assert!(is_sqlstate(sqlstate_status("U0001")) && !is_sqlstate(u16::MAX) && !is_sqlstate(1016));
    }
}
