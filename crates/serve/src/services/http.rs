//! HTTP: a built-in page, or the files of a directory. Options can set a fixed status or a rate limit.
//!
//! The built-in page is the answer to GET, HEAD, POST and PUT on every path. Request bodies are read and dropped. Files
//! are served for GET and HEAD. Ranges, conditional requests and compression are not supported.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use proto::Pace;
use proto::http1::{Page, ServerSession, Site};
use run::ServePlan;

use super::files::Files;
use super::streams::StreamPlan;
use crate::Service;
use crate::connection::BoxedSession;
use crate::control::lock;
use crate::{Options, ServeError};

/// Maximum size of the built-in page, bytes. The server keeps the page in memory.
const MAX_PAGE_BYTES: u64 = 1 << 30;
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 5\r\n\r\nbusy\n";

struct Http {
    site: Arc<Pages>,
    /// Maximum number of HTTP/2 streams per connection; `None` for HTTP/1.1.
    streams: Option<u32>,
}

/// The pages of a server, which all its threads share.
pub(crate) struct Pages {
    now_s: AtomicU64,
    content: Content,
    status: Option<u16>,
    split: bool,
    limit: Option<RateLimit>,
    errors: Vec<(u16, Arc<Page>)>,
    /// Times of the built-in page's events, and the length of each event; `None` unless the page is a stream of events
    /// (HTTP/2 and HTTP/3).
    stream: Option<(Arc<StreamPlan>, usize)>,
}

enum Content {
    BuiltIn(Arc<Page>),
    Files(Files),
}

pub(super) fn open(plan: &ServePlan, options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    Ok(Arc::new(Http { site: pages(plan, options)?, streams: None }))
}

/// Opens the service for HTTP/2.
pub(super) fn open_h2(plan: &ServePlan, options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    let streams = options.get::<u32>("streams")?.unwrap_or_default();
    Ok(Arc::new(Http { site: pages_or_streams(plan, options)?, streams: Some(streams) }))
}

/// Builds the pages that the settings and the options select. With the option `events`, the built-in page is a stream
/// of events.
pub(crate) fn pages_or_streams(plan: &ServePlan, options: &Options<'_>) -> Result<Arc<Pages>, ServeError> {
    let mut site = pages(plan, options)?;
    if let (Some(stream), Some(site)) = (StreamPlan::if_asked(options)?, Arc::get_mut(&mut site)) {
        let (body, event_bytes) = stream.body();
        site.content = Content::BuiltIn(Page::new(200, "text/event-stream", "", body));
        site.stream = Some((stream, event_bytes));
    }
    Ok(site)
}

/// Builds the pages that the settings and the options select.
fn pages(plan: &ServePlan, options: &Options<'_>) -> Result<Arc<Pages>, ServeError> {
    let status = final_status(options, "status")?;
    let content = match &plan.root {
        Some(root) => Content::Files(Files::new(root)?),
        None => Content::BuiltIn(built_in(plan.body_bytes, status.unwrap_or(200))?),
    };
    let site = Pages {
        now_s: AtomicU64::new(sys::clock::realtime_ns() / 1_000_000_000),
        content,
        status,
        split: options.on("split_head")?,
        limit: RateLimit::from(options)?,
        stream: None,
        errors: [100, 400, 404, 405, 408, 413, 431, 500, 501, 505].map(|s| (s, error_page(s))).into(),
    };
    Ok(Arc::new(site))
}

/// Returns the status in an option. An interim status (below 200) would let each client wait for the final response.
fn final_status(options: &Options<'_>, name: &'static str) -> Result<Option<u16>, ServeError> {
    match options.get::<u16>(name)? {
        Some(status) if !(200..=599).contains(&status) => {
            Err(ServeError::BadOption { name, value: status.to_string(), wants: "a final status, 200 to 599" })
        }
        status => Ok(status),
    }
}

fn error_page(status: u16) -> Arc<Page> {
    Page::plain(status, if status == 405 { "Allow: GET, HEAD\r\n" } else { "" })
}

fn built_in(bytes: u64, status: u16) -> Result<Arc<Page>, ServeError> {
    if bytes > MAX_PAGE_BYTES {
        let why = format!("a page of {bytes} bytes is kept in memory and may have at most {MAX_PAGE_BYTES}");
        return Err(ServeError::Combination(why));
    }
    let line = b"loadline reference server\n";
    let body = line.iter().copied().cycle().take(bytes as usize).collect();
    Ok(Page::new(status, "text/plain", "", body))
}

impl Service for Http {
    fn session(&self) -> BoxedSession {
        match self.streams {
            None => Box::new(ServerSession::new(self.site.clone())),
            Some(streams) => Box::new(proto::http2::ServerSession::new(self.site.clone(), streams)),
        }
    }

    fn is_timed(&self) -> bool {
        self.site.stream.is_some()
    }

    fn tick(&self, now_s: u64) {
        self.site.set_now(now_s);
    }

    fn busy_reply(&self) -> &[u8] {
        if self.streams.is_none() { BUSY } else { &[] }
    }

    fn nagle(&self) -> bool {
        self.site.split
    }
}

impl Pages {
    /// Sets the time, seconds since the epoch. The time is stored only if it has changed, because each store removes
    /// the cache line from the caches of other CPUs.
    pub(crate) fn set_now(&self, now_s: u64) {
        if self.now_s.load(Ordering::Relaxed) != now_s {
            self.now_s.store(now_s, Ordering::Relaxed);
        }
    }
}

impl Site for Pages {
    fn now_s(&self) -> u64 {
        self.now_s.load(Ordering::Relaxed)
    }

    fn find(&self, method: &str, path: &str) -> Arc<Page> {
        match &self.content {
            Content::BuiltIn(page) if matches!(method, "GET" | "HEAD" | "POST" | "PUT") => page.clone(),
            Content::Files(files) if matches!(method, "GET" | "HEAD") => {
                files.find(path, self.status.unwrap_or(200), self.now_s()).unwrap_or_else(|| self.plain(404))
            }
            _ => self.plain(405),
        }
    }

    fn plain(&self, status: u16) -> Arc<Page> {
        let known = self.errors.iter().find(|(s, _)| *s == status);
        known.map_or_else(|| error_page(status), |(_, page)| page.clone())
    }

    fn refuse(&self) -> Option<Arc<Page>> {
        self.limit.as_ref().and_then(|limit| limit.refuse(sys::clock::monotonic_ns() as f64))
    }

    fn splits_head(&self) -> bool {
        self.split
    }

    fn pace(&self) -> Option<Pace> {
        self.stream.as_ref().map(|(plan, event_bytes)| plan.pace(*event_bytes))
    }
}

/// Time after which unused tokens of the rate limit expire, nanoseconds. Because unused tokens expire, the size of a
/// burst of requests is limited.
const BURST_NS: f64 = 1e8;

/// Limit on the rate of requests: a token bucket that holds at most the tokens of a tenth of a second. Requests are
/// refused while the token bucket is empty.
struct RateLimit {
    gap_ns: f64,
    /// Time of the next token, nanoseconds. If `next_ns` is in the past, the bucket still has tokens (the method is
    /// called virtual scheduling).
    next_ns: Mutex<f64>,
    page: Arc<Page>,
}

impl RateLimit {
    fn from(options: &Options<'_>) -> Result<Option<Self>, ServeError> {
        let Some(rate) = options.positive("reject_over")? else { return Ok(None) };
        let status = final_status(options, "reject_status")?.unwrap_or(503);
        let page = Page::plain(status, "Retry-After: 1\r\n");
        Ok(Some(Self { gap_ns: 1e9 / rate, next_ns: Mutex::new(0.0), page }))
    }

    /// If a request at the time `now_ns` exceeds the rate limit, returns the page that refuses the request; otherwise
    /// `None`.
    fn refuse(&self, now_ns: f64) -> Option<Arc<Page>> {
        let mut next_ns = lock(&self.next_ns);
        let from_ns = next_ns.max(now_ns - BURST_NS);
        if from_ns > now_ns {
            return Some(self.page.clone());
        }
        *next_ns = from_ns + self.gap_ns;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of refused requests if 40 requests arrive, one every `every_ms` milliseconds.
    fn refused(rate: &str, every_ms: u64) -> usize {
        let map = [("reject_over".to_owned(), rate.to_owned())].into();
        let limit = RateLimit::from(&Options::new(&map).unwrap()).unwrap().unwrap();
        (1..=40).filter(|n| limit.refuse((1000 + n * every_ms) as f64 * 1e6).is_some()).count()
    }

    #[test]
    fn requests_above_the_rate_are_refused() {
        // The server's limit is 5 requests/s. If a request comes every 200 ms, all requests pass. If a request comes
        // every 100 ms, half of the requests pass.
        assert_eq!(refused("5", 200), 0);
        assert!((19..=20).contains(&refused("5", 100)), "{}", refused("5", 100));
        assert_eq!(refused("5", 0), 39);
        // At a limit of 100 requests/s, the requests of a tenth of a second may arrive at the same time without being
        // refused.
        assert!((29..=30).contains(&refused("100", 0)), "{}", refused("100", 0));
    }
}
