//! Pages of files that a server reads again after the kernel evicted them from memory (refaults). A page that is read
//! for the first time is no refault. Refaults therefore distinguish a lack of memory from a cold page cache. Source:
//! Linux, mm/workingset.c.

use crate::context::view::View;
use crate::number::{positive, ratio};
use crate::signals::Signal;
use crate::thresholds::{OWN_BYTES, PAGES_PER_REQUEST};

/// Counters of refaults. The code uses the server's control group if its counter has a value, and the whole host
/// otherwise.
const COUNTERS: [&str; 2] = ["cgroup.refaults", "memory.refaults"];

/// Refaults of a server: the counter that shows them, and the number of pages that the server read again per request.
pub(super) struct Refaults {
    /// Counter that shows the refaults.
    pub(super) counter: &'static str,
    /// Number of pages read again per request, compared with [`PAGES_PER_REQUEST`], from which a lack of memory is
    /// likely.
    pub(super) signal: Signal,
}

impl Refaults {
    /// Returns true if the refaults make a lack of memory at least as likely as enough memory.
    pub(super) fn show_lack(&self) -> bool {
        self.signal.log_odds() >= 0.0
    }
}

/// Returns the pages that the server read again. The counters also include the refaults of other programs in the
/// control group or on the host. The returned number is therefore at most the number of pages that the server's own
/// processes read. `is_limited` is true if a control group of the server reached its memory limit. If `is_limited` is
/// false, the server must have read most of the bytes that the disks read; otherwise the result is `None`. Also returns
/// `None` if a needed counter is unknown.
pub(super) fn of_server(view: &View<'_>, is_limited: bool) -> Option<Refaults> {
    let own = pages_read(view)?;
    let is_own = || {
        let share = ratio(view.value("process.read_bytes")?, view.value("disk.read_bytes")?)?;
        (share >= OWN_BYTES).then_some(())
    };
    if !is_limited {
        is_own()?;
    }
    let known = |id| Some((id, view.per_request(id)?, view.value(id)?));
    let (counter, each, all) = COUNTERS.into_iter().find_map(known)?;
    let signal =
        Signal::counted("pages that the server read again per request", (each.min(own), all), PAGES_PER_REQUEST);
    Some(Refaults { counter, signal })
}

/// Returns the number of memory pages per request that the server's processes read from a disk. The result is the
/// larger of two numbers: the major page faults, and the bytes read divided by the page size. Returns `None` if neither
/// number is known. A run of an earlier version of loadline lacks the page size, so only its page faults count.
fn pages_read(view: &View<'_>) -> Option<f64> {
    let faults = view.per_request("process.major_faults");
    let page_bytes = view.side.page_bytes.and_then(|bytes| positive(f64::from(bytes)));
    let read = view.per_request("process.read_bytes").zip(page_bytes).map(|(bytes, page_bytes)| bytes / page_bytes);
    faults.into_iter().chain(read).reduce(f64::max)
}
