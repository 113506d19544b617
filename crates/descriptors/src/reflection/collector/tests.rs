//! Tests of the client side of server reflection, with answers of correct servers and of hostile servers.

use super::*;
use crate::reflection::Reflection;
use crate::reflection::messages::{ErrorAnswer, FileList, ServiceList, ServiceName};

const PROTO: &str = r#"syntax = "proto3";
package a;
import "google/protobuf/timestamp.proto";
service S { rpc M(Q) returns (stream Q); }
message Q { google.protobuf.Timestamp at = 1; Q next = 2; }"#;

fn answer(answer: Answer) -> Vec<u8> {
    Response { answer: Some(answer) }.encode_to_vec()
}

fn file(name: &str, imports: &[&str]) -> Vec<u8> {
    let dependency = imports.iter().map(|name| (*name).to_owned()).collect();
    FileDescriptorProto { name: Some(name.into()), dependency, ..FileDescriptorProto::default() }.encode_to_vec()
}

fn files(files: &[Vec<u8>]) -> Vec<u8> {
    answer(Answer::Files(FileList { files: files.to_vec() }))
}

/// Returns the types that result from `answers`. Answer number n is the answer to every question of round n.
fn collected(answers: &[Vec<u8>]) -> Result<Types, ReflectionError> {
    let mut collector = Collector::new(["a.S"]);
    for answer in answers {
        let questions = collector.requests().len();
        collector.read(&vec![answer.as_slice(); questions])?;
    }
    collector.types()
}

/// Client and server are loadline's own. The test removes imported files from the answers, so the client must ask for
/// each imported file.
#[test]
fn a_server_is_described_with_all_imports() {
    let server = Reflection::new("a.proto", PROTO).unwrap();
    let names = services(&server.answer(&list_request())).unwrap();
    assert_eq!(names, ["a.S"]);
    let mut collector = Collector::new(names.iter().map(String::as_str));
    let mut rounds = 0;
    while let requests @ [_, ..] = &collector.requests()[..] {
        let answers: Vec<Vec<u8>> = requests.iter().map(|request| server.answer(request)).collect();
        // The first file of an answer is the requested file. The test removes all other files from the answer.
        let first = |bytes: &Vec<u8>| match Response::decode(&bytes[..]).unwrap().answer {
            Some(Answer::Files(list)) => files(&list.files[..1]),
            other => panic!("{other:?}"),
        };
        let answers: Vec<Vec<u8>> = answers.iter().map(first).collect();
        collector.read(&answers.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        rounds += 1;
    }
    assert_eq!(rounds, 2);
    let method = collector.types().unwrap().method("/a.S/M").unwrap();
    assert!(method.streams_answers() && !method.streams_requests());
    assert_eq!(method.encode(r#"{"at": "1970-01-01T00:00:07Z"}"#).unwrap(), [[0x0a, 2, 8, 7]]);
}

#[test]
fn refusals_are_told_without_control_characters() {
    let refusal = ErrorAnswer { code: 5, message: "no\n\u{1b}[31msuch".into() };
    let error = collected(&[answer(Answer::Error(refusal))]).unwrap_err().to_string();
    assert!(error.contains("refuses reflection of a.S: \"no [31msuch\" (gRPC status 5)"), "{error}");
}

#[test]
fn hostile_answers_are_errors() {
    let too_many: Vec<Vec<u8>> = (0..=MAX_FILES).map(|n| file(&n.to_string(), &[])).collect();
    let imports: Vec<String> = (0..MAX_FILES).map(|n| format!("{n}.proto")).collect();
    let imports: Vec<&str> = imports.iter().map(String::as_str).collect();
    let large = FileDescriptorProto { package: Some("p".repeat(MAX_ANSWER_BYTES)), ..FileDescriptorProto::default() };
    let large = FileDescriptorProto { name: Some("x".into()), ..large }.encode_to_vec();
    let services = answer(Answer::Services(ServiceList::default()));
    for (answers, says) in [
        (vec![vec![0xff; 9]], "wrong: "),
        (vec![Vec::new()], "it is empty"),
        (vec![services], "it has no files"),
        (vec![files(&[vec![0xff]])], "wrong: "),
        (vec![files(&[Vec::new()])], "without a name"),
        (vec![files(&[file(&"n".repeat(MAX_NAME_BYTES + 1), &[])])], "endless"),
        (vec![files(&[file("a", &[&"n".repeat(MAX_NAME_BYTES + 1)])])], "endless name"),
        (vec![files(&too_many)], "more than 1000 files"),
        (vec![files(&[file("a", &imports)])], "more than 1000 files"),
        (vec![files(&[large])], "more than 16777216 bytes"),
        // The server never sends the requested file `b`.
        (vec![files(&[file("a", &["b"])]), files(&[file("a", &["b"])])], "\"b\" does not come"),
        (vec![files(&[file("a", &["b"]), file("b", &["a"])])], "in a cycle"),
        (vec![files(&[file("a", &["a"])])], "in a cycle"),
    ] {
        let error = collected(&answers).unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
    let endless: Vec<Vec<u8>> =
        (0..MAX_ROUNDS + 2).map(|n| files(&[file(&n.to_string(), &[&(n + 1).to_string()])])).collect();
    assert!(collected(&endless).unwrap_err().to_string().contains("more than 50 rounds"));
}

#[test]
fn names_of_services_are_checked() {
    let listed = |names: &[&str]| {
        let named = |name: &&str| ServiceName { name: (*name).to_owned() };
        services(&answer(Answer::Services(ServiceList { services: names.iter().map(named).collect() })))
    };
    assert_eq!(listed(&["a.S", "b_2.T"]).unwrap(), ["a.S", "b_2.T"]);
    for wrong in [&[""][..], &["a\u{1b}"], &["a b"], &["x"; MAX_SERVICES + 1]] {
        assert!(listed(wrong).is_err());
    }
}
