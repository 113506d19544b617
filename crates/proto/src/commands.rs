//! Commands of text protocols (memcached, Redis). This module reads commands from the user's settings or from a file,
//! and sends them one after another. The module also splits received bytes into lines.

use std::sync::Arc;

use crate::ProtoError;
use crate::client::read_text;

/// Encoded commands of a load. The longest command comes first, because the maximum size of a connection's sends
/// follows from its first request.
#[derive(Clone)]
pub(crate) struct Commands {
    encoded: Arc<[Box<[u8]>]>,
    /// True if no command changes data.
    pub(crate) only_read: bool,
}

impl Commands {
    /// Returns the encoded commands in the order in which they are sent.
    pub(crate) fn encoded(&self) -> &[Box<[u8]>] {
        &self.encoded
    }

    /// Encodes the lines of `file`, or the lines of `command` if there is no file. Empty lines and comments (`#`) are
    /// skipped. `reads` are the names of commands that do not change data.
    pub(crate) fn read<B: Into<Box<[u8]>>>(
        command: &str,
        file: Option<&str>,
        advice: &'static str,
        reads: &[&str],
        encode: impl Fn(&str) -> Result<B, ProtoError>,
    ) -> Result<Self, ProtoError> {
        let text = match file {
            Some(file) => read_text("the commands", file)?,
            None => command.to_owned(),
        };
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let name = |line: &str| line.split_ascii_whitespace().next().unwrap_or_default().to_owned();
        let only_read = lines.clone().all(|line| reads.iter().any(|read| read.eq_ignore_ascii_case(&name(line))));
        let mut commands = lines.map(|line| Ok(encode(line)?.into())).collect::<Result<Vec<Box<[u8]>>, _>>()?;
        let Some(longest) = (0..commands.len()).max_by_key(|at| commands[*at].len()) else {
            let value = file.unwrap_or_default().to_owned();
            return Err(ProtoError::Invalid { what: "the commands", value, advice });
        };
        commands.rotate_left(longest);
        Ok(Self { encoded: commands.into(), only_read })
    }
}

/// Queue of the commands that a connection still has to send.
#[derive(Default)]
pub(crate) struct CommandQueue {
    to_send: u32,
    /// Index of the command that is being sent.
    current: usize,
    /// Number of bytes of the current command that are already sent.
    sent: usize,
}

impl CommandQueue {
    /// Adds the next command of the list to the commands to send.
    pub(crate) fn add(&mut self) {
        self.to_send += 1;
    }

    /// Returns true if all commands are sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.to_send == 0
    }

    /// Copies bytes of the next commands into `out` and returns their number.
    #[inline]
    pub(crate) fn transmit(&mut self, commands: &Commands, out: &mut [u8]) -> usize {
        let mut done = 0;
        while self.to_send > 0 && done < out.len() {
            let command = &commands.encoded[self.current];
            done += copy_rest(command, &mut self.sent, &mut out[done..]);
            if self.sent == command.len() {
                (self.to_send, self.sent) = (self.to_send - 1, 0);
                self.current = (self.current + 1) % commands.encoded.len();
            }
        }
        done
    }
}

/// Copies `from`, without its first `sent` bytes, to `out` until `out` is full. Increases `sent` by the number of
/// copied bytes, and returns that number.
#[inline]
pub(crate) fn copy_rest(from: &[u8], sent: &mut usize, out: &mut [u8]) -> usize {
    let rest = &from[*sent..];
    let n = rest.len().min(out.len());
    out[..n].copy_from_slice(&rest[..n]);
    *sent += n;
    n
}

/// Takes the bytes of `rest` up to and including the first line feed. If there is no line feed, takes all bytes.
/// Returns true if the line was complete.
#[inline]
pub(crate) fn take_line<'a>(rest: &mut &'a [u8]) -> (&'a [u8], bool) {
    let end = memchr::memchr(b'\n', rest).map(|at| at + 1);
    let (line, after) = rest.split_at(end.unwrap_or(rest.len()));
    *rest = after;
    (line, end.is_some())
}
