//! gRPC: unary calls over HTTP/2, one message each way. Only status 0 is a success. Source: "gRPC over HTTP2", the
//! project's own description of its protocol.
//!
//! The session is that of [`http2`](crate::http2); this file builds the calls. The server half is the HTTP/2 server
//! with pages of [`Page::grpc`](crate::http1::Page::grpc).

use run::{HttpPlan, Protocol};

use crate::ProtoError;
use crate::http2::{ClientPlan, canned_call};
use crate::row::{Flag, FlagValue, ProtocolSpec, Scheme};

/// Row of this protocol in the table.
pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "grpc",
    help: "gRPC: unary calls over HTTP/2, --streams at once on a connection; any status but 0 is an error",
    schemes: &[
        Scheme { name: "grpc", port: None, path: true, tls: false },
        Scheme { name: "grpcs", port: Some(443), path: true, tls: true },
    ],
    alpn: "h2",
    defaults: || Protocol::Grpc {
        path: "/package.Service/Method".into(),
        host: "localhost".into(),
        headers: Vec::new(),
        body_file: None,
        expect_status: None,
    },
    flags: &[
        flag(
            "body",
            "FILE",
            "File whose bytes are the message",
            FlagValue::Text(|plan, file| {
                if let Protocol::Grpc { body_file, .. } = plan {
                    *body_file = Some(file.into());
                }
            }),
        ),
        Flag {
            short: Some('H'),
            ..flag(
                "header",
                "K: V",
                "Metadata of the call",
                FlagValue::Pair(|plan, name, value| {
                    if let Protocol::Grpc { headers, .. } = plan {
                        headers.push((name.into(), value.into()));
                    }
                }),
            )
        },
        flag(
            "expect-status",
            "CODE",
            "Status that is right besides 0",
            FlagValue::Number(|plan, code| {
                if let Protocol::Grpc { expect_status, .. } = plan {
                    *expect_status = Some(code);
                }
            }),
        ),
    ],
    set_target: |plan, authority, target| {
        if let Protocol::Grpc { path, host, .. } = plan {
            *host = authority.into();
            *path = if target.starts_with('/') { target.into() } else { format!("/{target}") };
        }
    },
    // Without a network, a call becomes an HTTP/1.1 request with the same body.
    without_network: |plan| match plan {
        Protocol::Grpc { path, host, headers, body_file, .. } => {
            let method = "POST".into();
            Protocol::Http1(HttpPlan { method, path, host, headers, body_file, expect_status: None })
        }
        other => other,
    },
    canned: |_, request| canned_call(request),
    ..ProtocolSpec::DEFAULT
};

const fn flag(name: &'static str, value: &'static str, help: &'static str, set: FlagValue) -> Flag {
    Flag { name, short: None, requires: None, value, help, set }
}

/// Prepares the client half of a plan.
pub(crate) fn client(plan: &Protocol) -> Result<ClientPlan, ProtoError> {
    ClientPlan::calls(plan)
}

/// Length-prefixed messages in a body, read in pieces of any size: a byte for the compression, four for the length, and
/// the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    /// Bytes of the prefix so far, and the length in them.
    prefix: u8,
    length: u32,
    /// Missing bytes of the message.
    left: u32,
    is_wrong: bool,
}

impl Messages {
    /// No message has begun.
    pub(crate) const NONE: Self = Self { prefix: 0, length: 0, left: 0, is_wrong: false };

    /// Reads a piece of the body.
    pub(crate) fn read(&mut self, mut piece: &[u8]) {
        while let Some((&byte, rest)) = piece.split_first() {
            if self.left > 0 {
                let n = piece.len().min(self.left as usize);
                self.left -= n as u32;
                piece = &piece[n..];
                continue;
            }
            match self.prefix {
                0 => (self.is_wrong, self.length) = (self.is_wrong || byte > 1, 0),
                _ => self.length = self.length << 8 | u32::from(byte),
            }
            self.prefix += 1;
            if self.prefix == 5 {
                (self.prefix, self.left) = (0, self.length);
            }
            piece = rest;
        }
    }

    /// Returns whether the body ended with the end of a message.
    pub(crate) const fn are_whole(self) -> bool {
        self.prefix == 0 && self.left == 0 && !self.is_wrong
    }
}

/// Undoes the encoding of `grpc-message`: `%HH` for bytes beyond printable ASCII.
pub(crate) fn percent_decoded(message: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(message.len()), message);
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let coded = digits.filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(coded.unwrap_or(byte));
        rest = if coded.is_some() { &after[2..] } else { after };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_as_long_as_their_prefixes_say() {
        let is_whole = |body: &[u8], cut: usize| {
            let mut messages = Messages::NONE;
            body.chunks(cut).for_each(|piece| messages.read(piece));
            messages.are_whole()
        };
        for cut in 1..12 {
            assert!(is_whole(&[0, 0, 0, 0, 3, 7, 8, 9], cut) && is_whole(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5], cut));
            for wrong in
                [&[0, 0, 0, 0, 3, 7, 8][..], &[0, 0, 0, 0], &[2, 0, 0, 0, 0], &[0, 0, 0, 0, 1, 7, 8], b"<html>"]
            {
                assert!(!is_whole(wrong, cut), "{wrong:?}");
            }
        }
    }

    #[test]
    fn words_of_a_status_are_decoded() {
        assert_eq!(percent_decoded(b"50%25 of %C3%A4%zz%"), "50% of ä%zz%".as_bytes());
    }
}
