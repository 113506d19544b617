//! A [`Watch`] that shows nothing, for one run among many.

use crate::Watch;

/// A watch that shows nothing, and ends the run when the given function returns true.
pub(crate) struct Quiet<'a>(pub(crate) &'a (dyn Fn() -> bool + Sync));

impl Watch for Quiet<'_> {
    fn stop(&self) -> bool {
        (self.0)()
    }
}
