//! Signs of buffering and of stalls in streams of events.

use serde::{Deserialize, Serialize};

/// Kind of sign in a stream of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum StreamSign {
    /// The first event arrives together with the last one, so something between server and client collects the events.
    #[serde(rename = "stream-buffered")]
    Buffered,
    /// Under load, gaps between events are longer than any gap without load.
    #[serde(rename = "stream-stalls")]
    Stalls,
}

/// A sign in the streams of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StreamFinding {
    /// Kind of sign.
    pub id: StreamSign,
    /// The sign in one sentence, with its figures.
    pub sentence: String,
}
