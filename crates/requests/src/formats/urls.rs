//! A list of URLs, one per line. A method other than GET is written before the URL. A line that begins with `#` is a
//! comment.

use run::RequestPlan;

use crate::error::{ReadError, shown};
use crate::found::{Found, Imported, Source};
use crate::row::FormatSpec;
use crate::unreadable::Unreadable;
use crate::url;

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "urls",
    help: "one URL or path per line, with a method before it unless it is GET",
    matches: |text| {
        let mut first = lines(text).take(crate::row::MAX_LINES_LOOKED_AT).map(|(_, _, line)| line);
        first.any(|line| parse_line(line).is_ok() || is_weighted(line))
    },
    read,
};

/// Returns the lines that are neither empty nor comments: line number, column of the first character, and text.
fn lines(text: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    (1..).zip(text.lines()).filter_map(|(number, line)| {
        let said = line.trim();
        let column = line.len() - line.trim_start().len() + 1;
        (!said.is_empty() && !said.starts_with('#')).then_some((number, column, said))
    })
}

fn read(source: &Source<'_>) -> Result<Imported, ReadError> {
    let (mut all, mut unreadable) = (Imported::default(), Unreadable::default());
    for (line, column, text) in lines(source.text) {
        let wrong = |why: String| ReadError {
            file: source.file.into(),
            place: Some((line, column)),
            message: format!("{} is not a URL: {why}", shown(text)),
        };
        all.found.extend(unreadable.unless_read(parse_line(text).map_err(wrong)));
    }
    all.remarks.extend(numbered(&all.found));
    unreadable.leave_out_of(all)
}

/// Returns a remark if there are several URLs and every URL ends with a comma and a number, and `None` otherwise. The
/// user may mean the numbers after the commas as weights of the requests.
fn numbered(all: &[Found]) -> Option<String> {
    let has_number =
        |found: &Found| found.request.path.rsplit_once(',').is_some_and(|(_, end)| end.parse::<f64>().is_ok());
    let remark = "every URL ends with a comma and a number, which are sent as part of the path; if the numbers are weights, \
                  make url,weight the first line";
    (all.len() > 1 && all.iter().all(has_number)).then(|| remark.to_owned())
}

/// Parses `http://host/path`, `/path`, or `POST /path`.
fn parse_line(line: &str) -> Result<Found, String> {
    let mut words = line.split_whitespace();
    let (method, target) = match (words.next(), words.next(), words.next()) {
        (Some(target), None, _) => ("GET", target),
        (Some(method), Some(target), None) if method.bytes().all(|b| b.is_ascii_uppercase()) => (method, target),
        _ if is_weighted(line) => {
            return Err("for weights, write CSV: url,weight as the first line, then lines URL,WEIGHT".into());
        }
        _ => return Err("write a line as URL, /PATH or METHOD URL".into()),
    };
    if !target.starts_with('/') && run::UrlParts::parse(target).scheme.is_none() {
        return Err("begin it with http://, https:// or /".into());
    }
    let request = RequestPlan { method: method.into(), ..RequestPlan::default() };
    Ok(Found::new(request, url::split(target)?))
}

/// Returns true for a line like `/path 3` or `http://host/path 3`. The number after the URL may be the request's
/// weight. A number after the URL may also be a status code from a log.
fn is_weighted(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let (target, number) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_target = target.starts_with('/') || run::UrlParts::parse(target).scheme.is_some();
    is_target && number.parse::<f64>().is_ok() && words.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Imported, ReadError> {
        (FORMAT.read)(&Source { file: "u", text, folder: std::path::Path::new(".") })
    }

    #[test]
    fn lines_are_urls_paths_and_methods() {
        let text = "# front\nhttp://h:1/a\n\n  POST /b?c\n";
        assert!((FORMAT.matches)(text));
        let all = read(text).unwrap().found;
        assert_eq!((all[0].origin.as_deref(), all[1].request.method.as_str()), (Some("http://h:1"), "POST"));
        let error = read("  htps://h/\n").unwrap_err().to_string();
        assert!(error.contains("u: line 1, column 3") && error.contains("did you mean https://"), "{error}");
        assert!((FORMAT.matches)("htps://h/\n/a\n"), "the wrong line is named when it is read");
    }

    #[test]
    fn one_odd_line_is_left_out_and_named() {
        let all = read("/a\n  htps://h/\nhttp://h/b c d\n/e\n").unwrap();
        let said = all.left_out_words().unwrap();
        assert!(
            said.starts_with("requests left out: 2 that cannot be read (first in line 2, column 3: \"htps://h/\""),
            "{said}"
        );
        assert_eq!(all.found.len(), 2);
    }

    /// An earlier version of loadline sent `http://h/c1,3` as the path `/c1,3`, and did not tell the user that the 3
    /// may be a weight.
    #[test]
    fn numbers_that_may_be_weights_are_named() {
        let remark = |text: &str| read(text).unwrap().left_out_words().unwrap_or_default();
        assert!(remark("http://h/c1,3\n/c2,1\n").contains("make url,weight the first line"));
        assert_eq!((remark("/c1,3\n/c2\n"), remark("/c1,3\n")), (String::new(), String::new()));
        for text in ["/a 3\n/b 1\n", "http://h/a 0.5\n"] {
            assert!((FORMAT.matches)(text), "{text}");
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("line 1, column 1") && error.contains("write CSV: url,weight"), "{error}");
        }
    }

    #[test]
    fn user_information_is_sent() {
        let found = read("DELETE http://ann:s%40p@h/x\n").unwrap().found.remove(0);
        let value = format!("Basic {}", run::to_base64(b"ann:s@p"));
        assert_eq!(found.request.headers, [("Authorization".to_owned(), value)]);
    }
}
