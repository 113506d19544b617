//! Reads the lines of an access log and counts its requests.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, Read as _};

use super::fields::Fields;
use super::line::Logged;
use super::parse::parse;
use super::selection::ReplayOptions;
use super::time::MIN_EPOCH_S;
use super::{escapes, summary::Summary};
use crate::error::shown;
use crate::unfit::TUNNEL;
use crate::url;

/// Maximum number of different requests that a replay counts; they use about 100 MB of memory. When the maximum number
/// of different requests has been reached, a request that differs from all counted requests is left out.
const MAX_DIFFERENT: usize = 1_000_000;
/// Maximum number of requests whose times are kept, for a replay with the recorded times.
const MAX_TIMES: usize = 1_000_000;
/// Maximum length of a line, bytes.
pub(super) const MAX_LINE_BYTES: u64 = 64 * 1024;
/// Usual HTTP methods. Some logs write the methods in small letters. A replay sends the usual methods in capitals,
/// because methods are case-sensitive (RFC 9110, section 9.1).
const USUAL: &[&str] = &["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "TRACE"];
/// Statuses that servers write to their logs, but never send. The status 444 (nginx) means that the server closed the
/// connection without an answer. The statuses 499 (nginx) and 460 (AWS load balancers) mean that the client closed the
/// connection first.
pub(super) const NEVER_SENT: &[u16] = &[444, 460, 499];

/// Counts of a log's requests, while the log is read.
#[derive(Default)]
pub(super) struct CollectedLog {
    pub(super) indexes: HashMap<(String, String), u32>,
    /// For each request: the number of times that it occurs in the log, and the numbers of its responses by status,
    /// from 400 to 599.
    pub(super) counts: Vec<(u64, HashMap<u16, u64>)>,
    /// Time of each request, seconds since the epoch, and the request's index in `counts`.
    pub(super) times: Vec<(f64, u32)>,
    /// First line without a time; `None` if all lines have times.
    pub(super) first_timeless: Option<String>,
    /// First line with a time before [`MIN_EPOCH_S`]; `None` if there is none.
    first_early: Option<String>,
    /// Server of the first request whose target is a full URL, as in the log of a proxy; `None` if there is no full
    /// URL.
    pub(super) origin: Option<String>,
    pub(super) left_out: BTreeMap<String, u64>,
    pub(super) lines: u64,
    pub(super) first_bad: Option<(usize, usize, String)>,
    pub(super) summary: Summary,
}

impl CollectedLog {
    /// Reads all lines of a log.
    pub(super) fn read(
        &mut self,
        mut text: impl BufRead,
        fields: &Fields,
        options: &ReplayOptions,
    ) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            if text.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)? == 0 {
                return Ok(());
            }
            self.lines += 1;
            if bytes.len() as u64 == MAX_LINE_BYTES && !bytes.ends_with(b"\n") {
                let rest = text.skip_until(b'\n')?;
                self.too_long(bytes.len() + rest);
                continue;
            }
            let line = escapes::line_text(&bytes);
            let line = line.trim_start_matches('\u{feff}').trim_end();
            if !line.is_empty() {
                self.line(line, fields, options);
            }
        }
    }

    /// Counts a line that is too long as left out.
    fn too_long(&mut self, length: usize) {
        let column = MAX_LINE_BYTES as usize + 1;
        let why = || {
            format!(
                "the line has {length} bytes, and at most {MAX_LINE_BYTES} are read; remove its long fields (bodies, cookies) \
                 from the log"
            )
        };
        self.first_bad.get_or_insert_with(|| (self.lines as usize, column, why()));
        self.leave_out("longer than 64 KiB");
    }

    fn line(&mut self, line: &str, fields: &Fields, options: &ReplayOptions) {
        let logged = match parse(line, fields) {
            Ok(logged) => logged,
            Err((column, why)) => {
                self.first_bad
                    .get_or_insert_with(|| (self.lines as usize, column, format!("{why} in {}", shown(line))));
                return self.leave_out("that cannot be read");
            }
        };
        match self.index_of_request(&logged, options) {
            Ok(index) => self.count(index, &logged, line),
            Err(why) => self.leave_out(why),
        }
    }

    /// Returns the index of a request in `counts`, or the reason why the request is left out.
    fn index_of_request(&mut self, logged: &Logged, options: &ReplayOptions) -> Result<u32, String> {
        let method = self.method(&logged.method);
        *self.summary.methods.entry(method.clone()).or_default() += 1;
        if method == "CONNECT" {
            return Err(TUNNEL.into());
        }
        if !options.allows(&method) {
            return Err(format!("{method} (it may change things; allow it with --allow {method})"));
        }
        if logged.path == "*" {
            return Err(format!("{method} * (it names no path)"));
        }
        let asked = Some(logged.path.as_str()).filter(|path| url::is_path_or_full(path));
        let url = asked.and_then(|path| url::split(path).ok()).ok_or("with a path that cannot be sent")?;
        if let Some(other) = self.other_origin(url.origin) {
            return Err(format!("made to {other}"));
        }
        let new = self.indexes.len() as u32;
        let index = match self.indexes.entry((method, url.path)) {
            Entry::Occupied(known) => return Ok(*known.get()),
            Entry::Vacant(_) if self.counts.len() >= MAX_DIFFERENT => {
                return Err("different ones beyond a million".into());
            }
            Entry::Vacant(free) => *free.insert(new),
        };
        self.counts.push(Default::default());
        Ok(index)
    }

    /// Returns an HTTP method as the log names it. Writes the method in capitals if it is one of [`USUAL`].
    fn method(&mut self, method: &str) -> String {
        let capitals = method.to_ascii_uppercase();
        if capitals == method || !USUAL.contains(&capitals.as_str()) {
            return method.to_owned();
        }
        self.summary.lower_case += 1;
        capitals
    }

    /// Counts one more occurrence of the request with index `index`, with its status and its time.
    fn count(&mut self, index: u32, logged: &Logged, line: &str) {
        let count = &mut self.counts[index as usize];
        count.0 += 1;
        match logged.status {
            None => self.summary.without_status += 1,
            Some(status) if NEVER_SENT.contains(&status) => self.summary.unanswered += 1,
            Some(status) => {
                *self.summary.statuses.entry(status / 100).or_default() += 1;
                if (400..600).contains(&status) {
                    *count.1.entry(status).or_default() += 1;
                }
            }
        }
        let named = || format!("line {}: {}", self.lines, shown(line));
        if logged.at_s.is_some_and(|at| at < MIN_EPOCH_S) {
            self.first_early.get_or_insert_with(named);
        }
        match logged.at_s {
            Some(at) if self.times.len() < MAX_TIMES => self.times.push((at, index)),
            Some(_) => self.summary.beyond_times += 1,
            None => {
                self.summary.timeless += 1;
                self.first_timeless.get_or_insert_with(named);
            }
        }
    }

    /// If most times of the log are dates, treats the other times as unreadable. Beside dates, a time such as 0 would
    /// make the replay last for decades.
    pub(super) fn leave_out_early_times(&mut self) {
        let before = self.times.len();
        let is_date = |(at, _): &(f64, u32)| *at >= MIN_EPOCH_S;
        if self.times.iter().filter(|time| is_date(time)).count() * 2 <= before {
            return;
        }
        self.times.retain(is_date);
        self.summary.timeless += (before - self.times.len()) as u64;
        self.first_timeless = self.first_timeless.take().or(self.first_early.take());
    }

    /// Returns the server of a request if it differs from the server of the log's first request with a full URL, and
    /// `None` otherwise.
    fn other_origin(&mut self, origin: Option<String>) -> Option<String> {
        let origin = origin?;
        let first = self.origin.get_or_insert_with(|| origin.clone());
        (*first != origin).then_some(origin)
    }

    fn leave_out(&mut self, why: impl Into<String>) {
        *self.left_out.entry(why.into()).or_default() += 1;
    }
}
