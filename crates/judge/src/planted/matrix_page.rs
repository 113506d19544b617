//! Text of the page `docs/reference/rule-matrix.md`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::rules::{RULES, Rule, Tier};
use crate::thresholds::LIKELY;

use super::matrix::{INFEASIBLE, Infeasible, Winner, cell, ids};

const HEAD: &str = "\
# Which rule wins when two causes meet

Each cell is one planted run in which both causes are at their limit: that of the row and that of the column. The cell holds the
number of the bottleneck that the verdict names, and the confidence. On the diagonal the cause is alone. Most runs that people
measure have one cause; this table shows what decides where there are two.

The highest tier with a cause that is more likely than not wins. Within a tier, a cause beats those whose signs it explains. Among
the rest the most probable wins, and it shares its probability with them: the confidence says that there are two.

This page is generated: `make docs` writes it from the rules, and a test fails while it differs from what they answer. A change of
a cell is a decision and needs a reason below.
";

/// Returns the whole page as Markdown.
pub(super) fn page() -> String {
    let ids = ids();
    let cells: Vec<Vec<Cell>> = ids.iter().map(|a| ids.iter().map(|b| cell(a, b)).collect()).collect();
    let upper = |row: usize| cells[row].iter().enumerate().skip(row);
    let pairs = || (0..ids.len()).flat_map(|row| upper(row).skip(1).map(move |(column, cell)| (row, column, cell)));
    let feasible = pairs().filter(|(_, _, cell)| cell.is_ok()).count();
    let by_row = |(row, _, cell): &(usize, usize, &Cell)| named(cell) == Some(ids[*row]);
    let by_column = |(_, column, cell): &(usize, usize, &Cell)| named(cell) == Some(ids[*column]);
    let third: Vec<_> = pairs().filter(|pair| pair.2.is_ok() && !by_row(pair) && !by_column(pair)).collect();
    let later: Vec<_> = pairs().filter(by_column).collect();
    let mut page = format!("{HEAD}\n{} pairs; {feasible} are feasible.\n\n", pairs().count());
    page += &format!("| | {} |\n", (1..=ids.len()).map(|n| n.to_string()).collect::<Vec<_>>().join(" | "));
    page += &format!("|---|{}\n", "---|".repeat(ids.len()));
    for (row, id) in ids.iter().enumerate() {
        let blank = (0..row).map(|_| String::new());
        let shown: Vec<String> = blank.chain(upper(row).map(|(_, cell)| text(&ids, cell))).collect();
        page += &format!("| {} {id} | {} |\n", row + 1, shown.join(" | "));
    }
    page += "\n## Tiers\n\n| tier | causes |\n|---|---|\n";
    page += &[Tier::Broken, Tier::Cause, Tier::LeftOver].into_iter().map(tier).collect::<String>();
    page += "\n## What each cause explains\n\n| cause | explains | since |\n|---|---|---|\n";
    page += &relations().map(|(cause, symptom)| relation(cause, symptom)).collect::<String>();
    page += DECISIONS;
    page += "\n## Reasons of narrow cells\n\nIn these cells the confidence is below 0.5: either cause may be the limit.\n\n| winner | other cause | since |\n|---|---|---|\n";
    page += &narrow();
    page += SHARED;
    page += &RULES.iter().map(shared).collect::<String>();
    page += "\n## Reasons of the cells without a run\n\n";
    INFEASIBLE.iter().for_each(|reason| page += &format!("- `{}`: {}\n", reason.key, reason.why));
    page += "\n## Pairs in which the rule further down wins\n\n";
    page += &later.iter().map(|pair| decided(&ids, pair)).collect::<String>();
    page += "\n## Pairs in which neither cause is named\n\n";
    page += &list(&ids, &third);
    page
}

/// Reason why causes explain a symptom: the IDs of the causes, the ID of the symptom (another bottleneck), and the
/// explanation.
type Reason = (&'static [&'static str], &'static str, &'static str);

/// Reasons for all relations ("a cause explains a symptom") between rules.
const REASONS: &[Reason] = &[
    (&["client-connects"], "client-fds", "each needless connection holds a descriptor of the generator"),
    (&["client-connects"], "client-ports", "each needless connection holds a local port"),
    (&["client-connects"], "server-fds", "each needless connection holds a descriptor of the server"),
    (
        &["server-rate-limit"],
        "client-cpu",
        "clients that are refused at once ask again at once, until something is full",
    ),
    (&["server-rate-limit"], "server-cpu", "the server refuses as many requests as its CPUs allow"),
    (&["server-rate-limit"], "server-single-thread", "the server refuses as many requests as its thread allows"),
    (&["server-rate-limit"], "network-medium", "refusals fill the link; good answers stay at one rate"),
    (&["server-rate-limit"], "accept-queue", "refused clients connect again at once"),
    (&["server-cpu-quota"], "server-cpu", "the quota is what the CPUs are measured against"),
    (&["server-cpu-quota"], "server-single-thread", "a throttled thread never rests"),
    (&["server-memory"], "server-cpu", "reclaiming and swapping cost CPU time"),
    (&["server-memory"], "server-single-thread", "reclaiming and swapping cost CPU time"),
    (&["server-memory"], "server-disk", "swapping fills the disk"),
    (&["server-cpu"], "server-single-thread", "with all CPUs full, the busiest thread is full too"),
    (
        &["server-memory"],
        "tcp-window",
        "while the kernel takes memory back, it lets no TCP window grow (`tcp_under_memory_pressure`)",
    ),
    (&["server-cpu"], "network-loss", "a host without CPU time drops packets that arrived"),
    (
        &["server-cpu", "server-single-thread", "server-interrupts", "network-medium"],
        "tcp-window",
        "data that nobody reads or carries fills windows",
    ),
    (
        &["server-cpu-quota", "server-memory", "server-cpu", "server-single-thread", "server-disk"],
        "accept-queue",
        "a server that is held up accepts too late",
    ),
    (
        &["server-interrupts"],
        "server-single-thread",
        "some kernels count interrupts as time of the thread that they interrupt",
    ),
    (&["server-interrupts"], "network-loss", "packets that one CPU cannot handle in time are dropped"),
    (&["server-interrupts"], "accept-queue", "packets that open connections wait for the same CPU"),
    (&["network-medium"], "network-loss", "the queue of a full link overflows"),
    (&["accept-queue"], "network-loss", "a full accept queue drops SYNs and the requests behind them"),
];

const DECISIONS: &str = "
## Decisions behind cells

- `tcp-delayed-ack` with a cause that stops the rate: the other cause, at its own confidence. The timer delays each answer and limits no
  rate. Where throughput stopped growing, the rule is ruled out and says that answers wait for the timer at light load.
- `network-loss`: its planted run shows retransmissions of the load's own connections. Without them the losses may be another program's.
- `network-loss` with `server-concurrency`: the latter, if the requests wait unread at the server. These requests have passed the
  network, and a loss delays one request: more connections would bring more.
";

/// A cell of the matrix is narrow if its confidence is below this value. In a narrow cell, both causes are about
/// equally probable, so [`NARROW_REASONS`] must give a reason for the choice.
const NARROW: f64 = LIKELY;

/// Reasons for the narrow cells: the bottleneck that the verdict names, the other bottleneck, and the reason for the
/// choice.
const NARROW_REASONS: &[(&str, &str, &str)] = &[
    (
        "server-memory",
        "server-interrupts",
        "the server's own threads wait for pages; interrupts fill one CPU and leave the others to the server",
    ),
    (
        "server-memory",
        "network-medium",
        "both cap the rate. More load makes a lack of memory worse until processes end, so it is named first",
    ),
    (
        "server-memory",
        "network-loss",
        "waits for pages stop the server's threads; a loss stops one connection, so more connections would bring more",
    ),
    (
        "network-medium",
        "server-interrupts",
        "a link at its rate carries no more, whichever CPU handles its packets. A CPU that polls for packets looks full \
         before it is, since it handles more packets per interrupt under a higher load",
    ),
    (
        "tcp-window",
        "network-loss",
        "the kernel counts the time for which the receiver's window stopped the sender. Losses that matter would make \
         the congestion window the smaller one, and the receiver's window would stop nothing",
    ),
];

/// Returns the lines of a Markdown table that lists each narrow cell with its reason.
fn narrow() -> String {
    let line = |(winner, other, why): &(&str, &str, &str)| format!("| {winner} | {other} | {why} |\n");
    NARROW_REASONS.iter().map(line).collect()
}

const SHARED: &str = "
## Counters that other programs share

The counters below count a whole machine or a whole network namespace, so other programs change them as well. A rule believes them only
together with the symptom in the last column, which processes or connections of this load show. All other counters are those of the
server's and the generator's own processes, connections, listener and control group.

| rule | counters | counts | needs besides |
|---|---|---|---|
";

/// Returns table lines in Markdown: the counters of a rule that other programs can change, too.
fn shared(rule: &Rule) -> String {
    let scope = |counter: &str| match run::counter(counter).map(run::CounterSpec::scope) {
        Some(run::Scope::Machine) => "machine",
        _ => "namespace",
    };
    let line = |(counters, needs): &(&[&str], &str)| {
        let scopes: BTreeSet<&str> = counters.iter().map(|counter| scope(counter)).collect();
        let scopes: Vec<&str> = scopes.into_iter().collect();
        format!("| {} | {} | {} | {needs} |\n", rule.id, counters.join(", "), scopes.join(", "))
    };
    rule.shared.iter().map(line).collect()
}

/// Returns all pairs of a cause and a bottleneck whose signs this cause explains.
fn relations() -> impl Iterator<Item = (&'static str, &'static str)> {
    RULES.iter().flat_map(|rule| rule.explains.iter().map(|symptom| (rule.id, *symptom)))
}

fn relation(cause: &str, symptom: &str) -> String {
    let reason = REASONS.iter().find(|(causes, id, _)| causes.contains(&cause) && *id == symptom);
    let (_, _, why) = reason.unwrap_or_else(|| panic!("{cause} explains {symptom} without a reason"));
    format!("| {cause} | {symptom} | {why} |\n")
}

fn tier(tier: Tier) -> String {
    let name = match tier {
        Tier::Broken => "broken",
        Tier::Cause => "cause",
        Tier::LeftOver => "left over",
    };
    let of: Vec<&str> = RULES.iter().filter(|rule| rule.tier == tier).map(|rule| rule.id).collect();
    format!("| {name} | {} |\n", of.join(", "))
}

/// Returns a line about a pair of rules in which the later one wins. The line gives the reason: the later rule explains
/// the other rule, has a higher tier, or is more probable.
fn decided(ids: &[&str], (row, column, cell): &(usize, usize, &Cell)) -> String {
    let of = |id: &str| RULES.iter().find(|rule| rule.id == id);
    let (Some(upper), Some(lower)) = (of(ids[*row]), of(ids[*column])) else { return String::new() };
    let by = match (lower.explains.contains(&upper.id), lower.tier < upper.tier) {
        (true, _) => "it explains the other",
        (_, true) => "its tier is higher",
        _ => "it is more probable",
    };
    let confidence = cell.as_ref().map_or(0.0, |winner| winner.confidence);
    format!("- {} with {}: {} ({confidence:.2}), since {by}\n", upper.id, lower.id, lower.id)
}

type Cell = Result<Winner, &'static Infeasible>;

fn named(cell: &Cell) -> Option<&str> {
    cell.as_ref().ok().map(|winner| winner.id.as_str())
}

fn text(ids: &[&str], cell: &Cell) -> String {
    match cell {
        Ok(winner) => match ids.iter().position(|id| *id == winner.id) {
            Some(at) => format!("{} ({:.2})", at + 1, winner.confidence),
            None => winner.id.clone(),
        },
        Err(reason) => reason.key.into(),
    }
}

fn list(ids: &[&str], pairs: &[(usize, usize, &Cell)]) -> String {
    let line = |(row, column, cell): &(usize, usize, &Cell)| {
        let confidence = cell.as_ref().map_or(0.0, |winner| winner.confidence);
        let named = named(cell).unwrap_or_default();
        format!("- {} with {}: {named} ({confidence:.2})\n", ids[*row], ids[*column])
    };
    if pairs.is_empty() { "None.\n".into() } else { pairs.iter().map(line).collect() }
}

/// Each narrow cell must have a reason that names the cell's winner. Each reason in `NARROW_REASONS` must belong to a
/// narrow cell.
#[test]
fn every_narrow_cell_has_a_reason() {
    let ids = ids();
    let mut narrow = BTreeSet::new();
    for (at, a) in ids.iter().enumerate() {
        for b in &ids[at + 1..] {
            let Ok(winner) = cell(a, b) else { continue };
            let other = if winner.id == *a { b } else { a };
            if winner.confidence < NARROW {
                narrow.insert((winner.id, (*other).to_string()));
            }
        }
    }
    let reasons = NARROW_REASONS.iter().map(|(winner, other, _)| ((*winner).to_string(), (*other).to_string()));
    assert_eq!(narrow, reasons.collect(), "{NARROW}");
}

#[test]
fn every_reason_belongs_to_a_relation() {
    for (causes, symptom, _) in REASONS {
        assert!(causes.iter().all(|cause| relations().any(|one| one == (*cause, *symptom))), "{causes:?} {symptom}");
    }
}

/// If LOADLINE_WRITE_MATRIX is set, as `make docs` does, the test first writes the file. In any case, the test compares
/// the file with the results of the rules.
#[test]
fn the_matrix_in_the_docs_is_what_the_rules_answer() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/rule-matrix.md");
    let made = page();
    if std::env::var_os("LOADLINE_WRITE_MATRIX").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    let differs = kept.lines().zip(made.lines()).find(|(kept, made)| kept != made);
    assert!(
        kept == made,
        "a cell changed: `make docs` writes {}; the first line that differs: {differs:?}",
        file.display()
    );
}
