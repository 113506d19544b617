//! Threads of the server, grouped by their activity.

use run::{Run, TaskGroup, TaskState, ThreadState, TitleGroup, WaitGroup, WaitProfile};

use super::databases;
use super::limited::is_stated;
use crate::{Block, Cell, Col, Item, List, Note, Section, Table, Tone, Unit, Weight};
use run::number::{number, prose::counted, quantity};

/// Maximum number of rows of each table of threads in a terminal.
const BRIEF_ROWS: usize = 12;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let others = run.findings.waits.iter().filter(|f| !is_stated(run, &f.sentence));
    let findings = others.map(|f| Note::block(Tone::Warn, format!("{}.", f.sentence)));
    let threads = run.sampled_waits().map(blocks).unwrap_or_default();
    let databases = run.sampled_databases().iter().flat_map(databases::blocks);
    let blocks: Vec<Block> = findings.chain(threads).chain(databases).collect();
    if blocks.is_empty() {
        return Vec::new();
    }
    vec![Section::new("waits", "Threads of the server", Weight::Main, blocks)]
}

/// Returns the tables and notes of a profile of sampled threads.
pub(crate) fn blocks(profile: &WaitProfile) -> Vec<Block> {
    let mut blocks: Vec<Block> = profile.missing.iter().map(|why| Note::block(Tone::Warn, format!("{why}."))).collect();
    if profile.rounds > 0 {
        blocks.push(Block::Table(threads(profile)));
    }
    if !profile.tasks.is_empty() {
        blocks.push(Block::Table(tasks(&profile.tasks)));
    }
    if !profile.titles.is_empty() {
        blocks.push(Block::List(titles(&profile.titles)));
    }
    blocks
}

fn threads(profile: &WaitProfile) -> Table {
    let clients = profile.clients.as_ref().map(|c| {
        let [least, most] = [c.in_progress, c.in_progress + c.uncertain].map(number);
        let in_progress = if least == most { least } else { format!("{least} to {most}") };
        format!("Requests in progress: {in_progress}; not read yet: {}.", number(c.unread + c.queued))
    });
    let once = match profile.setup_cpu_s {
        0.0 => String::new(),
        cpu_s => format!(", and {} of CPU time once to read the names in the programs", quantity(cpu_s, Unit::Seconds)),
    };
    let cost = format!(
        "{} in {}; cost of the sampling: {} of a CPU{once}.",
        counted(profile.samples as f64, "sample"),
        counted(profile.rounds as f64, "round"),
        quantity(profile.cpu, Unit::Share)
    );
    Table {
        columns: vec![
            Col::figures("threads", 0),
            Col::figures("share", 2),
            Col::words("process", 1),
            Col::words("thread", 3),
            Col::words("activity", 0),
        ],
        rows: profile.groups.iter().map(row).collect(),
        notes: clients.into_iter().chain([cost]).collect(),
        brief: Some(BRIEF_ROWS),
        ..Table::default()
    }
}

fn row(group: &WaitGroup) -> Vec<Cell> {
    vec![
        number(group.threads).into(),
        quantity(group.share, Unit::Share).into(),
        group.process.clone().into(),
        group.thread.clone().into(),
        activity(group.state, &group.key).into(),
    ]
}

/// Returns the table of the goroutines.
fn tasks(groups: &[TaskGroup]) -> Table {
    let row = |group: &TaskGroup| -> Vec<Cell> {
        vec![
            number(group.tasks).into(),
            group.process.clone().into(),
            group.function.clone().into(),
            task_activity(group.state).into(),
        ]
    };
    Table {
        columns: vec![
            Col::figures("goroutines", 0),
            Col::words("process", 1),
            Col::words("function", 3),
            Col::words("activity", 0),
        ],
        rows: groups.iter().map(row).collect(),
        brief: Some(BRIEF_ROWS),
        ..Table::default()
    }
}

/// Describes the activity of a goroutine in a few words.
const fn task_activity(state: TaskState) -> &'static str {
    match state {
        TaskState::Running => "running",
        TaskState::Runnable => "ready, without a thread",
        TaskState::Lock => "waits for a mutex",
        TaskState::Send => "waits for room in a channel",
        TaskState::Receive => "waits for a message",
        TaskState::Select => "waits for one of several channels",
        TaskState::Sleep => "sleeps",
        TaskState::Network => "waits for the network",
        TaskState::Other => "waits",
    }
}

fn titles(groups: &[TitleGroup]) -> List {
    let item = |group: &TitleGroup| Item::new(number(group.processes), group.title.clone());
    List { title: "Titles of processes".into(), items: groups.iter().map(item).collect(), brief: BRIEF_ROWS }
}

/// Describes the activity of a thread in a few words.
fn activity(state: ThreadState, key: &str) -> String {
    let with = |words: &str| if key.is_empty() { words.to_string() } else { format!("{words} {key}") };
    match state {
        ThreadState::OnCpu => "on a CPU".into(),
        ThreadState::Runnable => "ready, without a CPU".into(),
        ThreadState::Futex if key.is_empty() => "waits for another thread".into(),
        ThreadState::Futex => with("waits for the futex"),
        ThreadState::Peer => with("waits for the peer"),
        ThreadState::Sleep if key.is_empty() => "sleeps".into(),
        ThreadState::Sleep => format!("sleeps while {key} is locked"),
        ThreadState::Disk => with("waits for the disk in"),
        ThreadState::NewSocket => "waits for a new socket (peer not yet known)".into(),
        ThreadState::FileLock => with("waits for the file lock"),
        ThreadState::ClientWrite => "waits for a slow client".into(),
        ThreadState::Pipe => with("waits for the"),
        ThreadState::FullPipe => with("waits for the full"),
        ThreadState::Child => "waits for a child process".into(),
        ThreadState::Memory => "waits for memory".into(),
        ThreadState::Stopped => "is stopped".into(),
        ThreadState::Events => "idle: waits for events".into(),
        ThreadState::ClientRead => "idle: waits for a request".into(),
        ThreadState::Accept => "idle: waits for a connection".into(),
        ThreadState::Signal => "idle: waits for a signal".into(),
        ThreadState::Other => with("waits for the"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Side, Trial};

    #[test]
    fn the_table_shows_the_sampled_threads_of_the_server() {
        let group = |state, key: &str, threads| WaitGroup {
            process: "app:7".into(),
            thread: "worker-#".into(),
            state,
            key: key.into(),
            threads,
            share: threads / 16.0,
        };
        let profile = WaitProfile {
            rounds: 10,
            samples: 160,
            cpu: 0.004,
            setup_cpu_s: 0.035,
            groups: vec![group(ThreadState::Futex, "0x10", 14.7), group(ThreadState::Sleep, "", 1.0)],
            titles: vec![TitleGroup { title: "<b> UPDATE waiting".into(), processes: 6.4, ..TitleGroup::default() }],
            ..WaitProfile::default()
        };
        let server = Some(Side { waits: Some(Box::new(profile)), ..Side::default() });
        let run = Run { trials: vec![Trial { server, ..Trial::default() }], ..Run::default() };
        let text = crate::render("text", &run, &crate::Style::default()).unwrap();
        for said in [
            "14.7",
            "91.9%",
            "waits for the futex 0x10",
            "sleeps",
            "UPDATE waiting",
            "0.4% of a CPU, and 35 ms of CPU time once",
        ] {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.replace(" %", "%").contains(said), "{said} is not in {text}");
        }
        let html = crate::render("html", &run, &crate::Style::default()).unwrap();
        assert!(!html.contains("<b> UPDATE"));
        assert!(sections(&Run::default()).is_empty());
    }
}
