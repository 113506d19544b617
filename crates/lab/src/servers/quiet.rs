//! Watch for one run among many, which shows nothing.

use crate::Watch;

/// A watch that shows nothing, and ends the run when its function returns true.
pub(crate) struct Quiet<'a>(pub(crate) &'a (dyn Fn() -> bool + Sync));

impl Watch for Quiet<'_> {
    fn stop(&self) -> bool {
        (self.0)()
    }
}
