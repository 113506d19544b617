//! Reads requests to export spans from a connection, and builds the answers.

use std::io::{self, Read, Write};

use flate2::read::GzDecoder;
use proto::http1::{Chunked, Framing};

/// Maximum size of a body, bytes. The limit applies to the body as the sender sent it, and also to the decompressed
/// body.
pub(crate) const MAX_BODY_BYTES: usize = 8 << 20;
/// Maximum size of a request's head, bytes.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// URL path at which a receiver accepts spans (OTLP 1.x, "OTLP/HTTP Request").
const PATH: &str = "/v1/traces";

/// Encoding of the spans in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Protobuf,
}

/// A request to export spans. `persists` is true if the connection stays open after the request.
#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) encoding: Encoding,
    pub(crate) body: Vec<u8>,
    pub(crate) persists: bool,
}

/// Reason why the receiver refuses a request: a status and a sentence.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) u16, pub(crate) &'static str);

/// Reason why the receiver ends the connection to a sender.
pub(crate) enum Ending {
    /// The sender closed the connection or was too slow, or reading or writing failed.
    Quiet,
    Refused(Refusal),
}

impl From<io::Error> for Ending {
    fn from(_: io::Error) -> Self {
        Self::Quiet
    }
}

impl From<Refusal> for Ending {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Properties of a request that are read from its head.
struct Head {
    length: usize,
    framing: Framing,
    persists: bool,
    encoding: Encoding,
    is_gzip: bool,
    expects_continue: bool,
}

/// Reads one HTTP request of a sender. Before the call, `rest` contains the bytes that arrived after the previous
/// request. After the call, `rest` contains the bytes that arrived after the request that was read.
pub(crate) fn read<S: Read + Write>(stream: &mut S, rest: &mut Vec<u8>) -> Result<Export, Ending> {
    let head = loop {
        if let Some(head) = head(rest)? {
            break head;
        }
        if rest.len() > MAX_HEAD_BYTES {
            return Err(Refusal(431, "the head is too long").into());
        }
        more(stream, rest)?;
    };
    if head.expects_continue {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    rest.drain(..head.length);
    let body = match head.framing {
        Framing::Length(length) => sized(stream, rest, length)?,
        Framing::Chunked => chunked(stream, rest)?,
        Framing::Undeclared | Framing::OtherCoding => Vec::new(),
    };
    let body = if head.is_gzip { unpacked(&body)? } else { body };
    Ok(Export { encoding: head.encoding, body, persists: head.persists })
}

/// Parses the head of a request; `None` if the head is incomplete.
fn head(bytes: &[u8]) -> Result<Option<Head>, Refusal> {
    let Some(request) = proto::http1::request(bytes).map_err(|refused| Refusal(refused.status, refused.why))? else {
        return Ok(None);
    };
    if request.path.split('?').next() != Some(PATH) {
        return Err(Refusal(404, "spans are received at /v1/traces"));
    }
    if request.method != "POST" {
        return Err(Refusal(405, "use POST"));
    }
    let text = String::from_utf8_lossy(&bytes[..request.length]);
    let value = |wanted: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim().to_ascii_lowercase())
    };
    let kind = value("content-type").unwrap_or_default();
    let encoding = match kind.split(';').next().unwrap_or_default().trim() {
        "application/json" => Encoding::Json,
        "application/x-protobuf" => Encoding::Protobuf,
        _ => return Err(Refusal(415, "send application/json or application/x-protobuf")),
    };
    let is_gzip = match value("content-encoding").as_deref() {
        Some("gzip") => true,
        None | Some("identity" | "") => false,
        Some(_) => return Err(Refusal(415, "send bodies without compression, or with gzip")),
    };
    let persists = request.hop.persists(request.minor);
    let (length, framing, expects_continue) = (request.length, request.framing, request.expects_continue);
    Ok(Some(Head { length, framing, persists, encoding, is_gzip, expects_continue }))
}

fn sized<S: Read>(stream: &mut S, rest: &mut Vec<u8>, length: u64) -> Result<Vec<u8>, Ending> {
    let length = usize::try_from(length).ok().filter(|length| *length <= MAX_BODY_BYTES).ok_or(TOO_LONG)?;
    while rest.len() < length {
        more(stream, rest)?;
    }
    let after = rest.split_off(length);
    Ok(std::mem::replace(rest, after))
}

const TOO_LONG: Refusal = Refusal(413, "the body is too long");

fn chunked<S: Read>(stream: &mut S, rest: &mut Vec<u8>) -> Result<Vec<u8>, Ending> {
    let (mut chunks, mut body) = (Chunked::new(), Vec::new());
    loop {
        let read = chunks.read(rest, |data, _| body.extend_from_slice(data));
        let (used, ended) = read.map_err(|_| Refusal(400, "the chunks are malformed"))?;
        rest.drain(..used);
        if body.len() > MAX_BODY_BYTES {
            return Err(TOO_LONG.into());
        }
        if ended {
            return Ok(body);
        }
        more(stream, rest)?;
    }
}

fn unpacked(body: &[u8]) -> Result<Vec<u8>, Refusal> {
    let mut whole = Vec::new();
    let read = GzDecoder::new(body).take(MAX_BODY_BYTES as u64 + 1).read_to_end(&mut whole);
    read.map_err(|_| Refusal(400, "the body is not gzip"))?;
    if whole.len() > MAX_BODY_BYTES { Err(TOO_LONG) } else { Ok(whole) }
}

fn more<S: Read>(stream: &mut S, rest: &mut Vec<u8>) -> Result<(), Ending> {
    let mut piece = [0; 16 * 1024];
    match stream.read(&mut piece)? {
        0 => Err(Ending::Quiet),
        n => {
            rest.extend_from_slice(&piece[..n]);
            Ok(())
        }
    }
}

/// Returns the answer to a request whose spans were accepted.
pub(crate) fn taken(encoding: Encoding) -> Vec<u8> {
    let (kind, body) = match encoding {
        Encoding::Json => ("application/json", "{}"),
        // A protobuf message without fields has no bytes.
        Encoding::Protobuf => ("application/x-protobuf", ""),
    };
    format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Returns the answer to a refused request, after which the connection ends.
pub(crate) fn refused(Refusal(status, why): &Refusal) -> Vec<u8> {
    let length = why.len() + 1;
    let head = format!("HTTP/1.1 {status} Refused\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n");
    format!("{head}Connection: close\r\n\r\n{why}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Input stream for tests. Each read returns at most a fixed number of bytes.
    struct Pieces(VecDeque<u8>, usize, Vec<u8>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(buffer.len());
            self.0.read(&mut buffer[..n])
        }
    }

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.2.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn of(input: &[u8], piece: usize) -> (Result<Export, Ending>, Pieces, Vec<u8>) {
        let (mut stream, mut rest) = (Pieces(input.iter().copied().collect(), piece, Vec::new()), Vec::new());
        let read = read(&mut stream, &mut rest);
        (read, stream, rest)
    }

    fn post(headers: &str, body: &[u8]) -> Vec<u8> {
        let head = format!("POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{headers}\r\n");
        [head.as_bytes(), body].concat()
    }

    fn status(input: &[u8]) -> u16 {
        match of(input, 100).0 {
            Err(Ending::Refused(Refusal(status, _))) => status,
            _ => 0,
        }
    }

    #[test]
    fn a_body_is_read_however_it_is_framed_and_cut() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"{}").unwrap();
        let packed = packed.finish().unwrap();
        let gzip = format!("Content-Encoding: gzip\r\nContent-Length: {}\r\n", packed.len());
        for input in [
            post("Content-Length: 2\r\n", b"{}"),
            post("Transfer-Encoding: chunked\r\n", b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"),
            post(&gzip, &packed),
            post("Content-Length: 2\r\nExpect: 100-continue\r\n", b"{}"),
        ] {
            for piece in [1, 7, 1000] {
                let (export, stream, rest) = of(&input, piece);
                let Ok(export) = export else { panic!("{}", String::from_utf8_lossy(&input)) };
                assert_eq!((&*export.body, export.encoding, export.persists), (&b"{}"[..], Encoding::Json, true));
                assert!(rest.is_empty());
                let expects = String::from_utf8_lossy(&input).contains("Expect");
                assert_eq!(stream.2.starts_with(b"HTTP/1.1 100"), expects);
            }
        }
        let two = [post("Content-Length: 2\r\n", b"{}"), b"POST".to_vec()].concat();
        assert_eq!(of(&two, 1000).2, b"POST");
    }

    #[test]
    fn everything_else_is_refused() {
        assert_eq!(status(b"POST / HTTP/1.1\r\nHost: x\r\n\r\n"), 404);
        assert_eq!(status(b"GET /v1/traces HTTP/1.1\r\nHost: x\r\n\r\n"), 405);
        assert_eq!(status(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n\r\n"), 415);
        assert_eq!(status(&post("Content-Encoding: br\r\nContent-Length: 1\r\n", b"x")), 415);
        assert_eq!(status(&post("Content-Length: 999999999999\r\n", b"")), 413);
        assert_eq!(status(&post("Content-Encoding: gzip\r\nContent-Length: 2\r\n", b"{}")), 400);
        assert_eq!(status(&post("Transfer-Encoding: chunked\r\n", b"x\r\n")), 400);
        assert_eq!(status(&[b"POST /v1/traces HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 20_000]].concat()), 431);
        assert!(matches!(of(b"POST /v1", 100).0, Err(Ending::Quiet)));
        let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        bomb.write_all(&vec![b' '; MAX_BODY_BYTES + 1]).unwrap();
        let bomb = bomb.finish().unwrap();
        let headers = format!("Content-Encoding: gzip\r\nContent-Length: {}\r\n", bomb.len());
        assert_eq!(status(&post(&headers, &bomb)), 413);
    }
}
