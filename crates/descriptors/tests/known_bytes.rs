//! Tests that messages from JSON are encoded to known bytes, and that wrong messages and paths are refused. The bytes
//! of `id`, `name` and `items` are the examples of "Encoding" in the protobuf documentation.

#![allow(clippy::unwrap_used)]

use descriptors::{Method, Sources, Types, from_files};

const PROTO: &str = r#"syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "types/kind.proto";
service Orders {
  rpc Place(Order) returns (Receipt);
  rpc Follow(stream Order) returns (stream Receipt);
}
message Order {
  int32 id = 1;
  string name = 2;
  repeated int32 items = 4;
  map<string, uint32> counts = 5;
  kinds.Kind kind = 6;
  google.protobuf.Timestamp at = 7;
  optional bool gift = 8;
  oneof pay { string card = 9; double cash = 10; }
  Order next = 11;
  bytes raw = 12;
  sint32 change_by = 13;
}
message Receipt { uint64 number = 1; }"#;

const KINDS: &str = r#"syntax = "proto3"; package kinds; enum Kind { NONE = 0; BOOK = 1; }"#;

/// Reads the types from proto files in a folder.
fn types() -> Types {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("imports/types")).unwrap();
    std::fs::write(dir.path().join("imports/types/kind.proto"), KINDS).unwrap();
    std::fs::write(dir.path().join("shop.proto"), PROTO).unwrap();
    let path = |name: &str| [dir.path().join(name).display().to_string()];
    let (protos, import_dirs) = (path("shop.proto"), path("imports"));
    from_files(Sources { protos: &protos, import_dirs: &import_dirs, sets: &[] }).unwrap()
}

fn place() -> Method {
    types().method("/shop.Orders/Place").unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn json_becomes_the_bytes_of_the_wire_format() {
    let method = place();
    for (json, bytes) in [
        ("{}", ""),
        (r#"{"id": 150}"#, "089601"),
        (r#"{"name": "testing"}"#, "120774657374696e67"),
        (r#"{"items": [3, 270, 86942]}"#, "2206038e029ea705"),
        (r#"{"counts": {"a": 7}}"#, "2a050a01611007"),
        (r#"{"kind": "BOOK"}"#, "3001"),
        (r#"{"kind": 1}"#, "3001"),
        (r#"{"at": "1970-01-01T00:00:01.5Z"}"#, "3a0808011080cab5ee01"),
        (r#"{"gift": false}"#, "4000"),
        (r#"{"cash": 1.0}"#, "51000000000000f03f"),
        (r#"{"next": {"id": 1}}"#, "5a020801"),
        (r#"{"raw": "AAH/"}"#, "62030001ff"),
        (r#"{"changeBy": -2}"#, "6803"),
        (r#"{"change_by": "-2"}"#, "6803"),
        (r#"{"id": null}"#, ""),
    ] {
        assert_eq!(method.encode(json).unwrap().iter().map(|b| hex(b)).collect::<Vec<_>>(), [bytes], "{json}");
    }
    assert_eq!(method.decode_answer(&[8, 0x96, 1]).unwrap(), r#"{"number":"150"}"#);
}

#[test]
fn several_messages_are_for_methods_that_take_a_stream() {
    let follow = types().method("/shop.Orders/Follow").unwrap();
    for json in [r#"[{"id": 1}, {"id": 2}]"#, r#"{"id": 1} {"id": 2}"#] {
        assert_eq!(follow.encode(json).unwrap(), [[8, 1], [8, 2]]);
        let error = place().encode(json).unwrap_err().to_string();
        assert!(error.contains("has 2 messages, but shop.Orders.Place takes one message"), "{error}");
    }
    assert_eq!(place().encode(r#"[{"id": 1}]"#).unwrap(), [[8, 1]]);
    assert!(follow.encode("[]").unwrap_err().to_string().contains("at least one message"));
    let many = format!("[{}]", vec!["{}"; run::MAX_MESSAGES + 1].join(","));
    assert!(follow.encode(&many).unwrap_err().to_string().contains("at most 10,000"));
}

#[test]
fn an_error_names_the_message_and_shows_its_form() {
    for (json, says) in [
        (r#"{"idd": 1}"#, "idd"),
        (r#"{"id": "x"}"#, "shop.Order: "),
        (r#"{"id": 3000000000}"#, "shop.Order: "),
        (r#"{"id": 1"#, "EOF"),
        ("7", "shop.Order: "),
        (r#"[{}, {"id": []}]"#, "shop.Order (message 2): "),
        (r#"{"kind": "CAR"}"#, "CAR"),
    ] {
        let error = place().encode(json).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains(r#"its form is {"id":0,"name":"""#), "{json}: {error}");
    }
    let deep = format!("{}1{}", r#"{"next":"#.repeat(10_000), "}".repeat(10_000));
    assert!(place().encode(&deep).unwrap_err().to_string().contains("recursion limit"));
}

/// The message type contains itself, so the example must end at the maximum depth.
#[test]
fn an_example_has_every_field_and_can_be_sent() {
    let example = place().example();
    for field in ["\"items\":[0]", "\"counts\":{}", "\"kind\":\"NONE\"", "\"card\":\"\"", "\"next\":{\"id\":0"] {
        assert!(example.contains(field), "{field}: {example}");
    }
    assert!(!example.contains("cash"), "only one alternative can be sent: {example}");
    place().encode(&example).unwrap();
}

#[test]
fn a_wrong_path_suggests_the_nearest_name() {
    for (path, says) in [
        ("/shop.Order/Place", "no service shop.Order (did you mean shop.Orders?)"),
        ("/shop.Orders/Plaze", "no method Plaze (did you mean Place?); it has Place, Follow"),
        ("/shop.Orders", "names no method"),
        ("/shop.Orders/", "names no method"),
        ("shop", "names no method"),
    ] {
        let error = types().method(path).unwrap_err().to_string();
        assert!(error.contains(says), "{path}: {error}");
    }
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let error = |name: &str, text: &str, is_set: bool| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        let (path, none) = ([path.display().to_string()], Vec::new());
        let (protos, sets) = if is_set { (&none[..], &path[..]) } else { (&path[..], &none[..]) };
        from_files(Sources { protos, import_dirs: &[], sets }).unwrap_err().to_string()
    };
    assert!(error("a.proto", "syntax = \"proto3\"; import \"none.proto\";", false).contains("none.proto"));
    assert!(error("b.proto", "message {", false).contains("b.proto"));
    assert!(error("c.binpb", "no set", true).contains("c.binpb is no descriptor set"));
    assert!(error("d.binpb", "", true).contains("it has no file"));
    let none = ["/no/such/file".to_owned()];
    for sources in
        [Sources { protos: &none, import_dirs: &[], sets: &[] }, Sources { protos: &[], import_dirs: &[], sets: &none }]
    {
        assert!(from_files(sources).unwrap_err().to_string().contains("cannot read /no/such/file"));
    }
}
