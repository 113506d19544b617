//! Evidence of the server's limit of HTTP/2 streams per connection, which makes requests wait in the generator.

use run::{Evidence, FigureUnit, Intensity};

use crate::context::evidence::measured;
use crate::context::view::View;
use crate::number::{counted, figure};
use crate::thresholds::KEEPS_UP;

/// Returns evidence with the number of streams in flight, and the number of requests that waited for a stream. Returns
/// `None` if the server set no limit, if the load is no closed loop, or if the generator did not reach the limit.
pub(super) fn waits(view: &View<'_>) -> Option<Evidence> {
    let limit = view.trial.stream_limit?;
    let Intensity::Closed { connections, pipeline, .. } = view.trial.intensity else { return None };
    let (connections, limit, asked) = (f64::from(connections), f64::from(limit), f64::from(pipeline));
    if asked <= limit || view.trial.rates.concurrency < KEEPS_UP * connections * asked {
        return None;
    }
    let (under_way, wait) = (connections * limit, connections * (asked - limit));
    let text = format!(
        "the server allows {} per connection (SETTINGS_MAX_CONCURRENT_STREAMS): {} in flight on {}, \
         and {} more waited in the generator for a stream",
        counted(limit, "stream"),
        counted(under_way, "request"),
        counted(connections, "connection"),
        figure(wait)
    );
    Some(measured(view, ("stream_limit", ""), (under_way, FigureUnit::Requests), Some(under_way), text))
}
