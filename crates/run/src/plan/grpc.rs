//! gRPC calls of a load.

use serde::{Deserialize, Serialize};

use super::error::{PlanError, range};
use crate::skip_empty;

/// Longest deadline of a call, seconds. A deadline of this length still fits into the eight digits of the header
/// `grpc-timeout`.
const MAX_DEADLINE_S: f64 = 1e7;

/// gRPC call of a load. Every request of the load is one gRPC call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GrpcPlan {
    /// Path of the called method: `/package.Service/Method`.
    pub path: String,
    /// Value of `:authority`.
    pub host: String,
    /// Metadata of each call, in order.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// File with the encoded message; absent for an empty message or one from JSON.
    #[serde(default)]
    pub body_file: Option<String>,
    /// gRPC status that is expected besides 0; absent for none.
    #[serde(default)]
    pub expect_status: Option<u16>,
    /// Messages of each call as JSON: one message, several one after the other, or an array. `@FILE` reads the messages
    /// from a file. The types come from `proto_files` and `descriptor_sets`, or else from the server by reflection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// Proto files with the types of the messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proto_files: Vec<String>,
    /// Folders in which imports of the proto files are searched, besides the folder of each file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proto_paths: Vec<String>,
    /// Descriptor sets (files that `protoc` made) with the types of the messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub descriptor_sets: Vec<String>,
    /// Encoded messages of each call, in base64. loadline encodes them from `json` before a load; a stored run does not
    /// have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// True to compress the messages of the calls with gzip, and to accept compressed answers.
    #[serde(default, skip_serializing_if = "skip_empty::is_false")]
    pub gzip: bool,
    /// Time after which the server shall give up a call, seconds (header `grpc-timeout`); absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_s: Option<f64>,
}

impl GrpcPlan {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        let deadline_s = self.deadline_s.unwrap_or(1.0);
        let is_time = (1e-6..=MAX_DEADLINE_S).contains(&deadline_s);
        range(is_time, "load.protocol.deadline_s", deadline_s, "give 1 microsecond to 100 days")
    }

    /// Returns the call without its encoded messages, for a stored plan.
    #[must_use]
    pub fn abridged(mut self) -> Self {
        self.messages.clear();
        self
    }
}
