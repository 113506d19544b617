//! Table of the formats of request files.

mod csv;
mod curl;
mod har;
mod json;
mod statements;
mod toml;
mod urls;
mod vegeta;
mod vegeta_http;
mod words;

pub use curl::command;
pub(crate) use toml::is_json_array;
pub use toml::to_toml;

use crate::row::FormatSpec;

/// Every format that `--requests` reads. loadline tries the formats in this order, and uses the first format that
/// matches.
pub const FORMATS: &[FormatSpec] =
    &[har::FORMAT, vegeta::FORMAT, curl::FORMAT, statements::FORMAT, toml::FORMAT, csv::FORMAT, urls::FORMAT];
