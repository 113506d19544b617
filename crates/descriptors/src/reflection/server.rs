//! Server side of reflection, for loadline's own servers.

use std::collections::BTreeSet;

use prost::Message as _;
use prost_types::FileDescriptorProto;

use super::messages::{Answer, ErrorAnswer, FileList, PATHS, Question, Request, Response, ServiceList, ServiceName};
use crate::error::TypesError;
use crate::sources::from_text;

/// Status `NOT_FOUND` of gRPC.
const NOT_FOUND: i32 = 5;
/// Status `INVALID_ARGUMENT` of gRPC.
const INVALID_ARGUMENT: i32 = 3;

/// Descriptions of a server's services, which the server gives to its clients.
#[derive(Clone, Debug)]
pub struct Reflection {
    files: Vec<FileDescriptorProto>,
}

impl Reflection {
    /// Describes the services in a proto file of this program.
    pub fn new(name: &'static str, text: &'static str) -> Result<Self, TypesError> {
        Ok(Self { files: from_text(name, text)? })
    }

    /// Returns true if a call of this path asks for descriptions.
    pub fn is_asked_by(path: &str) -> bool {
        PATHS.contains(&path)
    }

    /// Answers one message of a client.
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

    /// Returns the first file for which `is_right` returns true, and all files that it imports.
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

/// Returns true if a file defines this service, one of its methods, or this message at the top level.
fn defines(file: &FileDescriptorProto, symbol: &str) -> bool {
    let messages = file.message_type.iter().map(|message| format!("{}.{}", file.package(), message.name()));
    let is_method = |service: &str| symbol.strip_prefix(service).is_some_and(|rest| rest.starts_with('.'));
    messages.chain(services_of(file)).any(|name| name == symbol) || services_of(file).any(|name| is_method(&name))
}
