//! Charts ([`Plot`], [`Bars`], [`Intervals`], [`Chain`]) and their rendering as SVG.
//!
//! The renderer is loadline's own, since a chart must follow the page: colours from CSS (light and dark), text in the
//! page's font, a layout of its own at phone width, a title and a description for screen readers.

mod bars;
mod chain;
mod chain_box;
mod chain_drawn;
mod frame;
mod intervals;
mod labels;
mod lines;
mod model;
mod place;
mod scale;
mod svg;

pub use chain::{Chain, Link};
pub use frame::Frame;
pub use intervals::{IntervalRow, Intervals};
pub use model::{Axis, Band, BarRow, Bars, Hue, Look, Mark, Plot, Scale, Segment, Series, Spot};
pub use svg::{bars_svg, chain_svg, intervals_svg, plot_svg};
