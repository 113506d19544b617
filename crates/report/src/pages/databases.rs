//! Databases that the server uses: the activities of their sessions, or the commands that they executed.

use run::number::prose::counted;
use run::number::{number, quantity};
use run::{CommandSum, DatabaseProfile, SessionGroup, SessionState};

use crate::{Block, Cell, Col, Note, Table, Tone, Unit};

/// Maximum number of rows of the table of one database in a terminal.
const BRIEF_ROWS: usize = 8;

/// Returns the notes about missing data of a database, and the table of its sessions or commands.
pub(crate) fn blocks(database: &DatabaseProfile) -> Vec<Block> {
    let missing = database.missing.iter().map(|why| Note::block(Tone::Warn, format!("{why}.")));
    missing.chain((database.samples > 0).then(|| Block::Table(table(database)))).collect()
}

fn table(database: &DatabaseProfile) -> Table {
    let (kind, address) = (database.kind.name(), &database.address);
    let cost = format!(
        "{} of {kind} at {address}; one took {} on average.",
        counted(database.samples as f64, "sample"),
        quantity(database.sample_ms / 1e3, Unit::Seconds)
    );
    let common = Table { brief: Some(BRIEF_ROWS), ..Table::default() };
    if !database.commands.is_empty() {
        let columns = vec![
            Col::figures("share of time", 0),
            Col::figures("calls", 1),
            Col::figures("longest", 2),
            Col::words("command", 0),
        ];
        return Table { columns, rows: database.commands.iter().map(command).collect(), notes: vec![cost], ..common };
    }
    let sessions = format!("{}, {} of them active.", counted(database.sessions, "session"), number(database.active));
    let blocker = database.blockers.first().map(|blocker| {
        let (share, does) = (quantity(blocker.share, Unit::Share), words(blocker.state));
        format!("Of the transactions that block others, {share}: {does}, {}.", blocker.statement)
    });
    Table {
        columns: vec![Col::figures("sessions", 0), Col::words("activity", 0), Col::words("statement", 0)],
        rows: database.groups.iter().map(group).collect(),
        notes: [sessions].into_iter().chain(blocker).chain([cost]).collect(),
        ..common
    }
}

fn command(sum: &CommandSum) -> Vec<Cell> {
    let longest = if sum.longest_s > 0.0 { quantity(sum.longest_s, Unit::Seconds) } else { String::new() };
    vec![
        quantity(sum.share, Unit::Share).into(),
        quantity(sum.calls_per_s, Unit::PerSecond).into(),
        longest.into(),
        sum.command.clone().into(),
    ]
}

fn group(group: &SessionGroup) -> Vec<Cell> {
    let activity = if group.event.is_empty() { words(group.state) } else { &group.event };
    vec![number(group.sessions).into(), activity.into(), group.statement.clone().into()]
}

/// Describes the activity of a database session in a few words.
const fn words(state: SessionState) -> &'static str {
    match state {
        SessionState::Running => "executes",
        SessionState::RowLock => "waits for a row lock",
        SessionState::Lock => "waits for a lock",
        SessionState::InternalLock => "waits for a lock inside the database",
        SessionState::Disk => "waits for a disk",
        SessionState::Sleep => "sleeps",
        SessionState::OpenTransaction => "in a transaction",
        SessionState::Other => "waits",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_and_commands_are_rows() {
        let groups = vec![SessionGroup {
            state: SessionState::RowLock,
            event: "Lock:tuple".into(),
            statement: "UPDATE t SET n = ?".into(),
            sessions: 11.0,
        }];
        let database =
            DatabaseProfile { samples: 9, groups, missing: vec!["why".into()], ..DatabaseProfile::default() };
        let [_, Block::Table(table)] = &blocks(&database)[..] else { panic!("{database:?}") };
        assert_eq!((table.rows.len(), table.columns.len()), (1, 3));
        let commands = vec![CommandSum { command: "KEYS".into(), share: 0.9, ..CommandSum::default() }];
        let [Block::Table(table)] =
            &blocks(&DatabaseProfile { samples: 2, commands, ..DatabaseProfile::default() })[..]
        else {
            panic!("one table")
        };
        assert_eq!(table.columns.len(), 4);
        assert!(blocks(&DatabaseProfile::default()).is_empty());
    }
}
