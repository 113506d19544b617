//! Units of the figures in the findings. `run.json` contains each unit's symbol.

use serde::{Deserialize, Serialize};

/// Unit of a figure in the findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum FigureUnit {
    /// A duration in microseconds.
    #[serde(rename = "us")]
    Micros,
    /// Events per second.
    #[serde(rename = "/s", alias = "1/s")]
    PerSecond,
    /// Number of bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Mean bytes per request.
    #[serde(rename = "B per request")]
    BytesPerRequest,
    /// A size in bytes, written with binary prefixes (KiB).
    #[serde(rename = "B, binary")]
    Size,
    /// A share from 0 to 1.
    #[serde(rename = "share")]
    Share,
    /// Number of CPUs.
    #[serde(rename = "processors")]
    Cpus,
    /// Number of requests in flight.
    #[serde(rename = "requests")]
    Requests,
    /// Mean events per request.
    #[serde(rename = "per request")]
    PerRequest,
    /// Mean TLS handshakes per request.
    #[serde(rename = "handshakes per request")]
    HandshakesPerRequest,
    /// A count or a share, or a unit that this version does not know.
    #[default]
    #[serde(rename = "", other)]
    Plain,
}

impl FigureUnit {
    /// Returns the symbol used in `run.json` and in machine-readable output.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Micros => "us",
            Self::PerSecond => "/s",
            Self::Bytes => "B",
            Self::BytesPerSecond => "B/s",
            Self::BytesPerRequest => "B per request",
            Self::Size => "B, binary",
            Self::Share => "share",
            Self::Cpus => "processors",
            Self::Requests => "requests",
            Self::PerRequest => "per request",
            Self::HandshakesPerRequest => "handshakes per request",
            Self::Plain => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FigureUnit::{self, *};

    #[test]
    fn a_run_holds_the_symbol_and_an_unknown_one_is_a_plain_number() {
        let bytes = [Bytes, BytesPerSecond, BytesPerRequest, Size];
        let others = [Micros, PerSecond, Share, Cpus, Requests, PerRequest, HandshakesPerRequest, Plain];
        for unit in bytes.into_iter().chain(others) {
            assert_eq!(serde_json::to_value(unit).unwrap(), unit.symbol());
            assert_eq!(serde_json::from_value::<FigureUnit>(unit.symbol().into()).unwrap(), unit);
        }
        assert_eq!(serde_json::from_str::<FigureUnit>("\"1/s\"").unwrap(), PerSecond);
        assert_eq!(serde_json::from_str::<FigureUnit>("\"furlongs\"").unwrap(), Plain);
    }
}
