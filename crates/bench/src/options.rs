//! Arguments of the benchmark program.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::groups;
use crate::row::{Effort, Row, RowSet};

/// Task of the benchmark program.
#[derive(Debug, PartialEq)]
pub(crate) enum Job {
    /// Measures rows.
    Measure,
    /// Lists all rows.
    List,
    /// Writes the tables of a stored benchmark into a page.
    WritePage {
        /// File of the stored benchmark.
        stored: PathBuf,
        /// Markdown file that gets the tables.
        page: PathBuf,
    },
}

/// Parsed arguments.
#[derive(Debug)]
pub(crate) struct Options {
    /// Task of the program.
    pub(crate) job: Job,
    /// Set of rows to measure. If words choose the rows, the set only determines their effort.
    pub(crate) set: RowSet,
    /// Number of rounds for every row. `None`: each row has its planned number of rounds.
    rounds: Option<usize>,
    /// File to which the result is written as JSON.
    pub(crate) save: Option<PathBuf>,
    /// Words that choose the rows to measure: a row is measured if its ID contains at least one of the words. If there
    /// are no words, all rows of `set` are measured.
    words: Vec<String>,
}

impl Options {
    /// Parses the program's arguments. `args` must not contain the program's name.
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self { job: Job::Measure, set: RowSet::Default, rounds: None, save: None, words: Vec::new() };
        while let Some(arg) = args.next() {
            let mut next = |what: &str| args.next().with_context(|| format!("{arg} needs {what}"));
            match arg.as_str() {
                "--all" => options.set = RowSet::All,
                "--list" => options.job = Job::List,
                "--rounds" => {
                    let rounds = next("a number")?.parse().ok().filter(|n| *n > 0);
                    options.rounds = Some(rounds.context("--rounds needs a number above 0")?);
                }
                "--save" => options.save = Some(next("a file")?.into()),
                "--write-page" => {
                    let stored = next("the file of a stored benchmark, and a page")?.into();
                    options.job = Job::WritePage { stored, page: next("also a page")?.into() };
                }
                flag if flag.starts_with('-') => bail!("there is no option {flag}"),
                word => options.words.push(word.to_owned()),
            }
        }
        Ok(options)
    }

    /// Returns the rows to measure, each with the name of its group and its effort. If the user gave words, the rows
    /// can be from the default set and from the set of all rows.
    pub(crate) fn chosen(&self) -> Vec<(&'static str, &'static Row, Effort)> {
        let named = |row: &Row| self.words.iter().any(|word| row.id.contains(word.as_str()));
        let effort = |row: &Row| match self.words.is_empty() {
            true => row.effort(self.set),
            false if named(row) => row.effort(self.set).or(Some(row.all)),
            false => None,
        };
        let with_rounds = |effort: Effort| match self.rounds {
            Some(rounds) => scaled(effort, rounds),
            None => effort,
        };
        groups::rows().filter_map(|(group, row)| Some((group, row, with_rounds(effort(row)?)))).collect()
    }

    /// Returns the name of the measured set of rows.
    pub(crate) fn set_name(&self) -> &'static str {
        match (self.words.is_empty(), self.set) {
            (false, _) => "chosen rows",
            (true, RowSet::Default) => "default set",
            (true, RowSet::All) => "all rows",
        }
    }
}

/// Returns an effort with `rounds` rounds. The planned seconds change in proportion to the number of rounds.
fn scaled(effort: Effort, rounds: usize) -> Effort {
    let seconds = f64::from(effort.seconds) * rounds as f64 / effort.rounds.max(1) as f64;
    Effort { rounds, seconds: seconds.ceil() as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(args: &str) -> Options {
        Options::parse(args.split_whitespace().map(String::from)).unwrap()
    }

    fn rounds_of(args: &str, id: &str) -> Option<usize> {
        options(args).chosen().iter().find(|(_, row, _)| row.id == id).map(|(_, _, effort)| effort.rounds)
    }

    #[test]
    fn long_rows_run_only_if_all_rows_or_the_row_is_asked_for() {
        assert_eq!(rounds_of("", "arena-time"), None);
        assert_eq!(rounds_of("--all", "arena-time"), Some(5));
        assert_eq!(rounds_of("arena", "arena-time"), Some(5));
        assert_eq!(rounds_of("arena", "generator-cpu"), None);
    }

    #[test]
    fn a_shortened_row_has_its_full_rounds_only_among_all_rows() {
        assert_eq!(rounds_of("", "capacity-variation"), Some(2));
        assert_eq!(rounds_of("capacity-variation", "capacity-variation"), Some(2));
        assert_eq!(rounds_of("--all capacity-variation", "capacity-variation"), Some(5));
        assert_eq!(rounds_of("--rounds 7", "capacity-variation"), Some(7));
    }

    #[test]
    fn files_are_read_and_wrong_arguments_are_errors() {
        let pages = options("--write-page run.json page.md");
        assert_eq!(pages.job, Job::WritePage { stored: "run.json".into(), page: "page.md".into() });
        assert_eq!(options("--save a.json x").save, Some("a.json".into()));
        for wrong in ["--rounds 0", "--rounds", "--save", "--write-page a", "--nosuch"] {
            assert!(Options::parse(wrong.split_whitespace().map(String::from)).is_err(), "{wrong}");
        }
    }
}
