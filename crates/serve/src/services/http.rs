//! HTTP: the built-in page, or files; with a fixed status or a limit of its rate where a test asks for one.
//!
//! The built-in page answers GET, HEAD, POST and PUT on every path (bodies are read and dropped); files answer GET and
//! HEAD. Not a web server: no ranges, no conditions, no compression.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use proto::http1::{Page, ServerSession, Site};
use run::ServePlan;

use super::files::Files;
use crate::Service;
use crate::server::lock;
use crate::service::BoxedSession;
use crate::{Options, ServeError};

/// Largest built-in page: it is kept in memory.
const MAX_PAGE: u64 = 1 << 30;
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 5\r\n\r\nbusy\n";

struct Http {
    site: Arc<Pages>,
    /// HTTP/2, and the streams of a connection at most; absent: HTTP/1.1.
    streams: Option<u32>,
}

struct Pages {
    now_s: AtomicU64,
    content: Content,
    status: Option<u16>,
    split: bool,
    limit: Option<Limit>,
    errors: Vec<(u16, Arc<Page>)>,
}

enum Content {
    BuiltIn(Arc<Page>),
    Files(Files),
}

pub(super) fn open(plan: &ServePlan, options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    Ok(Arc::new(Http { site: pages(plan, options)?, streams: None }))
}

/// The same by HTTP/2.
pub(super) fn open_h2(plan: &ServePlan, options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    let streams = options.get::<u32>("streams")?.unwrap_or_default();
    Ok(Arc::new(Http { site: pages(plan, options)?, streams: Some(streams) }))
}

fn pages(plan: &ServePlan, options: &Options<'_>) -> Result<Arc<Pages>, ServeError> {
    let status = options.get::<u16>("status")?;
    let content = match &plan.root {
        Some(root) => Content::Files(Files::new(root)?),
        None => Content::BuiltIn(built_in(plan.body_bytes, status.unwrap_or(200))?),
    };
    let site = Pages {
        now_s: AtomicU64::new(sys::clock::realtime_ns() / 1_000_000_000),
        content,
        status,
        split: options.on("split_head")?,
        limit: Limit::from(options)?,
        errors: [100, 400, 404, 405, 408, 413, 431, 500, 501, 505].map(|s| (s, error_page(s))).into(),
    };
    Ok(Arc::new(site))
}

fn error_page(status: u16) -> Arc<Page> {
    Page::plain(status, if status == 405 { "Allow: GET, HEAD\r\n" } else { "" })
}

fn built_in(bytes: u64, status: u16) -> Result<Arc<Page>, ServeError> {
    if bytes > MAX_PAGE {
        let why = format!("a page of {bytes} bytes is kept in memory and may have at most {MAX_PAGE}");
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

    fn tick(&self, now_s: u64) {
        // Read first: a store would take the cache line away from the other threads at every wake.
        if self.site.now_s.load(Ordering::Relaxed) != now_s {
            self.site.now_s.store(now_s, Ordering::Relaxed);
        }
    }

    fn busy_reply(&self) -> &[u8] {
        if self.streams.is_none() { BUSY } else { &[] }
    }

    fn nagle(&self) -> bool {
        self.site.split
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
        self.limit.as_ref().and_then(Limit::refuse)
    }

    fn splits_head(&self) -> bool {
        self.split
    }
}

/// A token bucket of one tenth of a second: requests that find it empty are refused.
struct Limit {
    gap_ns: f64,
    /// Earliest moment that the next request may count for (the virtual scheduling of leaky buckets).
    next_ns: Mutex<f64>,
    page: Arc<Page>,
}

impl Limit {
    fn from(options: &Options<'_>) -> Result<Option<Self>, ServeError> {
        let Some(rate) = options.positive("reject_over")? else { return Ok(None) };
        let status = options.get("reject_status")?.unwrap_or(503);
        let page = Page::plain(status, "Retry-After: 1\r\n");
        Ok(Some(Self { gap_ns: 1e9 / rate, next_ns: Mutex::new(0.0), page }))
    }

    fn refuse(&self) -> Option<Arc<Page>> {
        const BURST_NS: f64 = 1e8;
        let now = sys::clock::monotonic_ns() as f64;
        let mut next = lock(&self.next_ns);
        let from = next.max(now - BURST_NS);
        if from > now {
            return Some(self.page.clone());
        }
        *next = from + self.gap_ns;
        None
    }
}
