//! Requests with placeholders, which are replaced by values for every send. There are these placeholders: `{{column}}`,
//! `{{seq}}`, `{{uuid}}`, `{{random 1 100}}`, `{{zipf 1 1000000 0.99}}`, and values captured from earlier answers on
//! the same connection.
//!
//! A request is cut into pieces only once. For each send, the pieces and the values are copied into a reused buffer of
//! the connection, without allocation or locks. The connections share only the counter of built requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use run::{DataOrder, Protocol, RequestOrder, RequestPlan, RequestSet};

use crate::zipf::Zipf;
use crate::{Mix, ProtoError};

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

    /// Cuts a text into constant pieces and placeholders.
    pub(crate) fn cut(&self, text: &str, in_path: bool) -> Result<Vec<Piece>, ProtoError> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some(begin) = rest.find("{{").filter(|_| self.placeholders) {
            let end = rest[begin..].find("}}").map(|n| begin + n);
            let end = end.ok_or_else(|| wrong(&rest[begin..], "close it with }}"))?;
            pieces.push(Piece::Text(rest.as_bytes()[..begin].into()));
            pieces.push(self.placeholder(&rest[begin + 2..end], in_path)?);
            rest = &rest[end + 2..];
        }
        pieces.push(Piece::Text(rest.as_bytes().into()));
        pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        Ok(pieces)
    }

    fn placeholder(&self, inside: &str, in_path: bool) -> Result<Piece, ProtoError> {
        let words: Vec<&str> = inside.split_whitespace().collect();
        let number = |word: &str| word.parse::<u64>().map_err(|_| wrong(inside, "give whole numbers of 0 or more"));
        match words.as_slice() {
            ["seq"] => Ok(Piece::Seq),
            ["uuid"] => Ok(Piece::Uuid),
            ["random", low, high] => match (number(low)?, number(high)?) {
                (low, high) if low <= high => Ok(Piece::Random(low, high)),
                _ => Err(wrong(inside, "give the smaller number first")),
            },
            ["zipf", low, high, exponent] => {
                let (low, high, s) = (number(low)?, number(high)?, exponent.parse::<f64>().unwrap_or(f64::NAN));
                let zipf = Zipf::new(low, high, s);
                zipf.map(Piece::Zipf).ok_or_else(|| wrong(inside, "write it like zipf 1 1000000 0.99"))
            }
            [name] => {
                let column = self.columns.iter().position(|column| column == name);
                let captured = self.captured.iter().position(|captured| captured == name);
                let captured = captured.map(|at| Piece::Captured { at, in_path });
                let known = column.map(|at| Piece::Column { at, in_path }).or(captured);
                known.ok_or_else(|| self.unknown(name))
            }
            _ => Err(wrong(inside, "write {{NAME}}, {{seq}}, {{uuid}}, {{random A B}} or {{zipf A B S}}")),
        }
    }

    /// Returns the error for a placeholder that names no column, captured value or keyword.
    fn unknown(&self, name: &str) -> ProtoError {
        let names = self.columns.iter().chain(&self.captured).map(String::as_str);
        let near = run::nearest(name, names.chain(["seq", "uuid", "random", "zipf"]));
        let near = near.map_or(String::new(), |near| format!("; did you mean {{{{{near}}}}}?"));
        let column = match self.columns.is_empty() {
            true => format!("give values with --data FILE, in a column {name}"),
            false => format!("name a column of --data ({})", self.columns.join(", ")),
        };
        let advice = format!("{column}, or write something captured, seq, uuid, random A B or zipf A B S{near}");
        ProtoError::UnknownPlaceholder { name: name.into(), advice }
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

fn wrong(inside: &str, advice: &'static str) -> ProtoError {
    ProtoError::Invalid { what: "the placeholder", value: inside.into(), advice }
}

/// Appends a number in decimal digits.
pub(crate) fn decimal(mut number: u64, to: &mut Vec<u8>) {
    let (mut digits, mut at) = ([0; 20], 20);
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    to.extend_from_slice(&digits[at..]);
}

/// Hexadecimal digits by value.
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends a random UUID (RFC 9562, version 4).
fn uuid(rng: &mut Rng, to: &mut Vec<u8>) {
    let mut bits = rng.u128(..);
    bits = bits & !(0xf << 76) | 0x4 << 76;
    bits = bits & !(0x3 << 62) | 0x2 << 62;
    for digit in 0..32 {
        if matches!(digit, 8 | 12 | 16 | 20) {
            to.push(b'-');
        }
        to.push(HEX[(bits >> (124 - 4 * digit)) as usize & 0xf]);
    }
}

/// Appends a value to a path. Blanks and control characters become `%HH`, because they would end the path or break the
/// request line (RFC 9112, section 3.2).
fn without_blanks(value: &[u8], to: &mut Vec<u8>) {
    for byte in value {
        match byte {
            0..=b' ' | 0x7f => push_escape(*byte, to),
            _ => to.push(*byte),
        }
    }
}

/// Appends a byte as `%HH`.
fn push_escape(byte: u8, to: &mut Vec<u8>) {
    to.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]].map(|c| c.to_ascii_uppercase()));
}

fn percent_encoded(text: &str) -> Box<[u8]> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(byte),
            _ => push_escape(byte, &mut out),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use run::DataTable;

    use super::*;

    fn source(order: DataOrder) -> Source {
        let rows = [["ann", "a b"], ["bob", "ü"]].map(|row| row.map(str::to_owned).to_vec()).to_vec();
        let data = DataTable { columns: vec!["user".into(), "term".into()], rows, order, first: 1, step: 2 };
        Source::new(&RequestSet { data: Some(data), templates: true, ..RequestSet::default() })
    }

    fn filled(source: &Source, text: &str, in_path: bool) -> String {
        let (pieces, mut rng, mut out) = (source.cut(text, in_path).unwrap(), Rng::with_seed(1), Vec::new());
        let index = source.next_index(&mut rng);
        source.fill(&pieces, index, &[], &mut rng, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn places_are_filled_row_by_row_in_this_process_share() {
        let source = source(DataOrder::Cycle);
        assert_eq!(filled(&source, "/{{user}}?q={{ term }}&n={{seq}}", true), "/bob?q=%C3%BC&n=2");
        assert_eq!(filled(&source, "{{user}}: {{term}} {{seq}}", false), "bob: ü 4");
        assert_eq!(filled(&source, "no placeholders", false), "no placeholders");
    }

    #[test]
    fn a_captured_blank_does_not_end_the_path() {
        let mut request = RequestPlan::default();
        request.capture.insert("v".into(), "json:/v".into());
        let source = Source::new(&RequestSet { requests: vec![request], templates: true, ..RequestSet::default() });
        let fill = |in_path| {
            let (pieces, mut rng, mut out) = (source.cut("/x/{{v}}", in_path).unwrap(), Rng::with_seed(1), Vec::new());
            let index = source.next_index(&mut rng);
            source.fill(&pieces, index, &[b"a b\x7f?c=%20".to_vec()], &mut rng, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!((fill(true), fill(false)), ("/x/a%20b%7F?c=%20".into(), "/x/a b\x7f?c=%20".into()));
    }

    #[test]
    fn drawn_values_are_of_their_kind() {
        let source = source(DataOrder::Random);
        let uuid = filled(&source, "{{uuid}}", false);
        let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert!(parts == [8, 4, 4, 4, 12] && uuid.as_bytes()[14] == b'4' && "89ab".contains(&uuid[19..20]), "{uuid}");
        let number: u64 = filled(&source, "{{random 5 7}}", false).parse().unwrap();
        assert!((5..=7).contains(&number));
        assert!(filled(&source, "{{zipf 10 20 1.1}}", false).parse::<u64>().unwrap() >= 10);
    }

    #[test]
    fn unknown_placeholders_are_named_with_the_nearest() {
        let source = source(DataOrder::Cycle);
        for (text, says) in [
            ("{{usre}}", "did you mean {{user}}?"),
            ("{{user", "close it"),
            ("{{random 5 1}}", "smaller number first"),
            ("{{random x 1}}", "whole numbers"),
            ("{{zipf 1 9 x}}", "zipf 1 1000000"),
            ("{{a b}}", "write {{NAME}}"),
        ] {
            let error = source.cut(text, false).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        assert_eq!(without_placeholders("/a/{{random 1 2}}/b{{"), "/a/0/b{{");
        let bare = Source::new(&RequestSet { templates: true, ..RequestSet::default() });
        assert_eq!(
            bare.cut("/d/{{id}}", true).unwrap_err().to_string(),
            "the placeholder {{id}} names no value: give values with --data FILE, in a column id, or write something \
             captured, seq, uuid, random A B or zipf A B S; did you mean {{uuid}}?"
        );
    }
}
