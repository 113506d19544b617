//! Fits by least squares: a straight line, a value that is a sum of parts, a regression that is robust against
//! outliers, and the Universal Scalability Law. A test compares the fits of the Universal Scalability Law with those of
//! an independent library. The fits have only a few unknowns, so the program needs no library for them.

mod line;
mod proportional;
pub mod robust;
mod solve;
mod usl;

pub use line::{Line, linear};
pub use proportional::{Coefficient, proportional};
pub use usl::{Usl, usl, usl_of_shares, usl_rate};
