//! RESP2 replies with their values, for queries about the state of a server.

use super::reply::{Kind, Reader};
use crate::Fault;

pub use super::command::array as encode_command;

/// Maximum size of a stored reply, bytes.
const MAX_REPLY_BYTES: usize = 16 << 20;

/// Value of a reply from a Redis server.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A string, or the text of a reply of any other type.
    Text(Vec<u8>),
    /// The reply is a whole number.
    Number(i64),
    /// The reply is an array of replies.
    List(Vec<Value>),
    /// The text of an error, without control characters.
    Error(String),
    /// A null reply: the key has no value.
    Nil,
}

impl Value {
    /// Returns the text of a string; empty for other values.
    pub fn text(&self) -> String {
        match self {
            Self::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        }
    }

    /// Returns the elements of an array; empty for other values.
    pub fn list(&self) -> &[Self] {
        match self {
            Self::List(values) => values,
            _ => &[],
        }
    }

    /// Returns the number; `None` for other values.
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// Reader of successive replies, which arrive in pieces of any size.
#[derive(Debug, Default)]
pub struct ValueReader {
    reader: Reader,
    kept: Vec<u8>,
}

impl ValueReader {
    /// Reads another piece of a reply. Returns `None` until the reply is complete, and then the reply's value. The
    /// input must not contain any part of the next reply.
    pub fn read(&mut self, mut piece: &[u8]) -> Result<Option<Value>, Fault> {
        if self.kept.len() + piece.len() > MAX_REPLY_BYTES {
            return Err(Fault::Limit("a reply of more than 16 MiB"));
        }
        self.kept.extend_from_slice(piece);
        match self.reader.next(&mut piece)? {
            None => Ok(None),
            Some(Kind::Push) => Err(Fault::Malformed("a push message in RESP2")),
            Some(Kind::Good | Kind::Error) => {
                let reply = std::mem::take(&mut self.kept);
                Ok(Some(value(&mut reply.as_slice()).unwrap_or(Value::Nil)))
            }
        }
    }
}

/// Returns the values of all complete replies in `bytes`. An incomplete reply at the end of `bytes` is ignored.
pub fn values(mut bytes: &[u8]) -> Result<Vec<Value>, Fault> {
    let (mut reader, mut all) = (Reader::default(), Vec::new());
    loop {
        let mut rest = bytes;
        if reader.next(&mut rest)?.is_none() {
            return Ok(all);
        }
        let mut reply = &bytes[..bytes.len() - rest.len()];
        all.push(value(&mut reply).unwrap_or(Value::Nil));
        bytes = rest;
    }
}

/// Parses a complete reply. Nesting and lengths were already checked by the reader.
fn value(rest: &mut &[u8]) -> Option<Value> {
    let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
    let (line, after) = (rest.get(1..end)?, rest.get(end + 2..)?);
    let (first, text) = (*rest.first()?, String::from_utf8_lossy(line));
    *rest = after;
    let number = text.parse::<i64>().ok();
    match (first, number.and_then(|n| usize::try_from(n).ok())) {
        (b'-', _) => Some(Value::Error(run::visible(&text).into_owned())),
        (b':', _) => number.map(Value::Number),
        (b'$', Some(length)) => {
            let bytes = rest.get(..length)?.to_vec();
            *rest = rest.get(length + 2..)?;
            Some(Value::Text(bytes))
        }
        (b'*', Some(length)) => (0..length).map(|_| value(rest)).collect::<Option<_>>().map(Value::List),
        (b'$' | b'*', None) => Some(Value::Nil),
        _ => Some(Value::Text(line.to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8], cut: usize) -> Result<Option<Value>, Fault> {
        let mut reader = ValueReader::default();
        for piece in bytes.chunks(cut) {
            if let Some(value) = reader.read(piece)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    #[test]
    fn replies_have_their_values() {
        let reply = b"*3\r\n:7\r\n$4\r\na\r\nb\r\n*2\r\n$-1\r\n+OK\r\n";
        let text = |text: &str| Value::Text(text.into());
        let expected = Value::List(vec![Value::Number(7), text("a\r\nb"), Value::List(vec![Value::Nil, text("OK")])]);
        for cut in 1..reply.len() {
            assert_eq!(read(reply, cut).unwrap(), Some(expected.clone()));
        }
        assert_eq!(read(b"-NOAUTH a\x1bb\r\n", 99).unwrap(), Some(Value::Error("NOAUTH a b".into())));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(prop_oneof![Just(b'*'), Just(b'$'), Just(b'1'), Just(b'\r'), Just(b'\n'), any::<u8>()], 0..200), cut in 1_usize..50) {
            let _ = read(&bytes, cut);
        }
    }
}
