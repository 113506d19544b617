//! One request of a set.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// Decodes a base64 text; `None` if it is invalid.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.trim()).ok()
}

/// Encodes bytes as base64.
pub fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// One request of a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RequestPlan {
    /// Name; if empty, the method and the path without its query are the name.
    pub name: String,
    /// Class for separate results; if empty, the name is also the class.
    pub class: String,
    /// Relative frequency of the request. A request with frequency 0 is never sent.
    pub weight: f64,
    /// Method: `GET`, `HEAD`, `POST` or any other token.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// True if the request has no `User-Agent`, as with `curl -H 'User-Agent:'`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_user_agent: bool,
    /// Body as text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Body in base64, if the body is not text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body_base64: String,
    /// The only right status of the answer; absent if 2xx and 3xx are right. Older versions accepted this status
    /// besides 2xx and 3xx.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_status: Option<u16>,
    /// Status that is right besides 2xx and 3xx, because the server gave it in a log or recording; absent for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_status: Option<u16>,
    /// Text that the body of the response must contain.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub expect_text: String,
    /// Sources of the values that replace `{{name}}` in later requests of the connection, by name. A source is a part
    /// of the response: `json:/pointer` (RFC 6901) or `header:Name`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub capture: BTreeMap<String, String>,
}

impl Default for RequestPlan {
    fn default() -> Self {
        Self {
            name: String::new(),
            class: String::new(),
            weight: 1.0,
            method: "GET".into(),
            path: "/".into(),
            headers: Vec::new(),
            without_user_agent: false,
            body: String::new(),
            body_base64: String::new(),
            expect_status: None,
            accept_status: None,
            expect_text: String::new(),
            capture: BTreeMap::new(),
        }
    }
}

impl RequestPlan {
    /// Sets the body: as text if it is valid UTF-8, otherwise in base64.
    pub fn set_body(&mut self, bytes: &[u8]) {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.body = text.into(),
            Err(_) => self.body_base64 = to_base64(bytes),
        }
    }

    /// Returns true if the request has a body.
    pub fn has_body(&self) -> bool {
        !self.body.is_empty() || !self.body_base64.is_empty()
    }

    /// Returns the request's name. For a request without a name, returns the method and the path without the query.
    pub fn called(&self) -> String {
        match self.name.is_empty() {
            false => self.name.clone(),
            true => format!("{} {}", self.method, self.path.split(['?', '#']).next().unwrap_or_default()),
        }
    }

    /// Returns the name of the class.
    pub fn class_name(&self) -> String {
        if self.class.is_empty() { self.called() } else { self.class.clone() }
    }
}
