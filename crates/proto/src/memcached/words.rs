//! Splits a command of memcached's text protocol into words.

use std::str::FromStr;

/// Maximum length of a key in bytes.
pub(super) const MAX_KEY: usize = 250;

/// Reader of the words of a line. Contains the part of the line that was not read yet.
pub(super) struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    /// Starts to read a line, with or without its line end.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self(line.trim_ascii_end())
    }

    /// Returns the next word as a key; `None` if it is missing or too long.
    pub(super) fn key(&mut self) -> Option<&'a [u8]> {
        self.next().filter(|key| key.len() <= MAX_KEY)
    }

    /// Returns the next word as a number.
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
