//! Converts messages between JSON and protobuf's binary encoding. Source: "ProtoJSON Format" of the protobuf project.

use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use serde_json::Value;

use crate::error::{TypesError, words};
use crate::example::example;

/// Message types whose JSON form may be an array. If the message type is one of these, a JSON array is one message, not
/// a list of messages.
const ARRAYS: [&str; 2] = ["google.protobuf.ListValue", "google.protobuf.Value"];

/// Converts each message in a JSON text to protobuf's binary encoding.
pub(crate) fn messages(kind: &MessageDescriptor, json: &str) -> Result<Vec<Vec<u8>>, TypesError> {
    let fails = |place: String, why: &str| TypesError::NoMessage {
        message: words(kind.full_name()),
        place,
        why: words(why),
        example: example(kind),
    };
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(json).into_iter().collect();
    let mut values = values.map_err(|error| fails(String::new(), &error.to_string()))?;
    if let [Value::Array(several)] = &mut values[..]
        && !ARRAYS.contains(&kind.full_name())
    {
        values = std::mem::take(several);
    }
    let count = values.len();
    let encode = |(at, value)| {
        let place = if count > 1 { format!(" (message {})", at + 1) } else { String::new() };
        let message = DynamicMessage::deserialize(kind.clone(), value);
        message
            .map(|message| message.encode_to_vec())
            .map_err(|error: serde_json::Error| fails(place, &error.to_string()))
    };
    values.into_iter().enumerate().map(encode).collect()
}

/// Converts a message from protobuf's binary encoding to JSON.
pub(crate) fn text(kind: &MessageDescriptor, bytes: &[u8]) -> Result<String, TypesError> {
    let wrong = |why: String| TypesError::Unusable(format!("no message of {}: {}", kind.full_name(), words(&why)));
    let message = DynamicMessage::decode(kind.clone(), bytes).map_err(|error| wrong(error.to_string()))?;
    serde_json::to_string(&message).map_err(|error| wrong(error.to_string()))
}
