//! Vegeta's HTTP targets. A target is a line `METHOD URL`, then one header per line, then `@FILE` for the body. An
//! empty line or the next `METHOD URL` ends a target.

use std::path::Path;

use run::{RequestPlan, is_token};

use crate::error::{ReadError, shown};
use crate::found::{Found, Imported, Source};
use crate::row::MAX_LINES_LOOKED_AT;
use crate::unreadable::Unreadable;
use crate::url;

/// Returns true if a text has a target with headers or a body. The module `urls` reads a list of targets without
/// headers and bodies.
pub(super) fn matches(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).take(MAX_LINES_LOOKED_AT).collect();
    lines.windows(2).any(|pair| begins_target(pair[0]) && (header(pair[1]).is_some() || pair[1].starts_with('@')))
}

/// Returns true if a line begins with a method and a blank.
fn begins_target(line: &str) -> bool {
    let method = line.split_whitespace().next().unwrap_or_default();
    line.len() > method.len() && !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Returns name and value of a header line; `None` for any other line, such as a URL.
fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':').map(|(name, value)| (name.trim(), value.trim()))?;
    (is_token(name) && !value.is_empty() && !value.starts_with("//")).then_some((name, value))
}

/// Lines of one target, with their line numbers, counted from 1.
type Target<'a> = Vec<(usize, &'a str)>;

/// Divides a text into targets, without comments.
fn targets(text: &str) -> Vec<Target<'_>> {
    let (mut all, mut target): (Vec<Target<'_>>, Target<'_>) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || begins_target(line) {
            all.push(std::mem::take(&mut target));
        }
        if !line.is_empty() && !line.starts_with('#') {
            target.push((number, line));
        }
    }
    all.push(target);
    all.retain(|target| !target.is_empty());
    all
}

pub(super) fn read(source: &Source<'_>) -> Result<Imported, ReadError> {
    let (mut all, mut unreadable) = (Imported::default(), Unreadable::default());
    for target in targets(source.text) {
        let error = |(line, message)| ReadError { file: source.file.into(), place: Some((line, 1)), message };
        all.found.extend(unreadable.unless_read(request(&target, source.folder).map_err(error)));
    }
    unreadable.leave_out_of(all)
}

/// Returns the request of a target, or the number of the line with an error, and the error.
fn request(target: &Target<'_>, folder: &Path) -> Result<Found, (usize, String)> {
    let (first, rest) = target.split_first().ok_or_else(|| (1, "it is empty".to_owned()))?;
    let at = |line: usize| move |why: String| (line, why);
    let words: Vec<&str> = first.1.split_whitespace().collect();
    let [method, target_url] = words.as_slice() else {
        return Err((first.0, format!("{} is not METHOD URL", shown(first.1))));
    };
    if !begins_target(first.1) {
        return Err((first.0, format!("{} begins with no method", shown(first.1))));
    }
    let url = url::split(target_url).map_err(at(first.0))?;
    let mut request = RequestPlan { method: (*method).into(), ..RequestPlan::default() };
    for (number, line) in rest {
        if let Some(name) = line.strip_prefix('@') {
            let path = folder.join(name);
            let read = run::read_bounded(&path, run::MAX_REQUEST_FILE_BYTES);
            let body = read.map_err(|e| (*number, format!("cannot read {}: {e}", path.display())))?;
            request.set_body(&body);
            continue;
        }
        let (name, value) = header(line).ok_or_else(|| (*number, format!("{} is no header", shown(line))))?;
        request.headers.push((name.into(), value.into()));
    }
    Ok(Found::new(request, url))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a body file into the folder of the targets, and reads the targets.
    fn read_with_body(text: &str) -> Imported {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("body.json"), b"{\"a\":1}\n").unwrap();
        super::read(&Source { file: "t.txt", text, folder: folder.path() }).unwrap()
    }

    #[test]
    fn targets_have_headers_and_a_body_from_a_file() {
        let text = "# goku\nGET http://h/a\nX-Id: 8\nX-Id: http://x\n\nPOST http://h/b\nContent-Type: a/b\n@body.json\n\
                    DELETE http://h/c\n";
        assert!(super::matches(text));
        let all = read_with_body(text);
        let seen: Vec<(&str, usize)> =
            all.found.iter().map(|found| (found.request.method.as_str(), found.request.headers.len())).collect();
        assert_eq!((seen, all.left_out_words()), (vec![("GET", 2), ("POST", 1), ("DELETE", 0)], None));
        assert_eq!(all.found[1].request.body, "{\"a\":1}\n");
        assert_eq!(all.found[0].request.headers[1], ("X-Id".into(), "http://x".into()));
    }

    #[test]
    fn a_target_that_cannot_be_read_is_left_out_with_its_headers() {
        let all = read_with_body("GET http://h/a\nno header\n\nPOST http://h/b\n@nosuch\n\nGET http://h/c\n\nGET /d\n");
        let paths: Vec<&str> = all.found.iter().map(|found| found.request.path.as_str()).collect();
        assert_eq!(paths, ["/c", "/d"]);
        let said = all.left_out_words().unwrap();
        assert!(
            said.starts_with("requests left out: 2 that cannot be read (first in line 2, column 1: \"no header\""),
            "{said}"
        );
    }

    #[test]
    fn a_list_of_urls_is_none_of_these_targets() {
        for text in ["GET http://h/a\nhttp://h/b\n", "GET /a\nPOST /b\n", "/a\n", "GET /a HTTP/1.1 200\n"] {
            assert!(!super::matches(text), "{text}");
        }
    }
}
