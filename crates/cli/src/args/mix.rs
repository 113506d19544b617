//! Flags that choose the requests of a load: from a file, an access log or a curl command line.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Args;
use requests::{Imported, ReplayOptions};
use run::{DataOrder, Plan, RecordedTimes, RequestOrder, RequestSet, STATEMENT_METHOD};

pub(crate) use super::mix_checks::{check, enough_rows, in_time};
use super::request_set::set_of;
use crate::output;

/// Flags of a request set. The flags are in a box, because the arguments of a command would otherwise become large.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct MixArgs {
    #[command(flatten)]
    given: Box<Given>,
}

#[derive(Args, Clone, Debug, Default)]
struct Given {
    #[arg(long, value_name = "FILE", help = forms(), help_heading = "Requests")]
    requests: Option<PathBuf>,
    /// Format of the file, if its content does not show it
    #[arg(long, value_name = "FORM", requires = "requests", help_heading = "Requests")]
    requests_format: Option<String>,
    /// Send the request of a curl command line, as copied from a browser: 'curl -X POST http://… -d …'
    #[arg(long, value_name = "COMMAND", conflicts_with = "requests", help_heading = "Requests")]
    curl: Option<String>,
    /// postgres: send the statements of a file, one per line; {{random 1 100}} and other places are filled (`loadline
    /// list formats`)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["requests", "curl"], help_heading = "Requests")]
    statements: Option<PathBuf>,
    /// postgres: send this statement [default: SELECT 1]
    #[arg(
        long,
        value_name = "SQL",
        conflicts_with_all = ["requests", "curl", "statements"],
        help_heading = "Requests"
    )]
    statement: Option<String>,
    /// Send the requests of an access log (nginx, Apache, Common Log Format, JSON lines; also gzip), as often as they
    /// occur in it
    #[arg(long, value_name = "LOG", conflicts_with_all = ["requests", "curl", "statements", "statement"], help_heading = "Requests")]
    replay: Option<PathBuf>,
    /// More methods of the log to send, such as POST,PUT; they may change data on the server
    #[arg(long, value_name = "METHODS", value_delimiter = ',', value_parser = super::mix_checks::method, help_heading = "Requests")]
    allow: Vec<String>,
    /// Field names of JSON lines: path=uri,method=verb,time=at,status=code
    #[arg(long, value_name = "NAMES", requires = "replay", help_heading = "Requests")]
    replay_fields: Option<String>,
    /// Values for {{column}} in paths, headers and bodies: CSV with a header line, or one JSON object per line
    #[arg(long, value_name = "FILE", help_heading = "Requests")]
    data: Option<PathBuf>,
    /// cycle: in order, repeated; unique: each row at most once (with --rate); random: any row [default: cycle]
    #[arg(long, value_name = "ORDER", value_parser = data_order, requires = "data", help_heading = "Requests")]
    data_order: Option<DataOrder>,
    /// weighted: random by weight; sequence: in file order on each connection; shuffle: a new order in each round;
    /// in a sequence or round, a request of weight 3 comes three times, and one of weight 0 never
    #[arg(long, value_name = "ORDER", value_parser = order, help_heading = "Requests")]
    order: Option<RequestOrder>,
}

/// Returns the help text of `--requests`, which lists the formats of request files.
fn forms() -> String {
    let each: Vec<&str> = requests::FORMATS.iter().map(|row| row.name).collect();
    format!("Make the requests of a file: {} (`loadline list formats`)", each.join(", "))
}

fn data_order(text: &str) -> Result<DataOrder, String> {
    match text {
        "cycle" => Ok(DataOrder::Cycle),
        "unique" => Ok(DataOrder::Unique),
        "random" => Ok(DataOrder::Random),
        _ => Err(format!("{text:?} is not an order of data (cycle, unique, random)")),
    }
}

fn order(text: &str) -> Result<RequestOrder, String> {
    match text {
        "weighted" => Ok(RequestOrder::Weighted),
        "sequence" => Ok(RequestOrder::Sequence),
        "shuffle" => Ok(RequestOrder::Shuffle),
        _ => {
            let near = run::nearest(text, ["weighted", "sequence", "shuffle"]);
            let near = near.map_or(String::new(), |n| format!("; did you mean {n}?"));
            Err(format!("{text:?} is not an order (weighted, sequence, shuffle){near}"))
        }
    }
}

impl MixArgs {
    /// Reads the request set into the plan. If the user gave no target, the target is the origin in the URLs of the
    /// requests. Returns messages about the request set for the user.
    pub(crate) fn apply(&self, plan: &mut Plan) -> anyhow::Result<Vec<String>> {
        if let Some(log) = &self.given.replay {
            return self.replay(log, plan);
        }
        self.check_flags()?;
        let Some((mut imported, mut from)) = self.given.read()? else { return Ok(Vec::new()) };
        let said = aim(&mut imported, plan);
        if !said.is_empty() {
            from = format!("{from}; {}", said.join("; "));
        }
        let lines = if said.is_empty() { Vec::new() } else { vec![from.clone()] };
        // An order that the user gave replaces the order of the recorded times. The function `in_time` sets the speed.
        let recorded = imported.recorded_times().filter(|_| plan.command == "load" && self.given.order.is_none());
        let mut set = set_of(imported, from, self.given.order, &mut plan.load.secrets)?;
        set.recorded = recorded;
        if let Some(file) = &self.given.data {
            let mut data = requests::read_data(file, self.given.data_order.unwrap_or_default())?;
            plan.load.secrets.set_rows(std::mem::take(&mut data.rows));
            (set.data, set.templates) = (Some(data), true);
        }
        let requests = set.requests.iter_mut();
        let unnamed = requests.filter(|request| request.method == STATEMENT_METHOD && request.name.is_empty());
        unnamed.for_each(|request| request.name = databases::statement_name(&request.body));
        plan.load.requests = Some(set);
        Ok(lines)
    }

    /// Checks that flags about a request set come with a request set.
    fn check_flags(&self) -> anyhow::Result<()> {
        ensure!(self.given.allow.is_empty(), "--allow needs an access log: give --replay, too");
        ensure!(
            self.given() || self.given.data.is_none(),
            "--data FILE has values for the requests of a set: give --requests, too; --body FILE sends the bytes of a file"
        );
        ensure!(
            self.given.order.is_none() || self.given.requests.is_some() || self.given.statements.is_some(),
            "--order needs a file of requests: give --requests, too"
        );
        Ok(())
    }

    /// Reads an access log into the plan, and returns messages about the log for the user.
    fn replay(&self, log: &Path, plan: &mut Plan) -> anyhow::Result<Vec<String>> {
        ensure!(
            self.given.order.is_none(),
            "--order needs a file of requests; a log is replayed by frequency, or in time with --speed"
        );
        let options = ReplayOptions {
            allow: self.given.allow.clone(),
            fields: self.given.replay_fields.clone().unwrap_or_default(),
        };
        let replay = requests::replay(log, &options)?;
        let mut from = format!("{} (access log)", log.display());
        for said in replaced_path(&plan.target.url).into_iter().chain(requests::left_out_words(&replay.left_out)) {
            from = format!("{from}; {said}");
        }
        let summary = replay.summary.words();
        let lines = std::iter::once(from.clone()).chain(summary.iter().map(|line| format!("  {line}"))).collect();
        let (times, items): (Vec<u64>, Vec<u16>) = replay.times.into_iter().unzip();
        let gaps_us = times.iter().scan(0, |before, &at| Some(at - std::mem::replace(before, at))).collect();
        // The load uses the recorded times only with `--speed`. The function `in_time` sets the speed of the replay
        // later.
        let recorded =
            (!times.is_empty() && plan.command == "load").then_some(RecordedTimes { gaps_us, items, speed: 0.0 });
        plan.load.requests =
            Some(RequestSet { from, requests: replay.requests, summary, recorded, ..RequestSet::default() });
        Ok(lines)
    }

    /// Returns true if the user gave a request set.
    pub(crate) fn given(&self) -> bool {
        let files = [&self.given.requests, &self.given.statements, &self.given.replay];
        files.iter().any(|file| file.is_some()) || self.given.curl.is_some() || self.given.statement.is_some()
    }
}

impl Given {
    /// Reads the given requests or statements, and returns them with a description of their origin.
    fn read(&self) -> anyhow::Result<Option<(Imported, String)>> {
        let statements = Some("statements");
        let (file, form) = match (&self.requests, &self.statements) {
            (None, Some(file)) => (Some(file), statements),
            (file, _) => (file.as_ref(), self.requests_format.as_deref()),
        };
        Ok(match (file, &self.curl, &self.statement) {
            (Some(file), ..) => {
                let (imported, row) = requests::read_file(file, form)?;
                Some((imported, format!("{} ({})", file.display(), row.name)))
            }
            (None, Some(line), _) => Some((requests::command(line)?, "--curl".to_owned())),
            (None, None, Some(text)) => {
                let from = "--statement";
                Some((requests::read_text(from, text, Path::new("."), statements)?.0, from.to_owned()))
            }
            (None, None, None) => None,
        })
    }
}

/// Aims the requests at the plan's target. If the user gave no target, the target becomes the origin in the URLs of the
/// requests. Returns messages about requests that are changed or left out.
fn aim(imported: &mut Imported, plan: &mut Plan) -> Vec<String> {
    // For a database target, the path of the URL names the database. The plan uses this path even with a request set,
    // so loadline prints no message that the path is ignored.
    let are_statements = imported.found.iter().all(|found| found.request.method == STATEMENT_METHOD);
    let replaced = replaced_path(&plan.target.url).filter(|_| !are_statements);
    let origin = imported.aim(&plan.target.url);
    if let Some(origin) = origin.filter(|_| plan.target.url.is_empty()) {
        plan.target.url = format!("{origin}/");
    }
    let elsewhere = imported.named_elsewhere(&plan.target.url);
    let url = &plan.target.url;
    let server = url.strip_suffix(target_path(url)).unwrap_or(url);
    let elsewhere = elsewhere.map(|named| format!("the requests name {named}, and are sent to {server}"));
    replaced.into_iter().chain(elsewhere).chain(imported.left_out_words()).collect()
}

/// Prints messages about request sets. If two servers have the same request set, their messages are equal. Prints equal
/// messages once.
pub(crate) fn tell(lines: &[String]) {
    let mut told: Vec<&String> = Vec::new();
    for line in lines {
        if !told.contains(&line) {
            output::tell_in_lines(&output::safe(line));
            told.push(line);
        }
    }
}

/// Returns the message that the paths of the request set replace the path of the target. Returns `None` if the target
/// has no path.
fn replaced_path(url: &str) -> Option<String> {
    let path = target_path(url).split('#').next().unwrap_or_default();
    (!["", "/"].contains(&path)).then(|| format!("the paths of these requests replace {path} of the target"))
}

/// Returns the request's path, query and fragment from the URL of a target.
fn target_path(url: &str) -> &str {
    let parts = run::UrlParts::parse(url);
    // In the URL of a Unix socket, the first `:/` separates the path of the socket from the path of the request.
    if parts.transport().1 { parts.rest.find(":/").map_or("", |at| &parts.rest[at + 1..]) } else { parts.path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_a_request_set_replaces_is_told() {
        for (url, path) in [("http://h/zz", "/zz"), ("http://h/a?b#c", "/a?b"), ("h/z", "/z"), ("unix:///s:/a", "/a")] {
            assert!(replaced_path(url).is_some_and(|said| said.contains(&format!("replace {path} of"))), "{url}");
        }
        for url in ["", "http://h", "http://h/", "http://h/#top", "unix:///s", "unix:///s:/"] {
            assert_eq!(replaced_path(url), None, "{url}");
        }
    }
}
