//! The words of a command line.

use std::str::FromStr;

/// Longest key, bytes.
pub(super) const MOST_KEY: usize = 250;

/// What is left of a line.
pub(super) struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    /// Those of a line with its end.
    pub(super) fn of(line: &'a [u8]) -> Self {
        Self(line.trim_ascii_end())
    }

    /// The next as a key; `None` where there is none, or one that is too long.
    pub(super) fn key(&mut self) -> Option<&'a [u8]> {
        self.next().filter(|key| key.len() <= MOST_KEY)
    }

    /// The next as a number.
    pub(super) fn number<T: FromStr>(&mut self) -> Option<T> {
        std::str::from_utf8(self.next()?).ok()?.parse().ok()
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.0 = self.0.trim_ascii_start();
        let end = memchr::memchr(b' ', self.0).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(word).filter(|word| !word.is_empty())
    }
}
