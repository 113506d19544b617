//! Flag values that are names of table rows. Help and shell completions list the names of all rows of a table. If the
//! user writes a wrong name, the command itself suggests the nearest right name.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

use crate::tables::TABLES;

/// Names that a flag offers as its values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Names {
    /// Names of the rows of one table of `loadline list`. An empty table name means the rows of all tables.
    Rows(&'static str),
    /// Names of the tables of `loadline list`.
    Tables,
    /// Output forms of results other than runs, such as comparisons.
    AnswerForms,
}

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        flag: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, flag, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let rows = |name: &'static str| TABLES.iter().filter(move |t| name.is_empty() || t.name == name);
        match *self {
            Self::Rows(name) => {
                Some(Box::new(rows(name).flat_map(|t| (t.rows)()).map(|row| PossibleValue::new(row.id))))
            }
            Self::Tables => Some(Box::new(TABLES.iter().map(|t| PossibleValue::new(t.name)))),
            Self::AnswerForms => Some(Box::new(report::ANSWER_FORMS.into_iter().map(PossibleValue::new))),
        }
    }
}
