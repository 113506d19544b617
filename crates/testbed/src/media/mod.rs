//! What can join hosts: one file a kind, one row a medium.

mod loopback;
mod qdiscs;
mod shared;
mod switch;
mod wan;

use crate::arguments::Arguments;
use crate::error::{Result, TestbedError};
use crate::forward::Counts;
use crate::net::Net;

/// One row of [`MEDIA`].
pub struct MediumSpec {
    /// Its name.
    pub name: &'static str,
    /// What may follow the name.
    pub arguments: &'static str,
    /// What it is, in one sentence.
    pub help: &'static str,
    /// Reads the arguments.
    plan: fn(&mut Arguments) -> Result<Box<dyn MediumPlan>, String>,
}

impl std::fmt::Debug for MediumSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MediumSpec").field("name", &self.name).field("help", &self.help).finish_non_exhaustive()
    }
}

/// A medium that was read and not yet built.
trait MediumPlan: std::fmt::Debug + Send + Sync {
    /// Whether every host has a namespace of its own.
    fn hosts_apart(&self) -> bool {
        true
    }

    /// Joins the hosts.
    fn join(&self, net: &Net) -> Result<Box<dyn Joined>>;
}

/// A medium in use.
pub(crate) trait Joined: Send + Sync {
    /// What each of its wires did so far.
    fn wires(&self) -> Vec<Wire>;

    /// What it is made of, for notes: `kernel: …`, `user space: …`.
    fn made_of(&self) -> String;

    /// Time on the wire that passes at once after a pause, microseconds; 0 where every frame takes its own.
    fn catches_up_us(&self) -> u64 {
        0
    }
}

/// One wire, or one direction of one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wire {
    /// `ethernet10`, `switch to client1`, …
    pub(crate) name: String,
    /// Bits per second; `None` is without bound.
    pub(crate) bits_per_s: Option<u64>,
    /// Counts, or why there are none.
    pub(crate) counts: Result<Counts, String>,
}

/// Every medium.
pub const MEDIA: &[MediumSpec] = &[
    MediumSpec {
        name: "ethernet10",
        arguments: "[:user]",
        help: "one shared half-duplex wire of 10 Mbit/s: all hosts, both directions, 800 ns a byte, 24 bytes of framing",
        plan: |arguments| shared::plan("ethernet10", 10_000_000, arguments),
    },
    MediumSpec {
        name: "hub100",
        arguments: "[:user]",
        help: "the same shared wire at 100 Mbit/s",
        plan: |arguments| shared::plan("hub100", 100_000_000, arguments),
    },
    MediumSpec {
        name: "switch",
        arguments: "[:RATE]",
        help: "full duplex, RATE each way for every port (switch:100M); without a rate as fast as the processors",
        plan: switch::plan,
    },
    MediumSpec {
        name: "wan",
        arguments: "[:delay=TIME,jitter=TIME,loss=SHARE,reorder=SHARE,rate=RATE,queue=BYTES,seed=N]",
        help: "a long line each way between all hosts; delay is one way, so a round trip takes twice as long",
        plan: wan::plan,
    },
    MediumSpec {
        name: "loopback",
        arguments: "",
        help: "no medium: all hosts share one namespace and talk over its loopback, each with an address of its own",
        plan: loopback::plan,
    },
];

/// A medium, read and checked, not yet built.
#[derive(Debug)]
pub struct Medium {
    text: String,
    plan: Box<dyn MediumPlan>,
}

impl Medium {
    /// Reads a medium's text: `ethernet10`, `switch:100M`, `wan:delay=50ms,loss=1%`.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: String| TestbedError::Medium { text: text.into(), why };
        let mut arguments = Arguments::parse(text).map_err(wrong)?;
        let Some(spec) = MEDIA.iter().find(|spec| spec.name == arguments.name) else {
            let names = MEDIA.iter().map(|m| m.name).collect::<Vec<_>>().join(", ");
            return Err(wrong(format!("the media are {names}")));
        };
        let plan = (spec.plan)(&mut arguments).map_err(wrong)?;
        arguments.finish().map_err(wrong)?;
        Ok(Self { text: text.into(), plan })
    }

    /// The text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn hosts_apart(&self) -> bool {
        self.plan.hosts_apart()
    }

    pub(crate) fn join(&self, net: &Net) -> Result<Box<dyn Joined>> {
        self.plan.join(net)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_medium_reads_its_bare_name_and_refuses_what_it_does_not_know() {
        for spec in MEDIA {
            Medium::parse(spec.name).unwrap();
            let error = Medium::parse(&format!("{}:nonsense=1", spec.name)).unwrap_err().to_string();
            assert!(error.contains("nonsense"), "{error}");
        }
        assert!(Medium::parse("token-ring").unwrap_err().to_string().contains("ethernet10"));
    }

    #[test]
    fn arguments_that_make_no_sense_are_refused() {
        for text in ["switch:fast", "wan:loss=200%", "wan:jitter=20ms,delay=10ms", "ethernet10:kernel", "loopback:1"] {
            assert!(Medium::parse(text).is_err(), "{text}");
        }
    }
}
