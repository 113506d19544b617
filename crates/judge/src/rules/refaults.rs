//! Pages of files that a server reads again after the kernel evicted them from memory (refaults). Pages that are read
//! for the first time are no refaults, so refaults tell a lack of memory from a cold page cache. Source: Linux,
//! mm/workingset.c.

use crate::number::ratio;
use crate::signals::Signal;
use crate::thresholds::{OWN_BYTES, PAGES_PER_REQUEST};
use crate::view::View;

/// Size of a page, bytes. Some kernels have larger pages. The server's reads then seem to be more pages than they are,
/// but the counted refaults stay an upper bound.
const PAGE_BYTES: u32 = 4096;

/// Counters of refaults: those of the server's control groups come before those of the whole host.
const COUNTERS: [&str; 2] = ["cgroup.refaults", "memory.refaults"];

/// Counter that shows the refaults of a server, and the number of pages that the server read again per request.
pub(super) struct Refaults {
    /// Counter that shows the refaults.
    pub(super) counter: &'static str,
    /// Pages read again per request, compared with the number that counts as a lack of memory.
    pub(super) signal: Signal,
}

impl Refaults {
    /// Returns true if the server more likely lacks memory than not.
    pub(super) fn show_lack(&self) -> bool {
        self.signal.log_odds() >= 0.0
    }
}

/// Returns the pages that the server read again. The counters of a control group or of the host also include pages that
/// other programs read again. The number is therefore at most the number of pages that the server's own processes read.
/// `is_limited` is true if a control group of the server reached its memory limit. If `is_limited` is false, the server
/// must also have read most of the bytes that the disks read. Returns `None` if this is unknown.
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

/// Returns the number of pages per request that the server's processes read from a disk. The result is the larger of
/// two numbers: the major page faults, and the bytes read divided by the page size. Returns `None` if neither is known.
fn pages_read(view: &View<'_>) -> Option<f64> {
    let faults = view.per_request("process.major_faults");
    let read = view.per_request("process.read_bytes").map(|bytes| bytes / f64::from(PAGE_BYTES));
    faults.into_iter().chain(read).reduce(f64::max)
}
