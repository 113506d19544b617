//! Command lines of curl: a request each, as browsers copy them.

use run::RequestPlan;

use super::words::{Word, commands};
use crate::error::{ReadError, place, shown};
use crate::found::{Found, Imported, Source};
use crate::row::FormatSpec;
use crate::url;

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "curl",
    help: "curl command lines, as browsers copy them",
    looks: |text| {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        first.is_some_and(|line| line.starts_with("curl "))
    },
    read,
};

/// What an option does.
#[derive(Clone, Copy, PartialEq)]
enum Does {
    Method,
    Header,
    /// `-d`: text, or `@FILE` without its line ends.
    Data,
    /// `@FILE` as it is.
    Binary,
    Raw,
    UrlEncoded,
    Json,
    /// Data goes into the query.
    Get,
    Head,
    Upload,
    UserAgent,
    Referer,
    Cookie,
    User,
    Url,
    Compressed,
    /// Changes nothing of the request.
    Nothing,
    /// The same, and has a value.
    NothingMuch,
    /// Cannot be made here.
    Form,
}

use Does::{
    Binary, Compressed, Cookie, Data, Form, Get, Head, Header, Json, Method, Nothing, NothingMuch, Raw, Referer,
    Upload, Url, UrlEncoded, User, UserAgent,
};

/// Options by letter and name.
const OPTIONS: &[(char, &str, Does)] = &[
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
    ('s', "silent", Nothing),
    ('S', "show-error", Nothing),
    ('v', "verbose", Nothing),
    ('i', "include", Nothing),
    (' ', "show-headers", Nothing),
    ('L', "location", Nothing),
    ('k', "insecure", Nothing),
    ('f', "fail", Nothing),
    ('g', "globoff", Nothing),
    ('N', "no-buffer", Nothing),
    ('#', "progress-bar", Nothing),
    ('O', "remote-name", Nothing),
    ('0', "http1.0", Nothing),
    (' ', "http1.1", Nothing),
    (' ', "http2", Nothing),
    (' ', "http2-prior-knowledge", Nothing),
    (' ', "no-progress-meter", Nothing),
    (' ', "tcp-nodelay", Nothing),
    (' ', "path-as-is", Nothing),
    ('4', "ipv4", Nothing),
    ('6', "ipv6", Nothing),
    ('o', "output", NothingMuch),
    ('w', "write-out", NothingMuch),
    ('m', "max-time", NothingMuch),
    (' ', "connect-timeout", NothingMuch),
    (' ', "retry", NothingMuch),
    (' ', "max-redirs", NothingMuch),
    (' ', "resolve", NothingMuch),
    (' ', "cacert", NothingMuch),
    ('D', "dump-header", NothingMuch),
    ('c', "cookie-jar", NothingMuch),
];

/// What is wrong, and where in the text.
type Wrong = (usize, String);

fn read(source: &Source<'_>) -> Result<Imported, ReadError> {
    let fail =
        |(at, message): Wrong| ReadError { file: source.file.into(), place: Some(place(source.text, at)), message };
    let mut all = Imported::default();
    for words in commands(source.text).map_err(|(at, why)| fail((at, why.into())))? {
        all.found.push(one(&words, source.folder).map_err(fail)?);
    }
    Ok(all)
}

/// The request of one command line, such as the value of `--curl`.
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

/// What the options say so far.
#[derive(Default)]
struct Said {
    method: Option<String>,
    headers: Vec<(String, String)>,
    /// Headers that curl would add and that were taken away.
    removed: Vec<String>,
    data: Option<Vec<u8>>,
    upload: Option<Vec<u8>>,
    get: bool,
    head: bool,
    url: Option<(usize, String)>,
}

fn one(words: &[Word], folder: &std::path::Path) -> Result<Found, Wrong> {
    let mut words = words.iter();
    match words.next() {
        Some(first) if first.text == "curl" || first.text.ends_with("/curl") => {}
        Some(first) => return Err((first.at, format!("{} is not a curl command line", shown(&first.text)))),
        None => return Err((0, "there is no command line".into())),
    }
    let mut said = Said::default();
    while let Some(word) = words.next() {
        for (does, value) in options(word)? {
            let value = match value {
                None if takes_value(does) => {
                    let next = words.next().ok_or((word.at, format!("{} needs a value", word.text)))?;
                    (next.at, next.text.as_str())
                }
                value => (word.at, value.unwrap_or_default()),
            };
            said.take(does, value, folder)?;
        }
    }
    said.request()
}

fn takes_value(does: Does) -> bool {
    !matches!(does, Get | Head | Compressed | Nothing)
}

/// The options of one word, which may be several letters, each with its value if the word holds it.
fn options(word: &Word) -> Result<Vec<(Does, Option<&str>)>, Wrong> {
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
        let does = known.ok_or_else(|| (word.at, format!("-{letter} is not known here; leave it out")))?;
        let rest = &letters[at + letter.len_utf8()..];
        all.push((does, Some(rest).filter(|rest| takes_value(does) && !rest.is_empty())));
        if takes_value(does) {
            break;
        }
    }
    Ok(all)
}

impl Said {
    fn take(&mut self, does: Does, (at, value): (usize, &str), folder: &std::path::Path) -> Result<(), Wrong> {
        let file = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|e| (at, format!("cannot read {}: {e}", path.display())))
        };
        match does {
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
            // Answers are read as they come: what a browser can unpack, it was asked to say itself.
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
            Nothing | NothingMuch => {}
        }
        Ok(())
    }

    fn header(&mut self, at: usize, value: &str) -> Result<(), Wrong> {
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

    /// The request that curl would make.
    fn request(mut self) -> Result<Found, Wrong> {
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

/// `text`, `=text` or `name=text`, with what a form cannot hold as %XX and a blank as +, as curl 7.82 and later write it.
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
