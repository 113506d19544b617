//! Server side of reflection, for loadline's own servers.

use std::collections::BTreeSet;

use prost::Message as _;
use prost_types::FileDescriptorProto;

use super::messages::{Answer, ErrorAnswer, FileList, PATHS, Question, Request, Response, ServiceList, ServiceName};
use crate::error::TypesError;
use crate::sources::from_text;

/// gRPC status code `NOT_FOUND`.
const NOT_FOUND: i32 = 5;
/// gRPC status code `INVALID_ARGUMENT`.
const INVALID_ARGUMENT: i32 = 3;

/// Descriptions of a server's services, which the server sends to clients that ask for them.
#[derive(Clone, Debug)]
pub struct Reflection {
    files: Vec<FileDescriptorProto>,
}

impl Reflection {
    /// Creates descriptions of the services in the proto file `text`, which is part of the loadline program.
    pub fn new(name: &'static str, text: &'static str) -> Result<Self, TypesError> {
        Ok(Self { files: from_text(name, text)? })
    }

    /// Returns true if `path` is the path of a gRPC call that asks for descriptions.
    pub fn is_asked_by(path: &str) -> bool {
        PATHS.contains(&path)
    }

    /// Returns the answer to a client's message `request`.
    pub fn answer(&self, request: &[u8]) -> Vec<u8> {
        let question = Request::decode(request).ok().and_then(|request| request.question);
        let answer = match &question {
            Some(Question::Services(_)) => self.services(),
            Some(Question::FileByName(name)) => self.with_imports(|file| file.name() == name),
            Some(Question::FileOfSymbol(symbol)) => self.with_imports(|file| defines(file, symbol)),
            None => refusal(INVALID_ARGUMENT, "no question that this server knows"),
        };
        Response { answer: Some(answer) }.encode_to_vec()
    }

    fn services(&self) -> Answer {
        let names = self.files.iter().flat_map(services_of);
        Answer::Services(ServiceList { services: names.map(|name| ServiceName { name }).collect() })
    }

    /// Returns an answer with the first file for which `is_right` returns true, and all files that this file imports.
    fn with_imports(&self, is_right: impl Fn(&FileDescriptorProto) -> bool) -> Answer {
        let Some(first) = self.files.iter().find(|file| is_right(file)) else {
            return refusal(NOT_FOUND, "not found");
        };
        let (mut left, mut names) = (vec![first.name()], BTreeSet::new());
        let mut files = Vec::new();
        while let Some(name) = left.pop() {
            if let Some(file) = self.files.iter().find(|file| file.name() == name).filter(|_| names.insert(name)) {
                files.push(file.encode_to_vec());
                left.extend(file.dependency.iter().map(String::as_str));
            }
        }
        Answer::Files(FileList { files })
    }
}

fn refusal(code: i32, message: &str) -> Answer {
    Answer::Error(ErrorAnswer { code, message: message.into() })
}

fn services_of(file: &FileDescriptorProto) -> impl Iterator<Item = String> {
    file.service.iter().map(|service| format!("{}.{}", file.package(), service.name()))
}

/// Returns true if `symbol` is the full name of a service, a method, or a message at the top level that the file
/// defines.
fn defines(file: &FileDescriptorProto, symbol: &str) -> bool {
    let messages = file.message_type.iter().map(|message| format!("{}.{}", file.package(), message.name()));
    let is_method = |service: &str| symbol.strip_prefix(service).is_some_and(|rest| rest.starts_with('.'));
    messages.chain(services_of(file)).any(|name| name == symbol) || services_of(file).any(|name| is_method(&name))
}
