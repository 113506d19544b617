//! Entries of a file that cannot be read. loadline leaves out these entries, because one wrong line is no reason to
//! refuse a whole file.

use crate::error::ReadError;
use crate::found::Imported;

/// Number of entries that cannot be read, and the error of the first.
#[derive(Default)]
pub(crate) struct Unreadable {
    count: u64,
    first: Option<ReadError>,
}

impl Unreadable {
    pub(crate) fn add(&mut self, error: ReadError) {
        self.count += 1;
        self.first.get_or_insert(error);
    }

    /// Returns the entry if it could be read. If the entry of the file could not be read, counts it and returns `None`.
    pub(crate) fn unless_read<T>(&mut self, read: Result<T, ReadError>) -> Option<T> {
        read.map_err(|error| self.add(error)).ok()
    }

    /// Counts the unreadable entries as left out, and names the first of these entries. If more entries are unreadable
    /// than readable, the file probably has another format than expected. For a file that probably has another format,
    /// returns the error of the first unreadable entry.
    pub(crate) fn leave_out_of(self, mut all: Imported) -> Result<Imported, ReadError> {
        let Some(first) = self.first else { return Ok(all) };
        if self.count > all.found.len() as u64 {
            return Err(first);
        }
        let place = first.place.map_or(String::new(), |(line, column)| format!("line {line}, column {column}: "));
        let begin = if self.count > 1 { "first in " } else { "" };
        let why = format!("that cannot be read ({begin}{place}{})", first.message);
        all.left_out.insert(why, self.count);
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::Found;

    #[test]
    fn a_few_are_counted_and_named_and_most_refuse_the_file() {
        let error = |line| ReadError { file: "f".into(), place: Some((line, 1)), message: format!("odd {line}") };
        let left_out = |errors: u64, found: usize| {
            let mut unreadable = Unreadable::default();
            (1..=errors).for_each(|line| unreadable.add(error(line as usize)));
            let all = Imported { found: vec![Found::default(); found], ..Imported::default() };
            unreadable.leave_out_of(all).map(|all| all.left_out_words().unwrap_or_default())
        };
        assert_eq!(left_out(0, 1).as_deref(), Ok(""));
        assert_eq!(left_out(1, 1).as_deref(), Ok("requests left out: 1 that cannot be read (line 1, column 1: odd 1)"));
        assert_eq!(
            left_out(2, 9).as_deref(),
            Ok("requests left out: 2 that cannot be read (first in line 1, column 1: odd 1)")
        );
        assert_eq!(left_out(2, 1), Err(error(1)));
    }
}
