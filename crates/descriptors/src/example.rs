//! Examples of messages as JSON.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

/// Maximum depth of nested messages in an example. Without a maximum, a type that contains itself would never end.
const MAX_DEPTH: usize = 3;
/// Maximum number of fields in an example. An example leaves out all further fields.
const MAX_FIELDS: usize = 60;

/// Returns an example of a message as one line of JSON. Each field has the default value of its type, such as the first
/// name of an enumeration. The fields are in the order of their field numbers.
pub(crate) fn example(kind: &MessageDescriptor) -> String {
    let mut fields_left = MAX_FIELDS;
    message(kind, MAX_DEPTH, &mut fields_left)
}

fn message(kind: &MessageDescriptor, depth: usize, fields_left: &mut usize) -> String {
    match kind.full_name() {
        "google.protobuf.Timestamp" => return r#""2026-01-01T00:00:00Z""#.into(),
        "google.protobuf.Duration" => return r#""1s""#.into(),
        "google.protobuf.FieldMask" => return r#""""#.into(),
        "google.protobuf.ListValue" => return "[]".into(),
        "google.protobuf.Any" => return r#"{"@type":"type.googleapis.com/package.Message"}"#.into(),
        // In JSON, a wrapper type looks like its only field. A hostile server can describe a wrapper that contains
        // itself.
        name if name.starts_with("google.protobuf.") && name.ends_with("Value") && depth > 0 => {
            let field = kind.get_field_by_name("value");
            return field.map_or("null".into(), |field| single(&field.kind(), depth, fields_left));
        }
        "google.protobuf.Struct" | "google.protobuf.Empty" => return "{}".into(),
        _ => {}
    }
    let mut fields = Vec::new();
    for field in kind.fields().filter(is_first_alternative) {
        if *fields_left == 0 || depth == 0 {
            break;
        }
        *fields_left -= 1;
        // A field's name may contain any characters, so it is escaped as a JSON string.
        let name = serde_json::Value::from(field.json_name());
        fields.push(format!("{name}:{}", of_field(&field, depth, fields_left)));
    }
    format!("{{{}}}", fields.join(","))
}

/// Returns true unless the field is a later alternative of a `oneof`, because a message can contain only one
/// alternative.
fn is_first_alternative(field: &FieldDescriptor) -> bool {
    let first = field.containing_oneof().and_then(|oneof| oneof.fields().next());
    first.is_none_or(|first| first.number() == field.number())
}

fn of_field(field: &FieldDescriptor, depth: usize, fields_left: &mut usize) -> String {
    match field.kind() {
        _ if field.is_map() => "{}".into(),
        kind if field.is_list() => format!("[{}]", single(&kind, depth, fields_left)),
        kind => single(&kind, depth, fields_left),
    }
}

fn single(kind: &Kind, depth: usize, fields_left: &mut usize) -> String {
    let text = match kind {
        Kind::Double | Kind::Float => "0.0",
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 | Kind::Uint32 | Kind::Fixed32 => "0",
        // JSON numbers cannot represent all 64-bit integers exactly, so protobuf writes 64-bit integers as strings.
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 | Kind::Uint64 | Kind::Fixed64 => r#""0""#,
        Kind::Bool => "false",
        // In JSON, a field of type `bytes` is a base64 string.
        Kind::String | Kind::Bytes => r#""""#,
        Kind::Enum(kind) => return format!("{:?}", kind.default_value().name()),
        Kind::Message(kind) => return message(kind, depth.saturating_sub(1), fields_left),
    };
    text.into()
}
