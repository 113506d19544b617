//! The rows of the benchmark table by subject. Each group has a heading and a table on the page about speed.

mod capacity;
mod generator;
mod hosts;
mod laboratory;
mod protocols;
mod servers;

use crate::row::Row;

/// Rows about one subject.
pub(crate) struct Group {
    /// Name of the group in a stored benchmark, and in the HTML comments that mark the group's table on the page.
    pub(crate) id: &'static str,
    /// Rows in the order in which they run.
    pub(crate) rows: &'static [Row],
}

/// All groups, in the order in which they run.
pub(crate) const GROUPS: &[Group] = &[
    Group { id: "generator", rows: generator::ROWS },
    Group { id: "protocols", rows: protocols::ROWS },
    Group { id: "servers", rows: servers::ROWS },
    Group { id: "capacity", rows: capacity::ROWS },
    Group { id: "laboratory", rows: laboratory::ROWS },
    Group { id: "hosts", rows: hosts::ROWS },
];

/// Returns all rows, each with the name of its group.
pub(crate) fn rows() -> impl Iterator<Item = (&'static str, &'static Row)> {
    GROUPS.iter().flat_map(|group| group.rows.iter().map(|row| (group.id, row)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::row::RowSet;

    /// Time limit for the default set, seconds.
    const DEFAULT_SET_LIMIT_S: u32 = 20 * 60;

    #[test]
    fn the_default_set_is_planned_for_20_minutes_at_most() {
        let planned = |set| rows().filter_map(|(_, row)| row.effort(set)).map(|effort| effort.seconds).sum::<u32>();
        let (default_s, all_s) = (planned(RowSet::Default), planned(RowSet::All));
        assert!((DEFAULT_SET_LIMIT_S / 2..=DEFAULT_SET_LIMIT_S).contains(&default_s), "{default_s} s");
        assert!(all_s > default_s, "{all_s} s");
    }

    #[test]
    fn ids_are_unique_and_every_row_takes_time() {
        let ids: BTreeSet<&str> = rows().map(|(_, row)| row.id).collect();
        assert_eq!(ids.len(), rows().count());
        for (_, row) in rows() {
            let efforts = [Some(row.all), row.default];
            assert!(efforts.iter().flatten().all(|effort| effort.rounds > 0 && effort.seconds > 0), "{}", row.id);
        }
    }

    /// A row takes no longer in the default set than in the set of all rows.
    #[test]
    fn the_default_set_is_the_shorter_one() {
        for (_, row) in rows() {
            assert!(row.default.is_none_or(|short| short.seconds <= row.all.seconds), "{}", row.id);
        }
    }
}
