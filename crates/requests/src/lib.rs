//! Reads sets of requests: TOML, lists of URLs, curl command lines, HAR files, vegeta targets and access logs.
//!
//! Each format has one file under `formats` and one row in [`FORMATS`]. Each format's reader returns [`Imported`], from
//! which [`set`] makes a [`run::RequestSet`]. The crate does no network I/O.

mod arrivals;
mod data;
mod error;
mod formats;
mod found;
mod log;
mod mistaken;
mod odd_bytes;
mod other_tools;
mod row;
mod timeless;
mod unfit;
mod unreadable;
mod url;
mod vegeta_target;

use std::path::Path;

use run::{MAX_REQUESTS, RequestOrder, RequestSet};

pub use arrivals::read_arrivals;
pub use data::read_data;
pub use error::ReadError;
pub use formats::{FORMATS, command, to_toml};
pub use found::{Found, Imported, left_out_words};
pub use log::{Replay, ReplayOptions, Summary, is_damaged_gzip, looks_like_log};
pub use row::FormatSpec;

use run::is_token;

/// Maximum size of a file of requests, bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Reads a file of requests. If `format` is not given, loadline recognizes the format of the file by its content.
/// Requests with bytes that are not UTF-8 are left out, except in a file in TOML, which a user wrote by hand.
pub fn read_file(path: &Path, format: Option<&str>) -> Result<(Imported, &'static FormatSpec), ReadError> {
    let name = path.display().to_string();
    let advice = "name a file of requests; `loadline list formats` shows the forms";
    let folder = path.parent().unwrap_or(Path::new("."));
    let bytes = run::read_bytes(path, MAX_BYTES, advice).map_err(|e| error::unread(&e))?;
    let (bytes, error) = match run::text_of(path, bytes, advice) {
        Ok(text) => return read_text(&name, &text, folder, format),
        Err((bytes, error)) => (bytes, error::unread(&error)),
    };
    let Some(text) = odd_bytes::marked(&bytes) else { return Err(error) };
    match read_text(&name, &text, folder, format) {
        Ok((mut all, row)) if !all.templates => {
            odd_bytes::leave_out_marked(&mut all);
            if all.found.is_empty() { Err(error) } else { Ok((all, row)) }
        }
        _ => Err(error),
    }
}

/// Reads a text, as [`read_file`] does. Files that the text names are looked up in `folder`.
pub fn read_text(
    file: &str,
    text: &str,
    folder: &Path,
    format: Option<&str>,
) -> Result<(Imported, &'static FormatSpec), ReadError> {
    let fail = |message: String| ReadError { file: file.into(), place: None, message };
    if let Some(why) = other_tools::message(text).filter(|_| format.is_none()) {
        return Err(fail(why));
    }
    let names = || FORMATS.iter().map(|row| row.name).collect::<Vec<_>>();
    let row = match format {
        Some(name) => FORMATS.iter().find(|row| row.name == name).ok_or_else(|| {
            let near = run::nearest(name, names()).map_or(String::new(), |n| format!("; did you mean {n}?"));
            fail(format!("there is no form {name:?} of requests{near} (possible: {})", names().join(", ")))
        })?,
        None => FORMATS.iter().find(|row| (row.matches)(text)).ok_or_else(|| fail(mistaken::other_form(text)))?,
    };
    let mut imported = (row.read)(&found::Source { file, text, folder })?;
    if !imported.templates {
        imported.leave_out_unfit();
    } else if let Some(bad) = imported.found.iter().find(|found| !is_token(&found.request.method)) {
        return Err(fail(format!("{} is not a method: write a word such as GET", error::shown(&bad.request.method))));
    }
    match imported.found.len() {
        0 => Err(fail(match imported.left_out_words() {
            Some(why) => format!("no request of it can be sent ({why})"),
            None => format!("it holds no request ({})", row.name),
        })),
        n if n > MAX_REQUESTS => Err(fail(format!("it holds {n} requests; at most {MAX_REQUESTS} can be made"))),
        _ => Ok((imported, row)),
    }
}

/// Reads an access log, which may be compressed with gzip. If the file has another format, the error names that format.
pub fn replay(path: &Path, options: &ReplayOptions) -> Result<Replay, ReadError> {
    let named = |message| ReadError { file: path.display().to_string(), place: None, message };
    let beginning = log::beginning(path).unwrap_or_default();
    let other = || mistaken::no_log(&beginning);
    if options.fields.is_empty() {
        // Targets of vegeta can also be read as lines of a log, but would lose their headers and bodies.
        let as_targets = || other().filter(|_| mistaken::are_targets(&beginning));
        if let Some(why) = other_tools::message(&beginning).or_else(as_targets) {
            return Err(named(why));
        }
    }
    log::replay(path, options).map_err(|error| other().map_or(error, named))
}

/// Returns the imported requests as a set. The load sends the requests in the given `order`, otherwise in the order
/// that the file states. If neither `order` nor the file sets an order, the load draws requests at random by weight.
pub fn set(imported: Imported, from: String, order: Option<RequestOrder>) -> RequestSet {
    let order = order.or(imported.order).unwrap_or_default();
    let templates = imported.templates;
    let requests = imported.found.into_iter().map(|found| found.request).collect();
    RequestSet { from, order, requests, templates, ..RequestSet::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An earlier version refused the whole file, or ended the load at its first request.
    #[test]
    fn a_request_that_http_cannot_send_does_not_refuse_the_file() {
        let vegeta = "{\"method\":\"GET\",\"url\":\"http://h/\"}\n\
                      {\"method\":\"GET\",\"url\":\"http://h/\",\"header\":{\"A\":[\"b\\nc\"]}}\n";
        for (text, left_out) in [
            ("url,method\n/a,GET\n/c,FETCH IT\n", "1 whose method is not one word"),
            ("GET /a\nCONNECT http://h:443/\n", "1 CONNECT (it opens a tunnel"),
            (vegeta, "1 with a header that has a wrong name or a control character"),
        ] {
            let (all, _) = read_text("f", text, Path::new("."), None).unwrap();
            let said = all.left_out_words().unwrap_or_default();
            assert!(all.found.len() == 1 && said.contains(left_out), "{text}: {said}");
        }
    }

    #[test]
    fn formats_are_recognised_by_content() {
        for (text, name) in [
            ("# mix\n[[request]]\npath = \"/\"\n", "toml"),
            ("order = \"shuffle\"\n[[request]]\npath = \"/?a=b\"\n", "toml"),
            ("http://h/?a=b\n", "urls"),
            ("POST /x\n", "urls"),
            ("url,weight\nhttp://h/,3\n", "csv"),
            ("curl http://h/\n", "curl"),
            ("{\"method\": \"GET\", \"url\": \"http://h/\"}\n", "vegeta"),
            ("GET http://h/\nX-Id: 8\n", "vegeta"),
            ("{\n \"log\": {\"entries\": [{\"request\": {\"method\": \"GET\", \"url\": \"http://h/\"}}]}}", "har"),
        ] {
            let read = read_text("f", text, Path::new("."), None).map(|(_, row)| row.name);
            assert_eq!(read, Ok(name), "{text}");
        }
        for (text, says) in [
            (
                "1.2.3.4 - - [x] \"\\x16\" 400 1\nh - - [10/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.1\" 200 1\n",
                "--replay",
            ),
            ("{\"method\":\"GET\",\"url\":\"/\",\"status\":200}\n", "--replay"),
            ("[\n  {\"method\": \"GET\"}]", "JSON array"),
            ("[]", "JSON array"),
            ("fetch(\"http://h/\", {})", "as cURL (bash)"),
            ("", "it is empty"),
        ] {
            let error = read_text("f", text, Path::new("."), None).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let text = "[[request]]\npath = \"/\"\nmethod = \"A B\"\n";
        let error = read_text("f", text, Path::new("."), None).unwrap_err().to_string();
        assert!(error.contains("\"A B\" is not a method"), "written by hand: {error}");
        let error = read_text("f", "rubbish here\n", Path::new("."), None).unwrap_err().to_string();
        assert!(error.contains("\"rubbish here\"") && error.contains("--requests-format"), "{error}");
        let error = read_text("f", "", Path::new("."), Some("vegata")).unwrap_err().to_string();
        assert!(error.contains("did you mean vegeta?"), "{error}");
    }
}
