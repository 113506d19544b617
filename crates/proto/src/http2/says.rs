//! What is looked at of a response's headers.

/// Status and length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Says {
    /// 0 where it has none: trailers.
    pub(super) status: u16,
    /// What it announces of its body.
    pub(super) length: Option<u64>,
    /// The status of gRPC.
    pub(super) grpc: Option<u16>,
}

impl Says {
    /// One header.
    pub(super) fn hear(&mut self, name: &[u8], value: &[u8]) {
        let number = || -> Option<u64> {
            std::str::from_utf8(value).ok().filter(|v| v.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
        };
        match name {
            b":status" if value.len() == 3 => self.status = number().unwrap_or_default() as u16,
            b"content-length" => self.length = number(),
            b"grpc-status" if (1..=5).contains(&value.len()) => {
                self.grpc = number().and_then(|code: u64| u16::try_from(code).ok());
            }
            _ => {}
        }
    }
}
