//! curl command lines, as browsers copy them. Each command line becomes one request.

mod options;
mod url;

use run::{RequestPlan, is_token};

use super::words::{Word, commands, is_curl};
use crate::error::{ReadError, place, shown};
use crate::found::{Found, Imported, Source};
use crate::row::FormatSpec;
use crate::unfit::{unfit_header, why_unfit};
use crate::unreadable::Unreadable;
use options::OptionEffect::{
    self, Binary, Compressed, Cookie, Data, Form, Get, GlobOff, Head, Header, Ignored, IgnoredWithValue, Json, Method,
    PathAsIs, Raw, Referer, Remark, RemarkWithValue, Upload, Url, UrlEncoded, User, UserAgent,
};
use options::{OPTIONS, takes_value};

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "curl",
    help: "curl command lines, as browsers copy them",
    matches: |text| {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        first.and_then(|line| line.split_whitespace().next()).is_some_and(is_curl)
    },
    read,
};

/// An error: byte index in the text, and message.
type PlacedError = (usize, String);

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
    let remarks = std::mem::take(&mut parsed.remarks);
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

/// Effects of the options that were read so far.
#[derive(Default)]
struct ParsedOptions {
    method: Option<String>,
    /// Headers from the option `-H`. A header from another option with the same name is not sent, whatever the order of
    /// the options.
    headers: Vec<(String, String)>,
    /// Headers that options other than `-H` make, such as `-A`.
    made: Vec<(&'static str, String)>,
    /// Headers that the command line removes, with `-H 'NAME:'`.
    removed: Vec<String>,
    cookies: Vec<String>,
    data: Option<Vec<u8>>,
    /// Content and name of the file to upload; `None` without an upload.
    upload: Option<(Vec<u8>, String)>,
    get: bool,
    head: bool,
    glob_off: bool,
    path_as_is: bool,
    url: Option<(usize, String)>,
    remarks: Vec<&'static str>,
}

/// Index of the word that contains an option's value, and the value.
type Value<'a> = (usize, &'a [u8]);

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

/// Returns a value that must be text, such as a header. If the value is not UTF-8, returns an error.
fn text<'a>((at, bytes): Value<'a>) -> Result<&'a str, PlacedError> {
    std::str::from_utf8(bytes).map_err(|_| (at, format!("{} is not UTF-8", shown(&String::from_utf8_lossy(bytes)))))
}

impl ParsedOptions {
    fn apply(&mut self, effect: OptionEffect, value: Value<'_>, folder: &std::path::Path) -> Result<(), PlacedError> {
        let (at, bytes) = value;
        let file = |name: &[u8]| {
            let path = folder.join(String::from_utf8_lossy(name).as_ref());
            run::read_bounded(&path, run::MAX_REQUEST_FILE_BYTES)
                .map_err(|e| (at, format!("cannot read {}: {e}", path.display())))
        };
        match effect {
            Method => self.method = Some(text(value)?.into()),
            Header => self.header(at, text(value)?)?,
            Data => match bytes.strip_prefix(b"@") {
                Some(name) => self.add(file(name)?.into_iter().filter(|b| !b"\r\n\0".contains(b)).collect()),
                None => self.add(bytes.into()),
            },
            Binary => match bytes.strip_prefix(b"@") {
                Some(name) => self.add(file(name)?),
                None => self.add(bytes.into()),
            },
            Raw => self.add(bytes.into()),
            UrlEncoded => self.add(url_encoded(bytes).ok_or((at, "give --data-urlencode as NAME=TEXT".to_owned()))?),
            Json => {
                let json = bytes.strip_prefix(b"@").map_or_else(|| Ok(bytes.into()), file)?;
                self.data.get_or_insert_default().extend(json);
                self.make("Content-Type", "application/json");
                self.make("Accept", "application/json");
            }
            Get => self.get = true,
            Head => self.head = true,
            Upload if [&b"-"[..], b"."].contains(&bytes) => {
                return Err((at, "the body would come from the standard input; name a file".into()));
            }
            Upload => {
                let name = text(value)?.rsplit('/').next().unwrap_or_default();
                self.upload = Some((file(bytes)?, name.to_owned()));
            }
            UserAgent if bytes.is_empty() => self.removed.push("User-Agent".into()),
            UserAgent => self.make("User-Agent", text(value)?),
            Referer => {
                let referer = text(value)?;
                // `;auto` is about redirected requests.
                match referer.strip_suffix(";auto").unwrap_or(referer) {
                    "" => self.made.retain(|(name, _)| *name != "Referer"),
                    referer => self.make("Referer", referer),
                }
            }
            Cookie if bytes.contains(&b'=') => self.cookies.push(text(value)?.into()),
            Cookie => return Err((at, "give cookies as -b 'NAME=VALUE'; a file of them is not read".into())),
            User if bytes.contains(&b':') => {
                self.make("Authorization", &format!("Basic {}", run::to_base64(bytes)));
            }
            User => return Err((at, "curl would ask for the password; give -u NAME:PASSWORD".into())),
            // loadline does not decompress responses, so `--compressed` only adds the header that curl sends.
            Compressed => self.make("Accept-Encoding", "gzip, deflate"),
            GlobOff => self.glob_off = true,
            PathAsIs => self.path_as_is = true,
            Url => {
                let url = text(value)?;
                if self.url.replace((at, url.into())).is_some() {
                    return Err((at, format!("a second URL, {}: write a command line for each", shown(url))));
                }
            }
            Form => {
                return Err((
                    at,
                    "a multipart form (-F) is not supported; give its bytes with --data-binary @FILE".into(),
                ));
            }
            Remark(remark) | RemarkWithValue(remark) => self.remarks.push(remark),
            Ignored | IgnoredWithValue => {}
        }
        Ok(())
    }

    fn header(&mut self, at: usize, value: &str) -> Result<(), PlacedError> {
        match (value.split_once(':'), value.strip_suffix(';')) {
            (Some((name, _)), _) if name.eq_ignore_ascii_case("transfer-encoding") => {
                return Err((at, "a body in chunks is not sent here; leave out the header Transfer-Encoding".into()));
            }
            (Some((name, value)), _) if value.trim().is_empty() => self.removed.push(name.into()),
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

    /// Adds a header that an option makes. If an option is repeated, the last value counts.
    fn make(&mut self, name: &'static str, value: &str) {
        self.made.retain(|(made, _)| *made != name);
        self.made.push((name, value.into()));
    }

    /// Returns the headers to send: the headers of `-H`, and the headers of other options that no `-H` names.
    fn all_headers(&mut self) -> Vec<(String, String)> {
        if !self.cookies.is_empty() {
            let cookies = self.cookies.join(";");
            self.make("Cookie", &cookies);
        }
        if !self.made.iter().any(|(name, _)| *name == "Accept") {
            self.make("Accept", "*/*");
        }
        let form = self.data.is_some() && !self.get;
        if form && !self.made.iter().any(|(name, _)| *name == "Content-Type") {
            self.make("Content-Type", "application/x-www-form-urlencoded");
        }
        let mut all = std::mem::take(&mut self.headers);
        let free = |name: &str| {
            let mut given = all.iter().map(|(name, _)| name).chain(&self.removed);
            !given.any(|given| given.eq_ignore_ascii_case(name))
        };
        let made: Vec<_> = self.made.drain(..).filter(|(name, _)| free(name)).collect();
        all.extend(made.into_iter().map(|(name, value)| (name.to_owned(), value)));
        all
    }

    /// Returns the request that curl would make.
    fn request(mut self) -> Result<Found, PlacedError> {
        let (at, url) = self.url.take().ok_or((0, "a command line names no URL".to_owned()))?;
        if let Some(c) = url::pattern(&url).filter(|_| !self.glob_off) {
            let why = "stands for several URLs; write a command line for each, or give -g to send it as it is";
            return Err((at, format!("{c:?} in {} {why}", shown(&url))));
        }
        let url = if self.glob_off { url } else { url::unescaped(&url) };
        let mut url = crate::url::split(&url).map_err(|why| (at, format!("{}: {why}", shown(&url))))?;
        if url.origin.is_none() {
            return Err((at, "the URL names no host".into()));
        }
        if self.removed.iter().any(|name| name.eq_ignore_ascii_case("authorization")) {
            url.authorization = None;
        }
        if !self.path_as_is {
            url.path = url::without_dot_segments(&url.path);
        }
        let usual = match (&self.data, &self.upload) {
            _ if self.head => "HEAD",
            (_, Some(_)) => "PUT",
            (Some(_), None) if !self.get => "POST",
            _ => "GET",
        };
        let mut request = RequestPlan { headers: self.all_headers(), ..RequestPlan::default() };
        request.without_user_agent = self.removed.iter().any(|name| name.eq_ignore_ascii_case("user-agent"));
        if let Some(data) = self.data.take() {
            if self.get {
                let query = String::from_utf8(data).map_err(|_| (at, "-G needs data that is text".to_owned()))?;
                // curl refuses such a URL, too.
                crate::url::without_blanks(&query).map_err(|why| (at, format!("-G with {}: {why}", shown(&query))))?;
                url.path.extend([if url.path.contains('?') { "&" } else { "?" }, &query]);
            } else {
                request.set_body(&data);
            }
        }
        if let Some((content, name)) = self.upload.take() {
            request.set_body(&content);
            let (path, query) = url.path.split_at(url.path.find('?').unwrap_or(url.path.len()));
            if path.ends_with('/') && query.is_empty() {
                url.path = format!("{path}{}", url::encoded_name(&name));
            }
        }
        request.method = self.method.take().unwrap_or_else(|| usual.into());
        sendable(&request).map_err(|why| (at, why))?;
        Ok(Found::new(request, url))
    }
}

/// Returns an error if HTTP cannot send a request. The error does not contain the value of a header, because the value
/// may be secret.
fn sendable(request: &RequestPlan) -> Result<(), String> {
    if !is_token(&request.method) {
        return Err(format!("the method {} is no single word", shown(&request.method)));
    }
    if let Some(name) = unfit_header(request) {
        return Err(format!("the header {} has a wrong name or a control character", shown(name)));
    }
    why_unfit(request).map_or(Ok(()), |why| Err(format!("this would be a request {why}")))
}

/// Encodes the value of `--data-urlencode` (`text`, `=text` or `name=text`) as a part of a form. A blank becomes `+`,
/// and other special characters become `%XX`, as in curl since 7.82. Returns `None` for text from a file (`@FILE`).
fn url_encoded(value: &[u8]) -> Option<Vec<u8>> {
    let (name, text) = match value.iter().position(|byte| *byte == b'=') {
        Some(end) => (&value[..end], &value[end + 1..]),
        None if value.contains(&b'@') => return None,
        None => (&[][..], value),
    };
    let mut out = if name.is_empty() { Vec::new() } else { [name, b"="].concat() };
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(*byte),
            b' ' => out.push(b'+'),
            _ => out.extend(format!("%{byte:02X}").into_bytes()),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests;
