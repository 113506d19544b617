//! Counts of workers or connections in findings.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Kind of the things that a count in the findings is about. In run.json, a kind is the plural noun of these things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum CountedKind {
    /// Threads.
    #[default]
    #[serde(rename = "threads")]
    Threads,
    /// Threads that are always blocked.
    #[serde(rename = "blocked threads")]
    BlockedThreads,
    /// Threads of a garbage collector.
    #[serde(rename = "collector threads")]
    CollectorThreads,
    /// Tasks of Go's runtime.
    #[serde(rename = "goroutines")]
    Goroutines,
    /// Child processes of one parent, without the parent.
    #[serde(rename = "children")]
    Children,
    /// Processes, including the parent.
    #[serde(rename = "processes")]
    Processes,
    /// Connections to another server.
    #[serde(rename = "connections")]
    Connections,
    /// Connections to another server that await a reply.
    #[serde(rename = "busy connections")]
    BusyConnections,
    /// Things of a kind that this version does not know.
    #[serde(rename = "others", other)]
    Others,
}

impl CountedKind {
    /// Returns the plural noun of the counted things.
    pub const fn nouns(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::BlockedThreads => "blocked threads",
            Self::CollectorThreads => "collector threads",
            Self::Goroutines => "goroutines",
            Self::Children => "children",
            Self::Processes => "processes",
            Self::Connections => "connections",
            Self::BusyConnections => "busy connections",
            Self::Others => "others",
        }
    }

    /// Returns the singular noun of the counted things.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Children => "child",
            Self::Processes => "process",
            _ => self.nouns().trim_end_matches('s'),
        }
    }

    /// Returns true for plain threads.
    pub(crate) fn is_threads(&self) -> bool {
        *self == Self::Threads
    }
}

impl fmt::Display for CountedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.nouns())
    }
}

/// Number of processes, threads, or connections to one peer, if each of them handles one request at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Counted {
    /// Kind of the counted things.
    pub what: CountedKind,
    /// Number of counted processes, threads or connections.
    #[serde(with = "Figure")]
    pub count: f64,
    /// Name of the master process, of the threads, or of the process with the connections.
    pub of: String,
    /// Other end of the connections, as `name address`, or the server for whose replies blocked threads wait. Empty for
    /// other threads and for processes.
    pub peer: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_written_as_its_noun_and_an_unknown_one_is_read() {
        for kind in [CountedKind::Threads, CountedKind::BusyConnections, CountedKind::CollectorThreads] {
            let text = serde_json::to_string(&kind).unwrap();
            assert_eq!(text, format!("\"{kind}\""));
            assert_eq!(serde_json::from_str::<CountedKind>(&text).unwrap(), kind);
        }
        assert_eq!(serde_json::from_str::<CountedKind>("\"fibres\"").unwrap(), CountedKind::Others);
        assert_eq!([CountedKind::Children.noun(), CountedKind::Processes.noun()], ["child", "process"]);
    }
}
