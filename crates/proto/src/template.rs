//! Requests with placeholders, which are replaced by values for every send. There are these placeholders: `{{column}}`,
//! `{{seq}}`, `{{uuid}}`, `{{random 1 100}}`, `{{zipf 1 1000000 0.99}}`, and values captured from earlier answers on
//! the same connection.
//!
//! A request is cut into pieces only once. For each send, the pieces and the values are copied into a reused buffer of
//! the connection, without allocation or locks. The connections share only the counter of built requests.

mod cut;
pub(crate) mod values;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use run::{DataOrder, Protocol, RequestOrder, RequestPlan, RequestSet};

use crate::Mix;
use crate::zipf::Zipf;
use values::{decimal, percent_encoded, uuid, without_blanks};

/// A part of a request.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Text(Box<[u8]>),
    /// The value of a column in the data row of this request; percent-encoded in a path.
    Column {
        at: usize,
        in_path: bool,
    },
    /// The number of the request: 1, 2, 3, … If several processes share a load, each of them uses its own part of these
    /// numbers.
    Seq,
    Uuid,
    /// A uniform random number from the first to the second number, both included.
    Random(u64, u64),
    Zipf(Zipf),
    /// The captured value with the contained index in [`Source::captured`]. In a path, only the bytes that would end
    /// the path are percent-encoded, because a captured value may be a whole path with a query.
    Captured {
        at: usize,
        in_path: bool,
    },
}

/// Values for the placeholders of all requests of a load.
#[derive(Debug)]
pub(crate) struct Source {
    /// Values as plain text, by column and row.
    plain: Vec<Vec<Box<[u8]>>>,
    /// Values percent-encoded for a path, by column and row.
    in_path: Vec<Vec<Box<[u8]>>>,
    rows: u64,
    random_rows: bool,
    first: u64,
    step: u64,
    made: AtomicU64,
    columns: Vec<String>,
    /// Names of captured values, sorted.
    pub(crate) captured: Vec<String>,
    /// Host of the server, to which cookies belong.
    pub(crate) host: String,
    /// True if `{{…}}` is a placeholder; false for sets in formats without placeholders.
    placeholders: bool,
}

/// Data row and number of one request.
#[derive(Clone, Copy)]
pub(crate) struct RequestIndex {
    row: usize,
    seq: u64,
}

impl Source {
    /// Collects the values for a set whose requests can differ each time they are sent. A request can differ from one
    /// send to the next if it has placeholders or captures values. Requests that are sent as a sequence can differ,
    /// too, because a sequence stores and sends cookies. Returns `None` for constant requests, which are assembled only
    /// once to save time.
    pub(crate) fn for_plan(plan: &Protocol, set: Option<&RequestSet>) -> Option<Arc<Self>> {
        let common = |mark: &str| plan.http().is_some_and(|http| http.headers.iter().any(|(_, v)| v.contains(mark)));
        let changes = |set: &&RequestSet| {
            let placeholders = set.templates && (common("{{") || set.requests.iter().any(has_placeholders));
            placeholders || set.order == RequestOrder::Sequence
        };
        let host = plan.http().map_or(String::new(), |http| http.host.clone());
        set.filter(changes).map(|set| Arc::new(Self { host, ..Self::new(set) }))
    }

    pub(crate) fn new(set: &RequestSet) -> Self {
        let data = set.data.clone().unwrap_or_default();
        let column = |at: usize, encode: fn(&str) -> Box<[u8]>| {
            data.rows.iter().map(|row| encode(row.get(at).map_or("", String::as_str))).collect::<Vec<_>>()
        };
        let all = |encode| (0..data.columns.len()).map(|at| column(at, encode)).collect();
        let mut captured: Vec<String> = set.requests.iter().flat_map(|r| r.capture.keys().cloned()).collect();
        captured.sort();
        captured.dedup();
        Self {
            plain: all(|text| text.as_bytes().into()),
            in_path: all(percent_encoded),
            rows: data.rows.len() as u64,
            random_rows: data.order == DataOrder::Random,
            first: data.first,
            step: data.step.max(1),
            made: AtomicU64::new(0),
            columns: data.columns,
            captured,
            host: String::new(),
            placeholders: set.templates,
        }
    }

    /// Returns the next request's row and number.
    pub(crate) fn next_index(&self, rng: &mut Rng) -> RequestIndex {
        let seq = self.first + self.made.fetch_add(1, Ordering::Relaxed) * self.step;
        let row = match (self.rows, self.random_rows) {
            (0, _) => 0,
            (rows, true) => rng.u64(0..rows),
            (rows, false) => seq % rows,
        };
        RequestIndex { row: row as usize, seq: seq + 1 }
    }

    /// Returns true if a text contains a placeholder.
    pub(crate) fn fills(&self, text: &[u8]) -> bool {
        self.placeholders && text.windows(2).any(|two| two == b"{{")
    }

    /// Appends pieces, with placeholders replaced by values.
    pub(crate) fn fill(
        &self,
        pieces: &[Piece],
        index: RequestIndex,
        captured: &[Vec<u8>],
        rng: &mut Rng,
        to: &mut Vec<u8>,
    ) {
        for piece in pieces {
            match piece {
                Piece::Text(text) => to.extend_from_slice(text),
                Piece::Column { at, in_path: false } => to.extend_from_slice(&self.plain[*at][index.row]),
                Piece::Column { at, in_path: true } => to.extend_from_slice(&self.in_path[*at][index.row]),
                Piece::Seq => decimal(index.seq, to),
                Piece::Random(low, high) => decimal(rng.u64(*low..=*high), to),
                Piece::Zipf(zipf) => decimal(zipf.draw(rng), to),
                Piece::Uuid => uuid(rng, to),
                Piece::Captured { at, in_path } => {
                    let value = captured.get(*at).map_or(&[][..], Vec::as_slice);
                    if *in_path { without_blanks(value, to) } else { to.extend_from_slice(value) }
                }
            }
        }
    }
}

/// Multiplier that makes the seeds of successive sessions very different.
const SEED_SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Data that all sessions of a client share, in addition to the requests themselves.
#[derive(Clone)]
pub(crate) struct SharedPlan {
    pub(crate) mix: Arc<Mix>,
    /// Values that are filled into requests for every send; absent if all requests are constant.
    pub(crate) source: Option<Arc<Source>>,
    /// Number of sessions so far. Each session derives the seed of its random numbers from the number of sessions so
    /// far.
    sessions: Arc<AtomicU64>,
}

impl SharedPlan {
    pub(crate) fn new(plan: &Protocol, set: Option<&RequestSet>) -> Self {
        Self { mix: Mix::for_set(set), source: Source::for_plan(plan, set), sessions: Arc::default() }
    }

    /// Returns the source of the values that are filled into requests, a seed for random values, and a flag. The flag
    /// is true if the client stores cookies and sends them. Returns `None` if all requests are constant.
    pub(crate) fn template(&self) -> Option<(Arc<Source>, u64, bool)> {
        let source = self.source.clone()?;
        let seed = self.sessions.fetch_add(1, Ordering::Relaxed).wrapping_mul(SEED_SPREAD);
        Some((source, seed, self.mix.order == RequestOrder::Sequence))
    }
}

/// Returns true if a request has placeholders or captures values.
fn has_placeholders(request: &RequestPlan) -> bool {
    let texts = [&request.path, &request.body].into_iter().chain(request.headers.iter().map(|(_, value)| value));
    let coded = run::from_base64(&request.body_base64).is_some_and(|body| body.windows(2).any(|two| two == b"{{"));
    texts.into_iter().any(|text| text.contains("{{")) || coded || !request.capture.is_empty()
}

/// Returns a text with each placeholder replaced by `0`, for checks of the constant part.
pub fn without_placeholders(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(begin) = rest.find("{{") {
        let Some(end) = rest[begin..].find("}}") else { break };
        out.push_str(&rest[..begin]);
        out.push('0');
        rest = &rest[begin + end + 2..];
    }
    out + rest
}

#[cfg(test)]
mod tests;
