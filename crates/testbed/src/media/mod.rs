//! Media (simulated networks) that join the hosts of a testbed. Each type of medium has its own file, and each medium
//! has a row in [`MEDIA`].

mod loopback;
mod medium;
mod qdiscs;
mod shared;
mod switch;
mod wan;

use crate::arguments::Arguments;
use crate::error::{Result, TestbedError};
use crate::net::Net;
use medium::MediumPlan;
pub(crate) use medium::{BuiltMedium, Wire};
pub use medium::{MediumSpec, leads_from_switch};

/// All media that a testbed can simulate.
pub const MEDIA: &[MediumSpec] = &[
    MediumSpec {
        name: "ethernet10",
        arguments: "[:user]",
        help: "one half-duplex wire of 10 Mbit/s, shared by all hosts and both directions; 800 ns per byte, 24 bytes of framing per packet",
        shared_wire: true,
        plan: |arguments| shared::plan("ethernet10", 10_000_000, arguments),
    },
    MediumSpec {
        name: "hub100",
        arguments: "[:user]",
        help: "one shared half-duplex wire of 100 Mbit/s",
        shared_wire: true,
        plan: |arguments| shared::plan("hub100", 100_000_000, arguments),
    },
    MediumSpec {
        name: "switch",
        arguments: "[:RATE]",
        help: "full duplex, RATE in each direction of every port (switch:100M); without RATE as fast as the CPUs",
        shared_wire: false,
        plan: switch::plan,
    },
    MediumSpec {
        name: "wan",
        arguments: "[:delay=TIME,jitter=TIME,loss=SHARE,reorder=SHARE,rate=RATE,queue=BYTES,seed=N]",
        help: "a long line between all hosts; the delay is for one direction, so a round trip takes twice as long",
        shared_wire: false,
        plan: wan::plan,
    },
    MediumSpec {
        name: "loopback",
        arguments: "",
        help: "no medium: all hosts share one network namespace and its loopback, each with an address of its own",
        shared_wire: false,
        plan: loopback::plan,
    },
];

/// A medium that was parsed and checked but not built yet.
#[derive(Debug)]
pub struct Medium {
    text: String,
    spec: &'static MediumSpec,
    plan: Box<dyn MediumPlan>,
}

impl Medium {
    /// Parses the text that describes a medium, such as `ethernet10`, `switch:100M` or `wan:delay=50ms,loss=1%`.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: String| TestbedError::Medium { text: text.into(), why };
        let mut arguments = Arguments::parse(text).map_err(wrong)?;
        let Some(spec) = MEDIA.iter().find(|spec| spec.name == arguments.name) else {
            let names = MEDIA.iter().map(|m| m.name).collect::<Vec<_>>().join(", ");
            return Err(wrong(format!("the media are {names}")));
        };
        let plan = (spec.plan)(&mut arguments).map_err(wrong)?;
        arguments.finish().map_err(wrong)?;
        Ok(Self { text: text.into(), spec, plan })
    }

    /// Returns the text from which the medium was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the medium's row in [`MEDIA`].
    pub fn spec(&self) -> &'static MediumSpec {
        self.spec
    }

    pub(crate) fn hosts_apart(&self) -> bool {
        self.plan.hosts_apart()
    }

    pub(crate) fn join(&self, net: &Net) -> Result<Box<dyn BuiltMedium>> {
        self.plan.join(net)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_medium_accepts_its_name_and_refuses_unknown_arguments() {
        for spec in MEDIA {
            Medium::parse(spec.name).unwrap();
            let error = Medium::parse(&format!("{}:nonsense=1", spec.name)).unwrap_err().to_string();
            assert!(error.contains("nonsense"), "{error}");
        }
        assert!(Medium::parse("token-ring").unwrap_err().to_string().contains("ethernet10"));
    }

    #[test]
    fn invalid_arguments_are_refused() {
        for text in ["switch:fast", "wan:loss=200%", "wan:jitter=20ms,delay=10ms", "ethernet10:kernel", "loopback:1"] {
            assert!(Medium::parse(text).is_err(), "{text}");
        }
    }
}
