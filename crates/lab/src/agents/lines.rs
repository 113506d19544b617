//! Splits an agent's output into lines of limited length. Skips everything before the agent's first line, such as the
//! messages of a login shell.

use run::{MAX_LINE_BYTES, MAX_LONG_LINE_BYTES, is_long_line};

/// Possible beginnings of the first line of an agent, or of the script that starts it.
const FIRST_LINES: [&[u8]; 2] = [br#"{"is":"hello""#, br#"{"is":"wants""#];
/// Maximum number of bytes skipped before the first line.
const MAX_NOISE_BYTES: usize = 1 << 20;

/// Splitter of an agent's output into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    held: Vec<u8>,
    begun: bool,
    greeted: bool,
    noise: usize,
}

impl Lines {
    /// Returns true if the agent itself, and not only its start script, has sent its first line. Before the agent's
    /// first line, silence is no sign of a lost agent. The start script sends nothing while the program is copied,
    /// which takes long over a slow connection.
    pub(super) fn greeted(&self) -> bool {
        self.greeted
    }

    /// Takes bytes from the agent, and calls `each` with each complete line. The error gives the reason why the bytes
    /// cannot come from an agent.
    pub(super) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(String)) -> Result<(), String> {
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            self.held.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.held);
                self.line(&line[..line.len() - 1], each)?;
            }
            self.check()?;
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], each: &mut dyn FnMut(String)) -> Result<(), String> {
        let mut line = line;
        if !self.begun {
            match FIRST_LINES.iter().filter_map(|begin| find(line, begin)).min() {
                Some(at) => (self.begun, line) = (true, &line[at..]),
                None => {
                    self.noise += line.len() + 1;
                    return self.check();
                }
            }
        }
        self.greeted |= line.starts_with(FIRST_LINES[0]);
        let most = if is_long_line(line) { MAX_LONG_LINE_BYTES } else { MAX_LINE_BYTES };
        if line.len() > most {
            return Err(too_long(most));
        }
        each(String::from_utf8_lossy(line).into_owned());
        Ok(())
    }

    /// Checks that the incomplete line at the end is not too long.
    fn check(&self) -> Result<(), String> {
        let most = if is_long_line(&self.held) { MAX_LONG_LINE_BYTES } else { MAX_LINE_BYTES };
        match self.begun {
            false if self.noise + self.held.len() > MAX_NOISE_BYTES => {
                Err(format!("it wrote more than {MAX_NOISE_BYTES} bytes without one line of an agent"))
            }
            true if self.held.len() > most => Err(too_long(most)),
            _ => Ok(()),
        }
    }
}

fn too_long(most: usize) -> String {
    format!("it wrote a line of more than {most} bytes")
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Result<Vec<String>, String> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        pieces.iter().try_for_each(|piece| lines.feed(piece, &mut |line| found.push(line)))?;
        Ok(found)
    }

    #[test]
    fn output_of_a_shell_before_the_greeting_is_skipped_even_without_a_newline() {
        let said = all(&[b"Welcome to a!\nprompt> {\"is\":\"hel", b"lo\",\"wire\":2}\n{\"is\":\"heart", b"beat\"}\n"]);
        assert_eq!(said.unwrap(), [r#"{"is":"hello","wire":2}"#, r#"{"is":"heartbeat"}"#]);
    }

    #[test]
    fn a_request_for_the_program_is_no_greeting() {
        let (mut lines, mut heard) = (Lines::default(), 0);
        let mut greeted = |text: &[u8]| {
            lines.feed(text, &mut |_| heard += 1).unwrap();
            (lines.greeted(), heard)
        };
        assert_eq!(greeted(b"{\"is\":\"wants\",\"system\":\"Linux\"}\n"), (false, 1));
        assert_eq!(greeted(b"{\"is\":\"hello\",\"wire\":2}\n"), (true, 2));
    }

    #[test]
    fn no_line_takes_memory_without_bound() {
        let hello: &[u8] = b"{\"is\":\"hello\",\"wire\":2}\n";
        let long = vec![b'x'; MAX_LINE_BYTES + 1];
        assert!(all(&[hello, &long]).unwrap_err().contains("a line of more than 65536 bytes"));
        let part = [br#"{"is":"part","#.as_slice(), &long, b"\n"].concat();
        assert_eq!(all(&[hello, &part]).unwrap().len(), 2);
        let half = vec![b'x'; MAX_LONG_LINE_BYTES / 2];
        assert!(all(&[hello, br#"{"is":"part","#, &half, &half]).unwrap_err().contains("16777216"));
        let noise = vec![b'\n'; MAX_NOISE_BYTES + 1];
        assert!(all(&[&noise]).unwrap_err().contains("without one line of an agent"));
    }
}
