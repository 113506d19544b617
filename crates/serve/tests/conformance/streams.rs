//! Test requests for services whose connections begin with a handshake: HTTP/2, gRPC and WebSocket.

use crate::talk::{LONG_NOISE, SHORT, Talk};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// Size of a short message, bytes.
const MESSAGE: usize = 64;

pub(crate) fn talks() -> Vec<Talk> {
    vec![
        Talk {
            hello: preface(),
            numbered: true,
            ask: get("/short"),
            long_ask: get("/long"),
            right: right_pages,
            ..Talk::new("h2")
        },
        Talk { hello: preface(), numbered: true, ask: call(), long_asks: 0, right: right_calls, ..Talk::new("grpc") },
        Talk { hello: upgrade(), ask: message(0x80), long_asks: 0, right: right_messages, ..Talk::new("ws") },
    ]
}

/// Builds an HTTP/2 frame of stream 0 or 1.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Changes the stream ID of frames.
pub(crate) fn number(frames: &mut [u8], stream: u32) {
    let mut rest = frames;
    while rest.len() >= 9 {
        let length = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
        rest[5..9].copy_from_slice(&stream.to_be_bytes());
        rest = &mut rest[9 + length..];
    }
}

/// Returns the bytes with which an HTTP/2 client begins, with the largest possible flow-control windows.
fn preface() -> Vec<u8> {
    let (most, more) = (0x7fff_ffff_u32, 0x7fff_ffff_u32 - 65_535);
    let settings = frame(4, 0, 0, &[&[0, 4][..], &most.to_be_bytes()].concat());
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), settings, frame(8, 0, 0, &more.to_be_bytes())].concat()
}

/// Encodes an HTTP/2 header whose name is in the static table, and does not add the header to the dynamic table.
fn field(name: &[u8], value: &str) -> Vec<u8> {
    [name, &[value.len() as u8], value.as_bytes()].concat()
}

fn get(path: &str) -> Vec<u8> {
    let block = [vec![0x82, 0x86], field(&[4], path), field(&[1], "h")].concat();
    frame(HEADERS, END_HEADERS | END_STREAM, 1, &block)
}

fn call() -> Vec<u8> {
    let block =
        [vec![0x83, 0x86], field(&[4], "/a.B/C"), field(&[1], "h"), field(&[15, 16], "application/grpc")].concat();
    let message = [&[0][..], &(MESSAGE as u32).to_be_bytes(), &LONG_NOISE[..MESSAGE]].concat();
    [frame(HEADERS, END_HEADERS, 1, &block), frame(DATA, END_STREAM, 1, &message)].concat()
}

/// Returns the bodies of the streams in order; `None` if a stream did not end or was reset.
fn bodies(answer: &[u8], asks: usize) -> Option<Vec<Vec<u8>>> {
    let (mut bodies, mut ended, mut rest) = (vec![Vec::new(); asks], vec![false; asks], answer);
    while !rest.is_empty() {
        let head = rest.first_chunk::<9>()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let (payload, after) = rest[9..].split_at_checked(length)?;
        let at = (u32::from_be_bytes([head[5], head[6], head[7], head[8]]) / 2) as usize;
        match head[3] {
            DATA => bodies.get_mut(at)?.extend_from_slice(payload),
            3 | 7 => return None,
            _ => {}
        }
        if head[3] <= HEADERS && head[4] & END_STREAM != 0 {
            ended[at] = true;
        }
        rest = after;
    }
    ended.iter().all(|ended| *ended).then_some(bodies)
}

fn right_pages(answer: &[u8], ask: &[u8], asks: usize) -> bool {
    let page = if ask == get("/long") { &LONG_NOISE[..] } else { &LONG_NOISE[..SHORT] };
    bodies(answer, asks).is_some_and(|bodies| bodies.iter().all(|body| body == page))
}

/// Returns true if each answer is one gRPC message of [`MESSAGE`] bytes.
fn right_calls(answer: &[u8], _: &[u8], asks: usize) -> bool {
    let head = [&[0][..], &(MESSAGE as u32).to_be_bytes()].concat();
    let whole = |body: &Vec<u8>| body.starts_with(&head) && body.len() == head.len() + MESSAGE;
    bodies(answer, asks).is_some_and(|bodies| bodies.iter().all(whole))
}

fn upgrade() -> Vec<u8> {
    let lines = ["GET / HTTP/1.1", "Host: h", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"];
    format!("{}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", lines.join("\r\n")).into_bytes()
}

/// Builds a message in a single frame. If `masked` is not 0, the frame is a client's frame, with a mask of zeros.
fn message(masked: u8) -> Vec<u8> {
    let mask: &[u8] = if masked == 0 { &[] } else { &[0; 4] };
    [&[0x82, masked | MESSAGE as u8], mask, &LONG_NOISE[..MESSAGE]].concat()
}

fn right_messages(answer: &[u8], _: &[u8], asks: usize) -> bool {
    let Some(end) = answer.windows(4).position(|w| w == b"\r\n\r\n") else { return false };
    answer.starts_with(b"HTTP/1.1 101 ") && answer[end + 4..] == message(0).repeat(asks)
}
