//! Access logs: which requests users made, how often, and when.

mod escapes;
mod fields;
mod json;
mod line;
mod summary;
mod time;

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use run::{MAX_REQUESTS, RequestPlan};

use crate::error::{ReadError, shown};
use crate::found::left_out_words;
use crate::row::MAX_LINES_LOOKED_AT;
use crate::url;
use crate::vegeta_target::is_target;
use fields::Fields;
pub use summary::Summary;

/// Maximum number of different requests that are counted (about 100 MB of memory). Further requests are left out.
const MAX_DIFFERENT: usize = 1_000_000;
/// Maximum number of requests whose times are kept for a replay in time.
const MAX_TIMES: usize = 1_000_000;
/// Maximum length of a line, bytes.
const MAX_LINE_BYTES: u64 = 64 * 1024;
/// First bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// Methods that change nothing on the server (RFC 9110, section 9.2.1).
const SAFE: &[&str] = &["GET", "HEAD", "OPTIONS"];

/// Usual methods, which some logs have in small letters. Methods are case-sensitive (RFC 9110, section 9.1).
const USUAL: &[&str] = &["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "TRACE"];
/// Statuses that servers write to their logs, but never send: the server closed the connection without an answer (nginx:
/// 444), or the client closed it first (nginx: 499, AWS load balancers: 460).
const NEVER_SENT: &[u16] = &[444, 460, 499];

/// Selection of the requests of a log to replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// Allowed methods besides the safe ones, such as POST.
    pub allow: Vec<String>,
    /// Field names of JSON lines: `path=uri,time=at`.
    pub fields: String,
}

/// Requests read from a log.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Distinct requests, most frequent first. The weight of a request is its number of occurrences in the log.
    pub requests: Vec<RequestPlan>,
    /// Every request with a time, in order: microseconds since the first, and its index in `requests`.
    pub times: Vec<(u64, u16)>,
    /// Number of requests left out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Description of the log.
    pub summary: Summary,
}

/// Returns the first lines of a file, compressed with gzip or not.
pub(crate) fn beginning(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    unpacked(path)?.take(MAX_LINE_BYTES * 4).read_to_end(&mut bytes)?;
    Ok(escapes::line_text(&bytes).into_owned())
}

/// Opens a file, compressed with gzip or not.
fn unpacked(path: &Path) -> std::io::Result<Box<dyn Read>> {
    let mut file = BufReader::new(std::fs::File::open(path)?);
    let packed = file.fill_buf()?.starts_with(GZIP);
    Ok(if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

/// Returns true if a file is an access log, judged by its first lines.
pub fn looks_like_log(path: &Path) -> bool {
    beginning(path).is_ok_and(|text| text_looks_like_log(&text))
}

/// Parses a line of a log: JSON, or a request in quotation marks. The error is a column, from 1, and a message.
fn parse(line: &str, fields: &Fields) -> Result<line::Logged, (usize, String)> {
    if line.trim_start().starts_with('{') { json::parse(line, fields) } else { line::plain(line) }
}

/// Returns true if one of the first lines of a text is a line of an access log.
pub(crate) fn text_looks_like_log(text: &str) -> bool {
    let Ok(usual) = Fields::new("") else { return false };
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_LINES_LOOKED_AT);
    lines.any(|line| !is_target(line) && parse(line, &usual).is_ok_and(|logged| logged.is_of_a_log()))
}

/// Reads a log, compressed with gzip or not.
pub(crate) fn replay(path: &Path, options: &ReplayOptions) -> Result<Replay, ReadError> {
    let name = path.display().to_string();
    let fail = |message: String| ReadError { file: name.clone(), place: None, message };
    let fields = Fields::new(&options.fields).map_err(|why| fail(format!("--replay-fields: {why}")))?;
    let unreadable = |e: std::io::Error| fail(format!("cannot be read ({e}); name a readable access log"));
    let mut log = Log::default();
    let text = unpacked(path).map_err(unreadable)?;
    log.read(BufReader::new(text), &fields, options).map_err(unreadable)?;
    log.replay(&name)
}

/// State of reading a log.
#[derive(Default)]
struct Log {
    places: HashMap<(String, String), u32>,
    /// Per request: how often it was made, and the number of its responses with status 400 or above, by status.
    counts: Vec<(u64, HashMap<u16, u64>)>,
    /// Time of each request, seconds since the epoch, and its index in `counts`.
    times: Vec<(f64, u32)>,
    /// First line without a time.
    first_timeless: Option<String>,
    /// Server of the first request that is a full URL, as in the log of a proxy.
    origin: Option<String>,
    left_out: BTreeMap<String, u64>,
    lines: u64,
    first_bad: Option<(usize, usize, String)>,
    summary: Summary,
}

impl Log {
    fn read(&mut self, mut text: impl BufRead, fields: &Fields, options: &ReplayOptions) -> std::io::Result<()> {
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

    /// Leaves out a line that is too long.
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
        let mut logged = match parse(line, fields) {
            Ok(logged) => logged,
            Err((column, why)) => {
                self.first_bad
                    .get_or_insert_with(|| (self.lines as usize, column, format!("{why} in {}", shown(line))));
                return self.leave_out("that cannot be read");
            }
        };
        let capitals = logged.method.to_ascii_uppercase();
        if capitals != logged.method && USUAL.contains(&capitals.as_str()) {
            logged.method = capitals;
            self.summary.lower_case += 1;
        }
        *self.summary.methods.entry(logged.method.clone()).or_default() += 1;
        let allowed =
            |method: &str| SAFE.contains(&method) || options.allow.iter().any(|m| m.eq_ignore_ascii_case(method));
        if logged.method == "CONNECT" {
            return self.leave_out("CONNECT (it opens a tunnel, and no load can use one)");
        }
        if !allowed(&logged.method) {
            return self.leave_out(format!("{} (it may change things; allow it with --allow {0})", logged.method));
        }
        if logged.path == "*" {
            return self.leave_out(format!("{} * (it names no path)", logged.method));
        }
        let Ok(url) = url::split(&logged.path) else { return self.leave_out("with a path that cannot be sent") };
        if let Some(other) = self.other_origin(url.origin) {
            return self.leave_out(format!("made to {other}"));
        }
        let path = url.path;
        let new = self.places.len() as u32;
        let room = self.places.len() < MAX_DIFFERENT;
        let place = match self.places.entry((logged.method, path)) {
            std::collections::hash_map::Entry::Occupied(known) => *known.get(),
            std::collections::hash_map::Entry::Vacant(free) if room => *free.insert(new),
            std::collections::hash_map::Entry::Vacant(_) => return self.leave_out("different ones beyond a million"),
        };
        if place == new {
            self.counts.push(Default::default());
        }
        let count = &mut self.counts[place as usize];
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
        match logged.at_s {
            Some(at) if self.times.len() < MAX_TIMES => self.times.push((at, place)),
            Some(_) => self.summary.beyond_times += 1,
            None => {
                self.summary.timeless += 1;
                self.first_timeless.get_or_insert_with(|| format!("line {}: {}", self.lines, shown(line)));
            }
        }
    }

    /// Returns the server of a request if it differs from the server of the log's first request with a full URL.
    fn other_origin(&mut self, origin: Option<String>) -> Option<String> {
        let origin = origin?;
        let first = self.origin.get_or_insert_with(|| origin.clone());
        (*first != origin).then_some(origin)
    }

    fn leave_out(&mut self, why: impl Into<String>) {
        *self.left_out.entry(why.into()).or_default() += 1;
    }

    fn replay(mut self, file: &str) -> Result<Replay, ReadError> {
        if self.counts.is_empty() {
            let (place, why) = match self.first_bad {
                Some((line, column, why)) => (Some((line, column)), format!("no line is a request to make: {why}")),
                None => (None, "no line is a request to make".to_owned()),
            };
            let why = left_out_words(&self.left_out).map_or(why.clone(), |words| format!("{why} ({words})"));
            return Err(ReadError { file: file.into(), place, message: why });
        }
        let mut different: Vec<((String, String), u32)> = std::mem::take(&mut self.places).into_iter().collect();
        let count = |place: u32| self.counts[place as usize].0;
        different.sort_by(|a, b| count(b.1).cmp(&count(a.1)).then_with(|| a.0.cmp(&b.0)));
        let rare: u64 = different.iter().skip(MAX_REQUESTS).map(|(_, place)| count(*place)).sum();
        if rare > 0 {
            self.left_out.insert("of the rarest beyond 65,535 different ones".into(), rare);
        }
        different.truncate(MAX_REQUESTS);
        let mut to = vec![None; self.counts.len()];
        (0..).zip(&different).for_each(|(item, (_, place)): (u16, _)| to[*place as usize] = Some(item));
        let requests = different.into_iter().map(|((method, path), place)| {
            let (made, bad) = &self.counts[place as usize];
            request(method, path, *made, bad)
        });
        let requests: Vec<RequestPlan> = requests.collect();
        self.times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let whole = self.times.len() > 1 && self.times.iter().all(|(at, _)| at.fract() == 0.0);
        if whole {
            spread(&mut self.times);
        }
        let first = self.times.first().map_or(0.0, |(at, _)| *at);
        let times =
            self.times.iter().filter_map(|(at, place)| Some((((at - first) * 1e6) as u64, to[*place as usize]?)));
        let times: Vec<(u64, u16)> = times.collect();
        let bad = self.first_bad.map(|(line, column, why)| format!("first at line {line}, column {column}: {why}"));
        self.summary.whole_seconds = whole;
        self.summary.fill(self.lines, &requests, &times, bad);
        self.summary.first_timeless = self.first_timeless;
        Ok(Replay { requests, times, left_out: self.left_out, summary: self.summary })
    }
}

/// Spreads the requests of each second evenly over that second, for a log of whole seconds.
fn spread(times: &mut [(f64, u32)]) {
    for second in times.chunk_by_mut(|a, b| a.0 == b.0) {
        let n = second.len() as f64;
        (0..).zip(second).for_each(|(i, (at, _))| *at += f64::from(i) / n);
    }
}

fn request(method: String, path: String, made: u64, bad: &HashMap<u16, u64>) -> RequestPlan {
    let first = path.split(['/', '?']).nth(1).unwrap_or_default();
    let folder = path[1..].contains('/');
    let class = if folder { format!("{method} /{first}/") } else { format!("{method} /{first}") };
    // If a request mostly got one error status, the replay expects this status.
    let usual = bad.iter().max_by_key(|(status, n)| (**n, **status)).filter(|(_, n)| **n * 2 > made);
    RequestPlan {
        method,
        path,
        class,
        weight: made as f64,
        expect_status: usual.map(|(s, _)| *s),
        ..RequestPlan::default()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn of(text: &[u8], allow: &[&str]) -> Result<Replay, ReadError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        let allow = allow.iter().map(|m| (*m).to_owned()).collect();
        replay(file.path(), &ReplayOptions { allow, ..ReplayOptions::default() })
    }

    fn line(second: u32, request: &str, status: u16) -> String {
        format!("h - - [10/Oct/2000:13:55:{second:02} +0000] \"{request} HTTP/1.1\" {status} 1 \"-\" \"-\"\n")
    }

    #[test]
    fn a_line_that_is_too_long_is_one_line_and_is_named() {
        let long = line(1, &format!("GET /{}", "x".repeat(MAX_LINE_BYTES as usize)), 200);
        let text = [line(1, "GET /a", 200), long.clone(), line(2, "GET /b", 200)].concat();
        let log = of(text.as_bytes(), &[]).unwrap();
        let (said, bytes) = (log.summary.words().join("; "), long.len());
        assert_eq!((log.times.len(), log.left_out["longer than 64 KiB"]), (2, 1));
        assert!(said.starts_with("3 lines, 2 requests"), "{said}");
        assert!(said.contains(&format!("first at line 2, column 65537: the line has {bytes} bytes")), "{said}");
        let alone = of(long.as_bytes(), &[]).unwrap_err();
        assert!(alone.place == Some((1, 65_537)) && alone.message.contains("remove its long fields"), "{alone}");
        let exact = format!("{}\n", "x".repeat(MAX_LINE_BYTES as usize - 1)) + &line(1, "GET /a", 200);
        assert!(!of(exact.as_bytes(), &[]).unwrap().left_out.contains_key("longer than 64 KiB"));
    }

    #[test]
    fn requests_are_counted_and_what_changes_things_is_left_out_unless_allowed() {
        let text = [
            line(3, "GET /a?x=1", 200),
            line(1, "GET /shop/b", 404),
            line(1, "POST /p", 200),
            line(2, "GET /a?x=1", 304),
            "rubbish\n".into(),
        ]
        .concat();
        let log = of(text.as_bytes(), &[]).unwrap();
        let said: Vec<_> =
            log.requests.iter().map(|r| (r.path.as_str(), r.weight, r.class.as_str(), r.expect_status)).collect();
        assert_eq!(said, [("/a?x=1", 2.0, "GET /a", None), ("/shop/b", 1.0, "GET /shop/", Some(404))]);
        assert_eq!(log.times, [(0, 1), (1_000_000, 0), (2_000_000, 0)]);
        let two = of([line(1, "GET /a", 200), line(1, "GET /b", 200), line(2, "GET /a", 200)].concat().as_bytes(), &[]);
        assert_eq!(two.unwrap().times, [(0, 0), (500_000, 1), (1_000_000, 0)], "spread over their second");
        assert_eq!(log.left_out.values().sum::<u64>(), 2);
        assert!(log.left_out.keys().any(|why| why.starts_with("POST") && why.contains("--allow POST")));
        assert!(log.summary.words().join("\n").contains("first at line 5, column 1"), "{:?}", log.summary.words());
        assert_eq!(of(text.as_bytes(), &["post"]).unwrap().requests.len(), 3);
    }

    /// Seen: `get` was left out as a method that may change things.
    #[test]
    fn methods_in_small_letters_are_the_usual_ones() {
        let text = [line(1, "get /a", 200), line(1, "GET /a", 200), line(1, "Delete /b", 200), line(1, "x /c", 200)];
        let log = of(text.concat().as_bytes(), &[]).unwrap();
        assert_eq!((log.requests.len(), log.requests[0].weight), (1, 2.0));
        assert!(log.left_out.keys().any(|why| why.starts_with("DELETE (it may")), "{:?}", log.left_out);
        assert!(log.left_out.keys().any(|why| why.starts_with("x (it may")), "{:?}", log.left_out);
        let said = log.summary.words();
        assert!(said.contains(&"2 methods written in small letters: read as capitals".into()), "{said:?}");
    }

    /// Seen: a client left before the answer (499), and the replay expected the server to answer 499.
    #[test]
    fn a_status_that_no_server_sends_is_not_expected() {
        for status in NEVER_SENT {
            let text = [line(1, "GET /left", *status), line(1, "GET /left", *status), line(1, "GET /a", 404)].concat();
            let log = of(text.as_bytes(), &[]).unwrap();
            let expected: Vec<Option<u16>> = log.requests.iter().map(|request| request.expect_status).collect();
            let answers = "answers: 4xx 1, none 2 (a status such as 499:";
            assert_eq!(expected, [None, Some(404)]);
            assert!(log.summary.words().iter().any(|said| said.starts_with(answers)), "{:?}", log.summary.words());
        }
    }

    #[test]
    fn a_packed_log_is_the_same_log() {
        let text = [line(1, "GET /a", 200), line(2, "GET /b", 200)].concat();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        let (plain, packed) = (of(text.as_bytes(), &[]).unwrap(), of(&packed.finish().unwrap(), &[]).unwrap());
        assert_eq!((plain.requests, plain.times), (packed.requests, packed.times));
    }

    #[test]
    fn files_that_are_no_log_are_refused() {
        let error = of(b"what is this\n", &[]).unwrap_err().to_string();
        assert!(
            error.contains("line 1, column 1: no line is a request to make") && error.contains("what is this"),
            "{error}"
        );
        assert!(of(b"", &[]).is_err());
    }
}
