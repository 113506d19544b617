//! curl command lines, as browsers copy them. Each is one request.

use run::RequestPlan;

use super::words::{Word, commands};
use crate::error::{ReadError, place, shown};
use crate::found::{Found, Imported, Source};
use crate::row::FormatSpec;
use crate::url;

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "curl",
    help: "curl command lines, as browsers copy them",
    matches: |text| {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        first.is_some_and(|line| line.starts_with("curl "))
    },
    read,
};

/// Effect of an option on the request.
#[derive(Clone, Copy, PartialEq)]
enum OptionEffect {
    Method,
    Header,
    /// Body from text, or from `@FILE` without its line ends.
    Data,
    /// Body from text, or from `@FILE` byte by byte.
    Binary,
    Raw,
    UrlEncoded,
    Json,
    /// The data becomes the query of the URL.
    Get,
    Head,
    Upload,
    UserAgent,
    Referer,
    Cookie,
    User,
    Url,
    Compressed,
    /// No effect on the request.
    Ignored,
    /// No effect on the request; takes a value.
    IgnoredWithValue,
    /// Not supported.
    Form,
}

use OptionEffect::{
    Binary, Compressed, Cookie, Data, Form, Get, Head, Header, Ignored, IgnoredWithValue, Json, Method, Raw, Referer,
    Upload, Url, UrlEncoded, User, UserAgent,
};

/// Options: letter (a blank for none), name and effect.
const OPTIONS: &[(char, &str, OptionEffect)] = &[
    ('X', "request", Method),
    ('H', "header", Header),
    ('d', "data", Data),
    (' ', "data-ascii", Data),
    (' ', "data-binary", Binary),
    (' ', "data-raw", Raw),
    (' ', "data-urlencode", UrlEncoded),
    (' ', "json", Json),
    ('G', "get", Get),
    ('I', "head", Head),
    ('T', "upload-file", Upload),
    ('A', "user-agent", UserAgent),
    ('e', "referer", Referer),
    ('b', "cookie", Cookie),
    ('u', "user", User),
    (' ', "url", Url),
    (' ', "compressed", Compressed),
    ('F', "form", Form),
    ('s', "silent", Ignored),
    ('S', "show-error", Ignored),
    ('v', "verbose", Ignored),
    ('i', "include", Ignored),
    (' ', "show-headers", Ignored),
    ('L', "location", Ignored),
    ('k', "insecure", Ignored),
    ('f', "fail", Ignored),
    ('g', "globoff", Ignored),
    ('N', "no-buffer", Ignored),
    ('#', "progress-bar", Ignored),
    ('O', "remote-name", Ignored),
    ('0', "http1.0", Ignored),
    (' ', "http1.1", Ignored),
    (' ', "http2", Ignored),
    (' ', "http2-prior-knowledge", Ignored),
    (' ', "no-progress-meter", Ignored),
    (' ', "tcp-nodelay", Ignored),
    (' ', "path-as-is", Ignored),
    ('4', "ipv4", Ignored),
    ('6', "ipv6", Ignored),
    ('o', "output", IgnoredWithValue),
    ('w', "write-out", IgnoredWithValue),
    ('m', "max-time", IgnoredWithValue),
    (' ', "connect-timeout", IgnoredWithValue),
    (' ', "retry", IgnoredWithValue),
    (' ', "max-redirs", IgnoredWithValue),
    (' ', "resolve", IgnoredWithValue),
    (' ', "cacert", IgnoredWithValue),
    ('D', "dump-header", IgnoredWithValue),
    ('c', "cookie-jar", IgnoredWithValue),
];

/// An error: index in the text, and message.
type PlacedError = (usize, String);

fn read(source: &Source<'_>) -> Result<Imported, ReadError> {
    let fail = |(at, message): PlacedError| ReadError {
        file: source.file.into(),
        place: Some(place(source.text, at)),
        message,
    };
    let mut all = Imported::default();
    for words in commands(source.text).map_err(|(at, why)| fail((at, why.into())))? {
        all.found.push(parse_command(&words, source.folder).map_err(fail)?);
    }
    Ok(all)
}

/// Reads the request of one command line: the value of `--curl`.
pub fn command(text: &str) -> Result<Imported, ReadError> {
    let all = read(&Source { file: "--curl", text, folder: std::path::Path::new(".") })?;
    match all.found.len() {
        1 => Ok(all),
        n => Err(ReadError {
            file: "--curl".into(),
            place: None,
            message: format!("it has {n} command lines; give one, or a file of them with --requests"),
        }),
    }
}

/// Effects of the options read so far.
#[derive(Default)]
struct ParsedOptions {
    method: Option<String>,
    headers: Vec<(String, String)>,
    /// Default headers of curl that the command line removes.
    removed: Vec<String>,
    data: Option<Vec<u8>>,
    upload: Option<Vec<u8>>,
    get: bool,
    head: bool,
    url: Option<(usize, String)>,
}

fn parse_command(words: &[Word], folder: &std::path::Path) -> Result<Found, PlacedError> {
    let mut words = words.iter();
    match words.next() {
        Some(first) if first.text == "curl" || first.text.ends_with("/curl") => {}
        Some(first) => return Err((first.at, format!("{} is not a curl command line", shown(&first.text)))),
        None => return Err((0, "there is no command line".into())),
    }
    let mut parsed = ParsedOptions::default();
    while let Some(word) = words.next() {
        for (effect, value) in options(word)? {
            let value = match value {
                None if takes_value(effect) => {
                    let next = words.next().ok_or((word.at, format!("{} needs a value", word.text)))?;
                    (next.at, next.text.as_str())
                }
                value => (word.at, value.unwrap_or_default()),
            };
            parsed.apply(effect, value, folder)?;
        }
    }
    parsed.request()
}

fn takes_value(effect: OptionEffect) -> bool {
    !matches!(effect, Get | Head | Compressed | Ignored)
}

/// Returns the options of one word: one long option, or several letters, with the value where the word holds it.
fn options(word: &Word) -> Result<Vec<(OptionEffect, Option<&str>)>, PlacedError> {
    let text = word.text.as_str();
    if let Some(long) = text.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let known = OPTIONS.iter().find(|(_, known, _)| *known == name).map(|row| row.2);
        let near = || run::nearest(name, OPTIONS.iter().map(|row| row.1));
        let near = || near().map_or(String::new(), |n| format!("; did you mean --{n}?"));
        return Ok(vec![(known.ok_or_else(|| (word.at, format!("--{name} is not known here{}", near())))?, value)]);
    }
    let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
        return Ok(vec![(Url, Some(text))]);
    };
    let mut all = Vec::new();
    for (at, letter) in letters.char_indices() {
        let known = OPTIONS.iter().find(|row| row.0 == letter && letter != ' ').map(|row| row.2);
        let effect = known.ok_or_else(|| (word.at, format!("-{letter} is not known here; leave it out")))?;
        let rest = &letters[at + letter.len_utf8()..];
        all.push((effect, Some(rest).filter(|rest| takes_value(effect) && !rest.is_empty())));
        if takes_value(effect) {
            break;
        }
    }
    Ok(all)
}

impl ParsedOptions {
    fn apply(
        &mut self,
        effect: OptionEffect,
        (at, value): (usize, &str),
        folder: &std::path::Path,
    ) -> Result<(), PlacedError> {
        let file = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|e| (at, format!("cannot read {}: {e}", path.display())))
        };
        match effect {
            Method => self.method = Some(value.into()),
            Header => self.header(at, value)?,
            Data => match value.strip_prefix('@') {
                Some(name) => self.add(file(name)?.into_iter().filter(|b| !b"\r\n\0".contains(b)).collect()),
                None => self.add(value.into()),
            },
            Binary => match value.strip_prefix('@') {
                Some(name) => self.add(file(name)?),
                None => self.add(value.into()),
            },
            Raw => self.add(value.into()),
            UrlEncoded => self.add(url_encoded(value).ok_or((at, "give --data-urlencode as NAME=TEXT".to_owned()))?),
            Json => {
                let text = value.strip_prefix('@').map_or_else(|| Ok(value.into()), file)?;
                self.data.get_or_insert_default().extend(text);
                self.add_header("Content-Type", "application/json");
                self.add_header("Accept", "application/json");
            }
            Get => self.get = true,
            Head => self.head = true,
            Upload => self.upload = Some(file(value)?),
            UserAgent => self.add_header("User-Agent", value),
            Referer => self.add_header("Referer", value),
            Cookie if value.contains('=') => self.add_header("Cookie", value),
            Cookie => return Err((at, "give cookies as -b 'NAME=VALUE'; a file of them is not read".into())),
            User => {
                let credentials = run::to_base64(value.as_bytes());
                self.add_header("Authorization", &format!("Basic {credentials}"));
            }
            // Responses are not unpacked here, so only what curl itself would send is sent.
            Compressed => self.add_header("Accept-Encoding", "gzip, deflate"),
            Url => {
                if self.url.replace((at, value.into())).is_some() {
                    return Err((at, format!("a second URL, {}: write a command line for each", shown(value))));
                }
            }
            Form => {
                return Err((
                    at,
                    "a multipart form (-F) is not supported; give its bytes with --data-binary @FILE".into(),
                ));
            }
            Ignored | IgnoredWithValue => {}
        }
        Ok(())
    }

    fn header(&mut self, at: usize, value: &str) -> Result<(), PlacedError> {
        match (value.split_once(':'), value.strip_suffix(';')) {
            (Some((name, "")), _) => self.removed.push(name.into()),
            (Some((name, value)), _) => self.headers.push((name.into(), value.trim().into())),
            (None, Some(name)) => self.headers.push((name.into(), String::new())),
            (None, None) => return Err((at, "a header has no colon; write -H 'NAME: VALUE'".into())),
        }
        Ok(())
    }

    fn add(&mut self, data: Vec<u8>) {
        match &mut self.data {
            Some(before) => {
                before.push(b'&');
                before.extend(data);
            }
            None => self.data = Some(data),
        }
    }

    fn has(&self, name: &str) -> bool {
        let given = self.headers.iter().map(|(name, _)| name).chain(&self.removed);
        given.into_iter().any(|given| given.eq_ignore_ascii_case(name))
    }

    fn add_header(&mut self, name: &str, value: &str) {
        if !self.has(name) {
            self.headers.push((name.into(), value.into()));
        }
    }

    /// Returns the request that curl would make.
    fn request(mut self) -> Result<Found, PlacedError> {
        let (at, url) = self.url.take().ok_or((0, "a command line names no URL".to_owned()))?;
        let (origin, mut path) = url::split(&url).map_err(|why| (at, format!("{}: {why}", shown(&url))))?;
        if origin.is_none() {
            return Err((at, format!("{} names no host", shown(&url))));
        }
        self.add_header("Accept", "*/*");
        let mut request = RequestPlan::default();
        let usual = match (&self.data, &self.upload) {
            _ if self.head => "HEAD",
            (_, Some(_)) => "PUT",
            (Some(_), None) if !self.get => "POST",
            _ => "GET",
        };
        if let Some(data) = self.data.take() {
            if self.get {
                let query = String::from_utf8(data).map_err(|_| (at, "-G needs data that is text".to_owned()))?;
                path.extend([if path.contains('?') { "&" } else { "?" }, &query]);
            } else {
                self.add_header("Content-Type", "application/x-www-form-urlencoded");
                request.set_body(&data);
            }
        }
        if let Some(upload) = self.upload.take() {
            request.set_body(&upload);
        }
        request.method = self.method.take().unwrap_or_else(|| usual.into());
        (request.path, request.headers) = (path, self.headers);
        Ok(Found { request, origin })
    }
}

/// Encodes `text`, `=text` or `name=text` for a form: a blank as `+`, other characters as `%XX`, as curl does since 7.82.
fn url_encoded(value: &str) -> Option<Vec<u8>> {
    let (name, text) = match value.split_once('=') {
        Some((name, text)) => (name, text),
        None if value.contains('@') => return None,
        None => ("", value),
    };
    let mut out = if name.is_empty() { Vec::new() } else { format!("{name}=").into_bytes() };
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte),
            b' ' => out.push(b'+'),
            _ => out.extend(format!("%{byte:02X}").into_bytes()),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> RequestPlan {
        command(line).unwrap().found.remove(0).request
    }

    #[test]
    fn options_joined_and_apart_make_the_same_request() {
        let apart = of("curl -s -X PUT -H 'A: b' -d x=1 -d y=2 http://h/p");
        assert_eq!(apart, of("curl -sXPUT -HA:\\ b --data=x=1 --data-raw y=2 --url http://h/p -o /dev/null"));
        assert_eq!((apart.method.as_str(), apart.body.as_str()), ("PUT", "x=1&y=2"));
        assert_eq!(of("curl -G h/p?a -d b=c --data-urlencode 'd=e f'").path, "/p?a&b=c&d=e+f");
        assert_eq!(of("curl -I h").method, "HEAD");
        assert!(of("curl -u me:you h").headers.contains(&("Authorization".into(), "Basic bWU6eW91".into())));
        assert!(!of("curl -H Accept: h").headers.iter().any(|(name, _)| name == "Accept"));
    }

    #[test]
    fn what_cannot_be_made_is_named_with_its_place() {
        for (line, says) in [
            ("curl --haeder x h", "column 6: --haeder is not known here; did you mean --header?"),
            ("curl h -H", "column 8: -H needs a value"),
            ("curl -F a=b h", "--data-binary @FILE"),
            ("curl h i", "column 8: a second URL"),
            ("wget h", "not a curl command line"),
            ("curl 'h", "column 6: a quotation mark"),
            ("curl -d @/nonexistent h", "cannot read /nonexistent"),
            ("curl -s", "names no URL"),
        ] {
            let error = command(line).unwrap_err().to_string();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
