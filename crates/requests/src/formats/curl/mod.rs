//! curl command lines, as browsers copy them. Each command line becomes one request.

mod options;
mod parsed_options;
mod url;

use super::words::{Word, commands, is_curl};
use crate::error::{ReadError, place, shown};
use crate::found::{Found, Imported, Source};
use crate::row::FormatSpec;
use crate::unreadable::Unreadable;
use options::OptionEffect::{self, Url};
use options::{OPTIONS, takes_value};
use parsed_options::{ParsedOptions, PlacedError};

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "curl",
    help: "curl command lines, as browsers copy them",
    matches: |text| {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        first.and_then(|line| line.split_whitespace().next()).is_some_and(is_curl)
    },
    read,
};

fn read(source: &Source<'_>) -> Result<Imported, ReadError> {
    let fail = |(at, message): PlacedError| ReadError {
        file: source.file.into(),
        place: Some(place(source.text, at)),
        message,
    };
    let (mut all, mut unreadable) = (Imported::default(), Unreadable::default());
    for words in commands(source.text).map_err(|(at, why)| fail((at, why.into())))? {
        let words = words.map_err(|(at, why)| (at, why.to_owned()));
        let read = words.and_then(|words| request_of(&words, source.folder)).map_err(fail);
        let Some((found, remarks)) = unreadable.unless_read(read) else { continue };
        for remark in remarks {
            if !all.remarks.iter().any(|known| known == remark) {
                all.remarks.push(remark.to_owned());
            }
        }
        all.found.push(found);
    }
    unreadable.leave_out_of(all)
}

/// Returns the request of one command line, and remarks on the options whose effects loadline does not imitate.
fn request_of(words: &[Word], folder: &std::path::Path) -> Result<(Found, Vec<&'static str>), PlacedError> {
    let mut parsed = parse_command(words, folder)?;
    let remarks = parsed.take_remarks();
    Ok((parsed.request()?, remarks))
}

/// Reads the request of one command line, which is the value of `--curl`.
pub fn command(text: &str) -> Result<Imported, ReadError> {
    let all = read(&Source { file: "--curl", text, folder: std::path::Path::new(".") })?;
    match all.found.len() + all.left_out.values().sum::<u64>() as usize {
        1 => Ok(all),
        n => Err(ReadError {
            file: "--curl".into(),
            place: None,
            message: format!("it has {n} command lines; give one, or a file of them with --requests"),
        }),
    }
}

fn parse_command(words: &[Word], folder: &std::path::Path) -> Result<ParsedOptions, PlacedError> {
    let mut words = words.iter();
    let first = words.next().ok_or((0, "there is no command line".to_owned()))?;
    let program = String::from_utf8_lossy(&first.bytes);
    if !is_curl(&program) {
        return Err((first.at, format!("{} is not a curl command line", shown(&program))));
    }
    let mut parsed = ParsedOptions::default();
    while let Some(word) = words.next() {
        for (effect, value) in options(word)? {
            let value = match value {
                None if takes_value(effect) => {
                    let name = String::from_utf8_lossy(&word.bytes);
                    let next = words.next().ok_or((word.at, format!("{name} needs a value")))?;
                    (next.at, next.bytes.as_slice())
                }
                value => (word.at, value.unwrap_or_default()),
            };
            parsed.apply(effect, value, folder)?;
        }
    }
    Ok(parsed)
}

/// An option, and its value if both are in the same word.
type GivenOption<'a> = (OptionEffect, Option<&'a [u8]>);

/// Returns the options of one word: one long option, one or more options of one letter, or a URL. If the word of the
/// command line contains the value of an option, the value is returned, too.
fn options(word: &Word) -> Result<Vec<GivenOption<'_>>, PlacedError> {
    let bytes = word.bytes.as_slice();
    if let Some(long) = bytes.strip_prefix(b"--") {
        let end = long.iter().position(|byte| *byte == b'=');
        let (name, value) = end.map_or((long, None), |end| (&long[..end], Some(&long[end + 1..])));
        let name = &*String::from_utf8_lossy(name);
        let known = OPTIONS.iter().find(|(_, known, _)| *known == name).map(|row| row.2);
        let near = || run::nearest(name, OPTIONS.iter().map(|row| row.1));
        let near = || near().map_or(String::new(), |n| format!("; did you mean --{n}?"));
        return Ok(vec![(known.ok_or_else(|| (word.at, format!("--{name} is not known here{}", near())))?, value)]);
    }
    let Some(letters) = bytes.strip_prefix(b"-").filter(|letters| !letters.is_empty()) else {
        return Ok(vec![(Url, Some(bytes))]);
    };
    let mut all = Vec::new();
    for (at, letter) in letters.iter().enumerate() {
        let letter = char::from(*letter);
        let known = OPTIONS.iter().find(|row| row.0 == letter && letter != ' ').map(|row| row.2);
        let effect = known.ok_or_else(|| (word.at, format!("-{letter} is not known here; leave it out")))?;
        let rest = &letters[at + 1..];
        all.push((effect, Some(rest).filter(|rest| takes_value(effect) && !rest.is_empty())));
        if takes_value(effect) {
            break;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
