//! Fits by least squares, small enough to be explained: a straight line with 95 % intervals, and the Universal
//! Scalability Law. No library: two and three unknowns need none; a test holds the results against one.

mod line;
mod proportional;
pub(crate) mod robust;
mod solve;
mod usl;

pub use line::{Line, line_fit, linear};
pub(crate) use proportional::{Told, proportional};
pub use usl::{Usl, usl};
pub(crate) use usl::{usl_of, usl_of_shares};
