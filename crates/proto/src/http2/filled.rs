//! Requests whose places are filled anew each time. What does not change is encoded once; no table of the peer is used.

use std::sync::Arc;

use fastrand::Rng;

use super::hpack::{write_field, write_length, write_name};
use crate::ProtoError;
use crate::memory::{Capture, Memory};
use crate::template::{Piece, Source, decimal};

/// A request that is filled anew each time.
#[derive(Debug)]
pub(super) struct Filled {
    fields: Vec<Field>,
    body: Vec<Piece>,
    /// The name of the field that says the body's length, where it is said.
    length: Option<Vec<u8>>,
}

/// A header, encoded as far as it is always the same.
#[derive(Debug)]
enum Field {
    Fixed(Vec<u8>),
    Places { name: Vec<u8>, value: Vec<Piece> },
}

impl Filled {
    /// Cuts a request up. Places stand in values, those of `:path` with what a path cannot hold as %XX.
    pub(super) fn new(
        headers: &[(String, String)],
        body: &[u8],
        says_length: bool,
        source: &Source,
    ) -> Result<Self, ProtoError> {
        let field = |(name, value): &(String, String)| {
            if !value.contains("{{") {
                return Ok(Field::Fixed(encoded(|to| write_field(to, name, value))));
            }
            let value = source.cut(value, name == ":path")?;
            Ok(Field::Places { name: encoded(|to| write_name(to, name)), value })
        };
        let body = match std::str::from_utf8(body) {
            Ok(text) => source.cut(text, false)?,
            Err(_) => vec![Piece::Text(body.into())],
        };
        let length = says_length.then(|| encoded(|to| write_name(to, "content-length")));
        Ok(Self { fields: headers.iter().map(field).collect::<Result<_, ProtoError>>()?, body, length })
    }
}

fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes);
    bytes
}

/// What a connection has whose requests are filled anew each time. Its memory is used again.
#[derive(Debug)]
pub(super) struct Live {
    source: Arc<Source>,
    rng: Rng,
    /// The headers of the request that was filled last, and room for a value.
    pub(super) block: Vec<u8>,
    value: Vec<u8>,
    /// Bodies that are not sent to their end, by stream.
    bodies: Vec<(u32, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
    /// The name of the header of cookies, where they are kept and sent.
    cookies: Option<Vec<u8>>,
    pub(super) memory: Memory,
}

impl Live {
    /// With `cookies` those of answers are kept and sent.
    pub(super) fn new(source: Arc<Source>, seed: u64, cookies: bool) -> Self {
        let (rng, memory) = (Rng::with_seed(seed), Memory::new(&source));
        let cookies = cookies.then(|| encoded(|to| write_name(to, "cookie")));
        let (block, value, bodies, spare) = Default::default();
        Self { source, rng, block, value, bodies, spare, cookies, memory }
    }

    /// The connection is another; the memory is kept.
    pub(super) fn clear(&mut self) {
        self.forget(|_| false);
        self.memory.clear();
    }

    /// What hears the headers of answers to a request with these captures, if anything does.
    pub(super) fn hears(&mut self, captures: &[Capture]) -> Option<&mut Memory> {
        (self.cookies.is_some() || !captures.is_empty()).then_some(&mut self.memory)
    }

    /// Fills a request for a stream; the length of its body. Of the bodies before, those are kept that are `unsent`.
    pub(super) fn fill(&mut self, request: &Filled, stream: u32, unsent: impl Fn(u32) -> bool) -> usize {
        self.forget(unsent);
        let turn = self.source.turn(&mut self.rng);
        let mut body = self.spare.pop().unwrap_or_default();
        body.clear();
        self.memory.next();
        let captured = &self.memory.captured;
        self.source.fill(&request.body, turn, captured, &mut self.rng, &mut body);
        self.block.clear();
        for field in &request.fields {
            match field {
                Field::Fixed(bytes) => self.block.extend_from_slice(bytes),
                Field::Places { name, value } => {
                    self.value.clear();
                    self.source.fill(value, turn, captured, &mut self.rng, &mut self.value);
                    put(&mut self.block, name, &self.value);
                }
            }
        }
        if let Some(name) = self.cookies.as_deref().filter(|_| self.memory.has_cookies()) {
            self.value.clear();
            self.memory.write_cookies(&mut self.value);
            put(&mut self.block, name, &self.value);
        }
        let length = body.len();
        if let Some(name) = &request.length {
            self.value.clear();
            decimal(length as u64, &mut self.value);
            put(&mut self.block, name, &self.value);
        }
        if length > 0 {
            self.bodies.push((stream, body))
        } else {
            self.spare.push(body)
        }
        length
    }

    /// The body of the request on a stream.
    pub(super) fn body(&self, stream: u32) -> &[u8] {
        self.bodies.iter().find(|(of, _)| *of == stream).map_or(&[], |(_, body)| body)
    }

    /// Takes the memory of bodies back that are not `unsent` any more.
    pub(super) fn forget(&mut self, unsent: impl Fn(u32) -> bool) {
        let mut at = 0;
        while let Some((stream, _)) = self.bodies.get(at) {
            if unsent(*stream) {
                at += 1;
            } else {
                let (_, body) = self.bodies.swap_remove(at);
                self.spare.push(body);
            }
        }
    }
}

/// A header whose name is encoded.
fn put(to: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    to.extend_from_slice(name);
    write_length(to, value.len());
    to.extend_from_slice(value);
}
