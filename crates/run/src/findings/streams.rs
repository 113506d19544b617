//! Signs of buffering and of stalls in streams of events.

use serde::{Deserialize, Serialize};

/// Sign of a problem in a stream of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum StreamSign {
    /// The first event arrives together with the last event. If the first event of a stream arrives together with the
    /// last event, something between server and client collects the events.
    #[serde(rename = "stream-buffered")]
    Buffered,
    /// Under load, some gaps between events are longer than every gap without load.
    #[serde(rename = "stream-stalls")]
    Stalls,
}

/// A sign of a problem in the streams of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StreamFinding {
    /// Kind of sign.
    pub id: StreamSign,
    /// Description of the sign in one sentence, with its figures.
    pub sentence: String,
}
