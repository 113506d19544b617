//! Requests with placeholders, which are replaced by values each time a request is sent. Constant headers are encoded
//! only once. Requests with placeholders do not use the peer's header table.

use std::sync::Arc;

use fastrand::Rng;

use super::hpack::{FieldCoding, write_length};
use crate::ProtoError;
use crate::memory::{Capture, Memory};
use crate::template::values::decimal;
use crate::template::{Piece, Source};

/// A request with placeholders, which are replaced by values each time the request is sent.
#[derive(Debug)]
pub(crate) struct RequestTemplate {
    fields: Vec<Field>,
    /// Value of the request's own header `cookie`.
    cookie: Vec<Piece>,
    body: Vec<Piece>,
    /// Encoded name of the `content-length` header; `None` if this header is not added.
    length: Option<Vec<u8>>,
}

/// A header of a request. The constant parts of the header are already encoded.
#[derive(Debug)]
enum Field {
    Fixed(Vec<u8>),
    Places { name: Vec<u8>, value: Vec<Piece>, is_path: bool },
}

impl RequestTemplate {
    /// Splits a request into constant parts and placeholders. Only header values and the body may contain placeholders.
    /// Values that are filled into `:path` are percent-encoded.
    pub(crate) fn new(
        headers: &[(String, String)],
        body: &[u8],
        says_length: bool,
        source: &Source,
        coding: &FieldCoding,
    ) -> Result<Self, ProtoError> {
        let field = |(name, value): &(String, String)| {
            let is_path = name == ":path";
            if !value.contains("{{") && !is_path {
                return Ok(Field::Fixed(encoded(|to| (coding.write_field)(to, name, value))));
            }
            let value = source.cut(value, is_path)?;
            Ok(Field::Places { name: encoded(|to| (coding.write_name)(to, name)), value, is_path })
        };
        let own: Vec<&str> = headers.iter().filter(|(name, _)| name == "cookie").map(|(_, value)| &**value).collect();
        let cookie = source.cut(&own.join("; "), false)?;
        let body = match std::str::from_utf8(body) {
            Ok(text) => source.cut(text, false)?,
            Err(_) => vec![Piece::Text(body.into())],
        };
        let length = says_length.then(|| encoded(|to| (coding.write_name)(to, "content-length")));
        let fields = headers.iter().filter(|(name, _)| name != "cookie").map(field);
        Ok(Self { fields: fields.collect::<Result<_, ProtoError>>()?, cookie, body, length })
    }
}

fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes);
    bytes
}

/// State for filling values into the requests of one connection. The buffers of the connection are used again for later
/// requests.
#[derive(Debug)]
pub(crate) struct TemplateState {
    source: Arc<Source>,
    rng: Rng,
    /// Bytes at the beginning of each header block.
    prefix: &'static [u8],
    /// Header block of the request that was built last.
    pub(crate) block: Vec<u8>,
    /// Buffer for one header value.
    value: Vec<u8>,
    /// Bodies that were not completely sent, with their stream IDs.
    bodies: Vec<(u32, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
    /// Encoded name of the `cookie` header.
    cookie_name: Vec<u8>,
    /// True if cookies from answers are stored and sent.
    cookies: bool,
    /// Buffer for the request's own cookies.
    cookie: Vec<u8>,
    pub(crate) memory: Memory,
}

impl TemplateState {
    /// Creates the state for filling values into requests. If `cookies` is true, the connection stores the cookies in
    /// answers and sends them with later requests.
    pub(crate) fn new(source: Arc<Source>, seed: u64, cookies: bool, is_secure: bool, coding: &FieldCoding) -> Self {
        let (rng, memory) = (Rng::with_seed(seed), Memory::new(&source, cookies, is_secure));
        let cookie_name = encoded(|to| (coding.write_name)(to, "cookie"));
        let (block, value, cookie, bodies, spare) = Default::default();
        let prefix = coding.prefix;
        Self { source, rng, prefix, block, value, bodies, spare, cookie_name, cookies, cookie, memory }
    }

    /// Prepares for a new connection, without freeing the memory.
    pub(crate) fn clear(&mut self) {
        self.forget(|_| false);
        self.memory.clear();
    }

    /// Returns the storage for values from the answer. Returns `None` if the request captures no values, and no cookies
    /// are stored.
    pub(crate) fn hears(&mut self, captures: &[Capture]) -> Option<&mut Memory> {
        (self.cookies || !captures.is_empty()).then_some(&mut self.memory)
    }

    /// Fills values into a request for a stream, and returns the length of its body. Keeps the bodies of earlier
    /// streams for which `unsent` returns true.
    pub(crate) fn fill(&mut self, request: &RequestTemplate, stream: u32, unsent: impl Fn(u32) -> bool) -> usize {
        self.forget(unsent);
        let turn = self.source.next_index(&mut self.rng);
        let mut body = self.spare.pop().unwrap_or_default();
        body.clear();
        self.memory.next();
        let Memory { captured, cookies, .. } = &mut self.memory;
        self.source.fill(&request.body, turn, captured, &mut self.rng, &mut body);
        self.block.clear();
        self.block.extend_from_slice(self.prefix);
        for field in &request.fields {
            match field {
                Field::Fixed(bytes) => self.block.extend_from_slice(bytes),
                Field::Places { name, value, is_path } => {
                    self.value.clear();
                    self.source.fill(value, turn, captured, &mut self.rng, &mut self.value);
                    put(&mut self.block, name, &self.value);
                    if *is_path {
                        cookies.begin(&self.value);
                    }
                }
            }
        }
        self.value.clear();
        self.cookie.clear();
        self.source.fill(&request.cookie, turn, captured, &mut self.rng, &mut self.cookie);
        if cookies.write(&self.cookie, &mut self.value) {
            put(&mut self.block, &self.cookie_name, &self.value);
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

    /// Returns the body of the request on the stream `stream`; empty if no body is stored.
    pub(crate) fn body(&self, stream: u32) -> &[u8] {
        self.bodies.iter().find(|(of, _)| *of == stream).map_or(&[], |(_, body)| body)
    }

    /// Takes back the memory of the bodies of all streams for which `unsent` returns false.
    pub(crate) fn forget(&mut self, unsent: impl Fn(u32) -> bool) {
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

/// Writes a header whose name is already encoded.
fn put(to: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    to.extend_from_slice(name);
    write_length(to, value.len());
    to.extend_from_slice(value);
}
