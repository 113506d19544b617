//! Effects of the options of a curl command line on its request.

use run::{RequestPlan, is_token};

use super::options::OptionEffect::{
    self, Binary, Compressed, Cookie, Data, Form, Get, GlobOff, Head, Header, Ignored, IgnoredWithValue, Json, Method,
    PathAsIs, Raw, Referer, Remark, RemarkWithValue, Upload, Url, UrlEncoded, User, UserAgent,
};
use super::url;
use crate::error::shown;
use crate::found::Found;
use crate::unfit::{unfit_header, why_unfit};
use crate::url::SplitUrl;

/// An error: byte index in the text, and message.
pub(super) type PlacedError = (usize, String);

/// Effects of the options that were read so far.
#[derive(Default)]
pub(super) struct ParsedOptions {
    method: Option<String>,
    /// Headers from the option `-H`. A header from another option with the same name is not sent, whatever the order of
    /// the options.
    headers: Vec<(String, String)>,
    /// Headers from options other than `-H`. For example, `-A` sets the header User-Agent.
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

/// Returns a value that must be text, such as a header. If the value is not UTF-8, returns an error.
fn text<'a>((at, bytes): Value<'a>) -> Result<&'a str, PlacedError> {
    std::str::from_utf8(bytes).map_err(|_| (at, format!("{} is not UTF-8", shown(&String::from_utf8_lossy(bytes)))))
}

impl ParsedOptions {
    /// Adds the effect of an option.
    pub(super) fn apply(
        &mut self,
        effect: OptionEffect,
        value: Value<'_>,
        folder: &std::path::Path,
    ) -> Result<(), PlacedError> {
        let (at, bytes) = value;
        let file = |name: &[u8]| {
            let path = folder.join(String::from_utf8_lossy(name).as_ref());
            run::read_bounded(&path, run::MAX_REQUEST_FILE_BYTES)
                .map_err(|e| (at, format!("cannot read {}: {e}", path.display())))
        };
        let content = || bytes.strip_prefix(b"@").map_or_else(|| Ok(bytes.into()), file);
        match effect {
            Method => self.method = Some(text(value)?.into()),
            Header => self.header(at, text(value)?)?,
            Data if bytes.starts_with(b"@") => {
                self.add(content()?.into_iter().filter(|b| !b"\r\n\0".contains(b)).collect());
            }
            Data | Binary => self.add(content()?),
            Raw => self.add(bytes.into()),
            UrlEncoded => self.add(url_encoded(bytes).ok_or((at, "give --data-urlencode as NAME=TEXT".to_owned()))?),
            Json => {
                self.data.get_or_insert_default().extend(content()?);
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
            Referer => self.referer(text(value)?),
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

    fn referer(&mut self, value: &str) {
        // `;auto` is about redirected requests.
        match value.strip_suffix(";auto").unwrap_or(value) {
            "" => self.made.retain(|(name, _)| *name != "Referer"),
            referer => self.make("Referer", referer),
        }
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

    /// Returns the remarks on options whose effects loadline does not imitate, and forgets them.
    pub(super) fn take_remarks(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.remarks)
    }

    /// Returns the request that curl would make.
    pub(super) fn request(mut self) -> Result<Found, PlacedError> {
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
        self.put_content(&mut request, &mut url).map_err(|why| (at, why))?;
        request.method = self.method.take().unwrap_or_else(|| usual.into());
        sendable(&request).map_err(|why| (at, why))?;
        Ok(Found::new(request, url))
    }

    /// Puts the data into the body of the request, or into the URL with `-G`. Puts the file to upload into the body,
    /// and adds its name to a URL that ends with `/`.
    fn put_content(&mut self, request: &mut RequestPlan, url: &mut SplitUrl) -> Result<(), String> {
        if let Some(data) = self.data.take() {
            if self.get {
                let query = String::from_utf8(data).map_err(|_| "-G needs data that is text")?;
                // curl refuses such a URL, too.
                crate::url::without_blanks(&query).map_err(|why| format!("-G with {}: {why}", shown(&query)))?;
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
        Ok(())
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
