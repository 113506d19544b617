//! Charts ([`Plot`], [`Bars`], [`Intervals`], [`Chain`], [`Flame`]) and their rendering as SVG.
//!
//! loadline has its own chart renderer, because charts must match the style of the page. Charts use the page's CSS
//! colours (light and dark) and its font. A chart also has a separate layout for phones. Screen readers get titles and
//! descriptions.

mod area;
mod bars;
mod chain;
mod chain_box;
mod chain_drawn;
mod flame;
mod flame_drawn;
mod frame;
mod intervals;
mod labels;
mod line_labels;
mod lines;
mod model;
mod place;
mod rising;
mod scale;
mod svg;
mod ticks;

pub use chain::{Chain, Link};
pub use flame::Flame;
pub use frame::Frame;
pub use intervals::{IntervalRow, Intervals};
pub(crate) use labels::escape;
pub use model::{Axis, Band, BarRow, Bars, Hue, Look, Mark, Plot, Scale, Segment, Series, Spot};
pub(crate) use rising::rising;
pub(crate) use svg::flame_picture;
pub use svg::{bars_svg, chain_svg, flame_svg, intervals_svg, plot_svg};
