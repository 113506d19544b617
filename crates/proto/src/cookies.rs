//! Storage of the cookies of one connection. Source: RFC 6265, sections 5.1 to 5.4.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::calendar::days_since_epoch;

/// Maximum number of cookies per connection.
const MAX_COOKIES: usize = 50;
/// Maximum size of a new cookie: its name, value and path together, bytes.
const MAX_COOKIE: usize = 4096;

/// A cookie that the server has set on this connection.
#[derive(Debug)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    path: Vec<u8>,
    /// Expiry time, seconds since 1970; `None` if the cookie lasts as long as the connection.
    ends_s: Option<i64>,
}

/// Cookies that a server set on one connection.
#[derive(Debug, Default)]
pub(crate) struct CookieJar {
    /// Host of the server, in lower case and without a port.
    host: String,
    /// True if the connection uses TLS.
    is_secure: bool,
    /// True if this jar stores cookies.
    is_open: bool,
    /// Path of the current request.
    path: Vec<u8>,
    all: Vec<Cookie>,
}

impl CookieJar {
    /// Creates an empty jar for a server.
    pub(crate) fn new(host: &str, is_secure: bool) -> Self {
        Self { host: without_port(host).to_ascii_lowercase(), is_secure, is_open: true, ..Self::default() }
    }

    /// Creates a jar that stores nothing.
    pub(crate) fn closed() -> Self {
        Self::default()
    }

    /// Removes all cookies, without freeing the memory.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
    }

    /// Sets the path of the current request. `target` is the path of the current request, with an optional query.
    pub(crate) fn begin(&mut self, target: &[u8]) {
        self.path.clear();
        self.path.extend_from_slice(target.split(|b| matches!(b, b'?' | b'#')).next().unwrap_or_default());
    }

    /// Stores the cookie of a `Set-Cookie` header. Ignores a cookie without a name (section 5.2). If the header says
    /// that the cookie has expired, removes the stored cookie (section 5.3).
    pub(crate) fn store(&mut self, line: &[u8]) {
        if !self.is_open {
            return;
        }
        let mut parts = line.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let pair = parts.next().unwrap_or_default();
        let Some(is) = pair.iter().position(|byte| *byte == b'=') else { return };
        let (name, value) = (pair[..is].trim_ascii(), pair[is + 1..].trim_ascii());
        if name.is_empty() {
            return;
        }
        let (mut path, mut expires_s, mut max_age_s) = (default_path(&self.path), None, None);
        for part in parts {
            let (attribute, text) = part.split_at(part.iter().position(|byte| *byte == b'=').unwrap_or(part.len()));
            let text = text.get(1..).unwrap_or_default().trim_ascii();
            match attribute.trim_ascii().to_ascii_lowercase().as_slice() {
                b"path" => path = if text.starts_with(b"/") { text } else { default_path(&self.path) },
                b"expires" => expires_s = date(text).or(expires_s),
                b"max-age" => max_age_s = seconds(text).or(max_age_s),
                b"domain" if !self.is_own_domain(text) => return,
                b"secure" if !self.is_secure => return,
                _ => {}
            }
        }
        let path = path.to_vec();
        let ends_s = max_age_s.map(|age| if age > 0 { now_s().saturating_add(age) } else { i64::MIN }).or(expires_s);
        let known = self.all.iter().position(|cookie| cookie.name == name && cookie.path == path);
        let is_over = ends_s.is_some_and(|end| end <= now_s());
        match known {
            Some(at) if is_over => drop(self.all.remove(at)),
            Some(at) => {
                let cookie = &mut self.all[at];
                cookie.value.clear();
                cookie.value.extend_from_slice(value);
                cookie.ends_s = ends_s;
            }
            None if !is_over && self.all.len() < MAX_COOKIES && name.len() + value.len() + path.len() <= MAX_COOKIE => {
                // Cookies with longer paths come first; if paths are equally long, the older cookie comes first
                // (section 5.4).
                let at = self.all.iter().position(|cookie| cookie.path.len() < path.len()).unwrap_or(self.all.len());
                self.all.insert(at, Cookie { name: name.into(), value: value.into(), path, ends_s });
            }
            None => {}
        }
    }

    /// Appends the value of the `Cookie` header for the current request: the request's own cookies, and the matching
    /// cookies of the jar. If the request itself sets a cookie with the same name, the jar's cookie is left out.
    /// Without cookies, returns false and appends nothing.
    pub(crate) fn write(&self, own: &[u8], to: &mut Vec<u8>) -> bool {
        let begin = to.len();
        to.extend_from_slice(own);
        let mut now = None;
        for cookie in &self.all {
            let is_over = cookie.ends_s.is_some_and(|end| end <= *now.get_or_insert_with(now_s));
            if is_over || !path_matches(&cookie.path, &self.path) || names(own, &cookie.name) {
                continue;
            }
            to.extend_from_slice(if to.len() == begin { b"" } else { b"; " });
            to.extend_from_slice(&cookie.name);
            to.push(b'=');
            to.extend_from_slice(&cookie.value);
        }
        to.len() > begin
    }

    /// Returns true if `domain` is empty, or if the server's host is `domain` or a subdomain of it (section 5.1.3).
    fn is_own_domain(&self, domain: &[u8]) -> bool {
        let domain = String::from_utf8_lossy(domain).trim_start_matches('.').to_ascii_lowercase();
        let is_address = self.host.starts_with('[') || self.host.parse::<std::net::IpAddr>().is_ok();
        let above = self.host.strip_suffix(&domain).is_some_and(|rest| rest.ends_with('.') && !is_address);
        domain.is_empty() || self.host == domain || above
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

/// Returns true if a `Cookie` header contains a cookie with the name `name`.
fn names(header: &[u8], name: &[u8]) -> bool {
    header.split(|byte| *byte == b';').any(|pair| {
        let pair = pair.trim_ascii();
        pair.strip_prefix(name).is_some_and(|rest| rest.starts_with(b"="))
    })
}

/// Returns the directory of a path (section 5.1.4).
fn default_path(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(0) | None => b"/",
        Some(end) => &path[..end],
    }
}

/// Returns true if the path of a request is the path of a cookie, or is below it (section 5.1.4).
fn path_matches(cookie: &[u8], path: &[u8]) -> bool {
    path.strip_prefix(cookie).is_some_and(|rest| rest.is_empty() || cookie.ends_with(b"/") || rest.starts_with(b"/"))
}

/// Parses the value of `Max-Age`, seconds (section 5.2.2). A number beyond the range of `i64` becomes the nearest
/// `i64`.
fn seconds(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let bound = if text.starts_with(b"-") { i64::MIN } else { i64::MAX };
    is_number.then(|| std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(bound))
}

/// Parses the date of `Expires` (section 5.1.1): a time, a day, a month and a year, in any order. Each part of the date
/// is tried as a time, then as a day, as a month and as a year. Returns seconds since 1970.
fn date(text: &[u8]) -> Option<i64> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let text = std::str::from_utf8(text).ok()?.to_ascii_lowercase();
    let is_delimiter = |c: char| !(c.is_ascii_alphanumeric() || c == ':');
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        let digits = token.bytes().take_while(u8::is_ascii_digit).count();
        let number = || token[..digits].parse::<i64>().ok();
        if time.is_none() && token.contains(':') {
            time = clock(token);
        } else if day.is_none() && (1..=2).contains(&digits) {
            day = number();
        } else if month.is_none() && MONTHS.iter().any(|name| token.starts_with(name)) {
            month = MONTHS.iter().position(|name| token.starts_with(name));
        } else if year.is_none() && (2..=4).contains(&digits) {
            year = number().map(|year| match year {
                70..=99 => year + 1900,
                0..70 => year + 2000,
                year => year,
            });
        }
    }
    let (day, month, year) = (day?, month? as i64 + 1, year?);
    let is_date = (1..=31).contains(&day) && year >= 1601;
    is_date.then_some(days_since_epoch(year, month, day) * 86_400 + time?)
}

/// Parses `hh:mm:ss` to seconds.
fn clock(token: &str) -> Option<i64> {
    let mut parts = token.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    (hour < 24 && minute < 60 && second < 60).then_some(hour * 3600 + minute * 60 + second)
}

fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jar(https: bool, begun: &str, lines: &[&str]) -> CookieJar {
        let mut jar = CookieJar::new("www.Shop.example:8080", https);
        jar.begin(begun.as_bytes());
        lines.iter().for_each(|line| jar.store(line.as_bytes()));
        jar
    }

    fn sent(jar: &mut CookieJar, target: &str, own: &str) -> String {
        let mut to = Vec::new();
        jar.begin(target.as_bytes());
        assert_eq!(jar.write(own.as_bytes(), &mut to), !to.is_empty());
        String::from_utf8(to).unwrap()
    }

    #[test]
    fn a_cookie_is_sent_where_its_path_leads() {
        let lines = ["a=1; Path=/shop", "b=2", "c=3; path=/", "d=4; Path=shop", "e=5; Path=/shop/"];
        let mut jar = jar(false, "/in/door?x=/y/z", &lines);
        assert_eq!(sent(&mut jar, "/shop/x", ""), "e=5; a=1; c=3");
        assert_eq!(sent(&mut jar, "/shop", ""), "a=1; c=3");
        assert_eq!(sent(&mut jar, "/shopping?/in", ""), "c=3");
        assert_eq!(sent(&mut jar, "/in/x", "own=7; b=0"), "own=7; b=0; d=4; c=3", "one header, its own first");
        assert_eq!(sent(&mut jar, "/", "own=7"), "own=7; c=3");
    }

    #[test]
    fn a_cookie_ends_when_it_is_told_to() {
        let mut jar =
            jar(false, "/", &["a=1", "b=2; Max-Age=1000", "c=3; Expires=Wed, 09 Jun 2199 10:18:14 GMT", "d=4"]);
        assert_eq!(sent(&mut jar, "/", ""), "a=1; b=2; c=3; d=4");
        for end in [
            "a=; expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "b=; Max-Age=0; Expires=Wed, 09 Jun 2199 10:18:14 GMT",
            "c=; Expires=Sunday, 06-Nov-94 08:49:37 GMT",
            "d=; max-age=-5",
        ] {
            jar.store(end.as_bytes());
        }
        assert_eq!(sent(&mut jar, "/", ""), "");
        jar.store(b"e=5; Max-Age=x; Expires=no date");
        jar.store(b"f=x-max-age=0");
        jar.store(b"=without a name");
        assert_eq!(sent(&mut jar, "/", ""), "e=5; f=x-max-age=0");
    }

    #[test]
    fn a_cookie_belongs_to_its_server() {
        let lines = [
            "a=1; Domain=shop.example",
            "b=2; domain=.Shop.Example",
            "c=3; Domain=evil.example",
            "d=4; Domain=op.example",
            "s=5; Secure",
        ];
        assert_eq!(sent(&mut jar(false, "/", &lines), "/", ""), "a=1; b=2");
        assert_eq!(sent(&mut jar(true, "/", &lines), "/", ""), "a=1; b=2; s=5");
        let mut address = CookieJar::new("10.0.0.1:80", false);
        address.store(b"a=1; Domain=0.1");
        assert_eq!(sent(&mut address, "/", ""), "");
    }

    #[test]
    fn memory_is_bounded() {
        let mut jar = CookieJar::new("h", false);
        let mut closed = CookieJar::closed();
        closed.store(b"a=1");
        assert!(closed.all.is_empty());
        (0..99).for_each(|i| jar.store(format!("c{i}=1; Path=/").as_bytes()));
        jar.store(&[b"long=".as_slice(), &[b'x'; 5000]].concat());
        assert_eq!(jar.all.len(), MAX_COOKIES);
    }

    #[test]
    fn dates_are_read_in_the_forms_that_servers_write() {
        for (text, at) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Thu, 29-Feb-2024 00:00:00 GMT", 1_709_164_800),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ] {
            assert_eq!(date(text.as_bytes()), Some(at), "{text}");
        }
        for wrong in ["", "06 Nov 1994", "32 Nov 1994 08:49:37", "6 Nov 1994 25:00:00", "6 Nov 1500 08:49:37"] {
            assert_eq!(date(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
