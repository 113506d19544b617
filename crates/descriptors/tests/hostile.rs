//! Tests with descriptors that a hostile server could send. No descriptor may cause a panic, and every malformed
//! descriptor must cause an error.

#![allow(clippy::unwrap_used)]

mod feed;

use descriptors::Types;
use proptest::prelude::*;
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FieldOptions, FileDescriptorProto, MessageOptions, MethodDescriptorProto,
    ServiceDescriptorProto, UninterpretedOption,
};

fn field(name: &str, number: i32, kind: Type, type_name: &str) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        label: Some(Label::Optional.into()),
        r#type: Some(kind.into()),
        type_name: Some(type_name.to_owned()).filter(|name| !name.is_empty()),
        ..FieldDescriptorProto::default()
    }
}

fn message(name: &str, field: Vec<FieldDescriptorProto>) -> DescriptorProto {
    DescriptorProto { name: Some(name.into()), field, ..DescriptorProto::default() }
}

/// Returns a descriptor of a proto file with a service. The requests and the answers of the service's only method have
/// the first message type.
fn file(messages: Vec<DescriptorProto>) -> FileDescriptorProto {
    let kind = messages.first().map(|message| format!(".p.{}", message.name()));
    let method = MethodDescriptorProto {
        name: Some("M".into()),
        input_type: kind.clone(),
        output_type: kind,
        ..MethodDescriptorProto::default()
    };
    let service = ServiceDescriptorProto { name: Some("S".into()), method: vec![method], options: None };
    FileDescriptorProto {
        name: Some("p.proto".into()),
        package: Some("p".into()),
        message_type: messages,
        service: vec![service],
        syntax: Some("proto3".into()),
        ..FileDescriptorProto::default()
    }
}

fn error(file: FileDescriptorProto) -> String {
    Types::new([file]).unwrap_err().to_string()
}

#[test]
fn wrong_types_and_names_are_errors() {
    let of = |field| file(vec![message("Q", vec![field])]);
    assert!(Types::new([of(field("a", 1, Type::Int32, ""))]).is_ok());
    let no_enum = of(FieldDescriptorProto { oneof_index: Some(7), ..field("a", 1, Type::Int32, "") });
    for (file, says) in [
        (of(field("a", 1, Type::Message, ".p.None")), "p.None"),
        (of(field("a", 0, Type::Int32, "")), "p.proto"),
        (no_enum, "p.proto"),
        (of(field("a\u{1b}[31m", 1, Type::Int32, "")), "is no identifier"),
        (file(vec![message("Q", vec![]), message("Q", vec![])]), "p.proto"),
        (file(vec![message("", vec![])]), "is no identifier"),
        (FileDescriptorProto { syntax: Some("proto4".into()), ..file(vec![message("Q", vec![])]) }, "neither proto2"),
        (FileDescriptorProto { syntax: Some("editions".into()), ..file(vec![message("Q", vec![])]) }, "edition"),
    ] {
        let error = error(file);
        assert!(error.contains(says) && !error.contains('\u{1b}'), "{says}: {error}");
    }
}

/// The library `prost_reflect` assumes, without a check, that a map entry has a key and a value.
#[test]
fn malformed_map_entries_are_errors() {
    let (key, value) = (field("key", 1, Type::String, ""), field("value", 2, Type::Int32, ""));
    let with_entry = |fields: Vec<FieldDescriptorProto>| {
        let options = Some(MessageOptions { map_entry: Some(true), ..MessageOptions::default() });
        let entry = DescriptorProto { options, ..message("AEntry", fields) };
        let mut all = field("a", 1, Type::Message, ".p.Q.AEntry");
        all.label = Some(Label::Repeated.into());
        file(vec![DescriptorProto { nested_type: vec![entry], ..message("Q", vec![all]) }])
    };
    let method = Types::new([with_entry(vec![key.clone(), value.clone()])]).unwrap().method("/p.S/M").unwrap();
    assert_eq!(method.encode(r#"{"a": {"k": 7}}"#).unwrap(), [[0x0a, 5, 0x0a, 1, b'k', 0x10, 7]]);
    for fields in [
        vec![],
        vec![key.clone()],
        vec![key.clone(), key.clone()],
        vec![field("key", 1, Type::Double, ""), value.clone()],
        vec![field("key", 1, Type::Message, ".p.Q"), value.clone()],
        vec![field("key", 3, Type::String, ""), value.clone()],
        vec![key.clone(), value.clone(), field("more", 3, Type::Int32, "")],
    ] {
        assert!(error(with_entry(fields)).contains("malformed"));
    }
}

/// Options and default values must be ignored, whatever they contain.
#[test]
fn options_are_not_interpreted() {
    let option = UninterpretedOption { identifier_value: Some("x".into()), ..UninterpretedOption::default() };
    let options = Some(FieldOptions { uninterpreted_option: vec![option], ..FieldOptions::default() });
    let odd = FieldDescriptorProto { options, default_value: Some("x".into()), ..field("a", 1, Type::Int32, "") };
    let proto2 = FileDescriptorProto { syntax: Some(String::new()), ..file(vec![message("Q", vec![odd])]) };
    let method = Types::new([proto2]).unwrap().method("/p.S/M").unwrap();
    assert_eq!(method.encode(r#"{"a": 7}"#).unwrap(), [[8, 7]]);
}

/// A hostile file can give the name of a well-known type to any message.
#[test]
fn wrong_well_known_types_are_no_panic() {
    for name in ["Timestamp", "Duration", "Any", "Struct", "Value", "ListValue", "FieldMask", "Int32Value", "Empty"] {
        let odd = message(
            name,
            vec![
                field("seconds", 1, Type::String, ""),
                field("value", 2, Type::Message, ".google.protobuf.Int32Value"),
            ],
        );
        let other = message("Int32Value", vec![field("value", 1, Type::Message, ".google.protobuf.Int32Value")]);
        let messages = if name == "Int32Value" { vec![other] } else { vec![odd, other] };
        let mut file = file(messages);
        file.package = Some("google.protobuf".into());
        let kind = Some(format!(".google.protobuf.{name}"));
        (file.service[0].method[0].input_type, file.service[0].method[0].output_type) = (kind.clone(), kind);
        let Ok(types) = Types::new([file]) else { continue };
        let method = types.method("/google.protobuf.S/M").unwrap();
        method.example();
        for json in [
            "{}",
            "7",
            "\"1970-01-01T00:00:01Z\"",
            "\"1s\"",
            "[]",
            r#"{"a": [1, {"b": null}]}"#,
            r#"{"@type": "x/p.Q"}"#,
        ] {
            let _ = method.encode(json);
        }
        for bytes in [&b""[..], b"\x08\x01", b"\x0a\x01x", b"\x12\x02\x08\x01"] {
            let _ = method.decode_answer(bytes);
        }
    }
}

proptest! {
    /// Tests a compiled proto file in which a few bytes were changed. If types can be built from the changed file,
    /// using these types must not cause a panic.
    #[test]
    fn changed_descriptors_are_no_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let nested = DescriptorProto {
            options: Some(MessageOptions { map_entry: Some(true), ..MessageOptions::default() }),
            ..message("AEntry", vec![field("key", 1, Type::String, ""), field("value", 2, Type::Message, ".p.Q")])
        };
        let mut map = field("a", 1, Type::Message, ".p.Q.AEntry");
        map.label = Some(Label::Repeated.into());
        let whole = DescriptorProto {
            nested_type: vec![nested],
            ..message("Q", vec![map, field("b", 2, Type::Group, ".p.Q"), field("c", 3, Type::Bytes, "")])
        };
        let mut bytes = file(vec![whole]).encode_to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let json = r#"{"a": {"x": {"c": "AA=="}}, "b": {}}"#;
        for bytes in [&bytes, &set(&bytes), &answer(&bytes)] {
            feed::descriptors(bytes, json);
        }
    }
}

/// Encodes a protobuf field with the given number, whose value is `bytes`.
fn delimited(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    prost::encode_length_delimiter(bytes.len(), &mut field).unwrap();
    field.extend_from_slice(bytes);
    field
}

/// Returns a descriptor set (a file of compiled proto files) that contains one compiled proto file.
fn set(file: &[u8]) -> Vec<u8> {
    delimited(1, file)
}

/// Returns an answer of server reflection that contains one compiled proto file.
fn answer(file: &[u8]) -> Vec<u8> {
    delimited(4, &delimited(1, file))
}

/// The unchanged file can be read in all three ways. The test with changed files therefore also reaches the code that
/// uses the types.
#[test]
fn each_way_to_read_descriptors_is_covered() {
    let bytes = file(vec![message("Q", vec![field("c", 3, Type::Bytes, "")])]).encode_to_vec();
    for (bytes, way) in [(&bytes, "file"), (&set(&bytes), "set"), (&answer(&bytes), "answer")] {
        assert_eq!(feed::descriptors(bytes, r#"{"c": "AA=="}"#), 1, "{way}");
    }
    let listed = delimited(6, &delimited(1, &delimited(1, b"p.S")));
    assert_eq!(descriptors::reflection::services(&listed).unwrap(), ["p.S"]);
}
