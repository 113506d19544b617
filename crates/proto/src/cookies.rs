//! Storage of the cookies of one connection. Source: RFC 6265, sections 5.1 to 5.4.

mod expiry;

use expiry::{date, now_s, seconds};

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
        let Some((path, ends_s)) = self.attributes(parts) else { return };
        self.put(name, value, path, ends_s);
    }

    /// Reads the attributes of a cookie: its path and its end. Returns `None` if the cookie belongs to another server
    /// or needs TLS.
    fn attributes<'a>(&self, parts: impl Iterator<Item = &'a [u8]>) -> Option<(Vec<u8>, Option<i64>)> {
        let (mut path, mut expires_s, mut max_age_s) = (default_path(&self.path), None, None);
        for part in parts {
            let (attribute, text) = part.split_at(part.iter().position(|byte| *byte == b'=').unwrap_or(part.len()));
            let text = text.get(1..).unwrap_or_default().trim_ascii();
            match attribute.trim_ascii().to_ascii_lowercase().as_slice() {
                b"path" => path = if text.starts_with(b"/") { text } else { default_path(&self.path) },
                b"expires" => expires_s = date(text).or(expires_s),
                b"max-age" => max_age_s = seconds(text).or(max_age_s),
                b"domain" if !self.is_own_domain(text) => return None,
                b"secure" if !self.is_secure => return None,
                _ => {}
            }
        }
        let path = path.to_vec();
        let ends_s = max_age_s.map(|age| if age > 0 { now_s().saturating_add(age) } else { i64::MIN }).or(expires_s);
        Some((path, ends_s))
    }

    /// Adds, replaces or removes a cookie.
    fn put(&mut self, name: &[u8], value: &[u8], path: Vec<u8>, ends_s: Option<i64>) {
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

#[cfg(test)]
mod tests;
