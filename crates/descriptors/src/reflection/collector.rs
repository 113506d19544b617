//! Client side of server reflection, without I/O: collects the proto files that define the given services, and all
//! files that these proto files import. The code limits and checks all data from the server.

use std::collections::BTreeSet;

use prost::Message as _;
use prost_types::FileDescriptorProto;

use super::messages::{Answer, MAX_ANSWER_BYTES, Question, Request, Response};
use crate::error::{TypesError, words};
use crate::graph::Files;
use crate::types::Types;

/// Maximum number of proto files that loadline accepts from a server.
const MAX_FILES: usize = 1000;
/// Maximum number of rounds of questions to a server. Each round asks for the files that the previous round's files
/// import. Most servers send all imported files in the first round.
const MAX_ROUNDS: usize = 50;
/// Maximum number of services that a server may list.
const MAX_SERVICES: usize = 1000;
/// Maximum length of the name of a service or file, bytes.
const MAX_NAME_BYTES: usize = 1000;

/// Error in a server's answer to a reflection request.
#[derive(Debug, thiserror::Error)]
pub enum ReflectionError {
    /// The server refused the request, for example because it does not know the requested name.
    #[error("the server refuses reflection of {name}: {why} (gRPC status {code})")]
    Refused {
        /// Requested name of a service or a file.
        name: String,
        /// gRPC status code in the server's answer.
        code: i32,
        /// Error message in the server's answer.
        why: String,
    },
    /// An answer is malformed.
    #[error("the server's answer to reflection is wrong: {0}; give --proto or --protoset instead")]
    Malformed(String),
    /// The answers exceed a limit of this crate, such as the maximum number of files.
    #[error("the server's answers to reflection exceed a limit: {0}; give --proto or --protoset instead")]
    Limit(String),
    /// No types can be built from the collected files.
    #[error("the server describes itself by reflection, but {0}; give --proto or --protoset instead")]
    Types(#[from] TypesError),
}

fn malformed(why: &str) -> ReflectionError {
    ReflectionError::Malformed(words(why))
}

/// Collects the proto files that define the given services. In each round, the caller sends the messages from
/// [`Collector::requests`] to the server, and passes the answers to [`Collector::read`]. The collection is complete
/// when there are no more requests.
#[derive(Debug, Default)]
pub struct Collector {
    files: Files,
    /// Questions of the current round.
    questions: Vec<Question>,
    asked: BTreeSet<String>,
    bytes: usize,
    rounds: usize,
}

impl Collector {
    /// Starts to collect the files that define `services`.
    pub fn new<'a>(services: impl IntoIterator<Item = &'a str>) -> Self {
        let questions = services.into_iter().map(|name| Question::FileOfSymbol(name.into())).collect();
        Self { questions, ..Self::default() }
    }

    /// Returns the messages for the server in the next round; empty if all files are known.
    pub fn requests(&self) -> Vec<Vec<u8>> {
        self.questions.iter().cloned().map(encoded).collect()
    }

    /// Reads the server's answers to one round of requests, in the order of the requests.
    pub fn read(&mut self, answers: &[&[u8]]) -> Result<(), ReflectionError> {
        let questions = std::mem::take(&mut self.questions);
        if answers.len() != questions.len() {
            return Err(malformed(&format!("{} answers to {} questions", answers.len(), questions.len())));
        }
        for (question, answer) in questions.iter().zip(answers) {
            match decoded(question, answer)? {
                Answer::Files(list) => list.files.iter().try_for_each(|file| self.add(file))?,
                _ => return Err(malformed("it has no files")),
            }
        }
        self.ask_for_imports()
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), ReflectionError> {
        let file = FileDescriptorProto::decode(bytes).map_err(|error| malformed(&error.to_string()))?;
        if file.name().is_empty() || file.name().len() > MAX_NAME_BYTES {
            return Err(malformed("a file without a name, or with an endless one"));
        }
        // A server may send a file several times, in different answers.
        if self.files.contains_key(file.name()) {
            return Ok(());
        }
        self.bytes = self.bytes.saturating_add(bytes.len());
        self.files.insert(file.name().to_owned(), file);
        match () {
            () if self.bytes > MAX_ANSWER_BYTES => {
                Err(ReflectionError::Limit(format!("more than {MAX_ANSWER_BYTES} bytes")))
            }
            () if self.files.len() > MAX_FILES => Err(ReflectionError::Limit(format!("more than {MAX_FILES} files"))),
            () => Ok(()),
        }
    }

    /// Prepares the questions of the next round, which ask for imported files that are missing. Fails if a file is
    /// still missing although an earlier round asked for it.
    fn ask_for_imports(&mut self) -> Result<(), ReflectionError> {
        let imports = self.files.values().flat_map(|file| &file.dependency);
        let missing: BTreeSet<&String> = imports.filter(|name| !self.files.contains_key(*name)).collect();
        if missing.iter().any(|name| name.len() > MAX_NAME_BYTES) {
            return Err(malformed("an import with an endless name"));
        }
        if missing.len() + self.files.len() > MAX_FILES {
            return Err(ReflectionError::Limit(format!("more than {MAX_FILES} files")));
        }
        let missing: Vec<String> = missing.into_iter().cloned().collect();
        for name in missing {
            if !self.asked.insert(name.clone()) {
                return Err(malformed(&format!("the file {name:?} does not come although it was asked for")));
            }
            self.questions.push(Question::FileByName(name));
        }
        self.rounds += 1;
        let is_endless = self.rounds > MAX_ROUNDS && !self.questions.is_empty();
        if is_endless {
            Err(ReflectionError::Limit(format!("more than {MAX_ROUNDS} rounds of imports")))
        } else {
            Ok(())
        }
    }

    /// Builds the types of all collected files.
    pub fn types(self) -> Result<Types, ReflectionError> {
        Ok(Types::new(self.files.into_values())?)
    }
}

/// Returns the message that asks a server for the names of all its services.
pub fn list_request() -> Vec<u8> {
    encoded(Question::Services("*".into()))
}

/// Returns the names of the services in the answer to [`list_request`].
pub fn services(answer: &[u8]) -> Result<Vec<String>, ReflectionError> {
    let Answer::Services(list) = decoded(&Question::Services("*".into()), answer)? else {
        return Err(malformed("it has no services"));
    };
    if list.services.len() > MAX_SERVICES {
        return Err(ReflectionError::Limit(format!("more than {MAX_SERVICES} services")));
    }
    let is_right = |name: &str| {
        !name.is_empty()
            && name.len() <= MAX_NAME_BYTES
            && name.chars().all(|c| c.is_alphanumeric() || "._".contains(c))
    };
    let names: Vec<String> = list.services.into_iter().map(|service| service.name).collect();
    if names.iter().all(|name| is_right(name)) { Ok(names) } else { Err(malformed("a service with a wrong name")) }
}

fn encoded(question: Question) -> Vec<u8> {
    Request { question: Some(question) }.encode_to_vec()
}

/// Decodes the answer to a question. Fails if the server refused to answer.
fn decoded(question: &Question, answer: &[u8]) -> Result<Answer, ReflectionError> {
    let response = Response::decode(answer).map_err(|error| malformed(&error.to_string()))?;
    match response.answer.ok_or_else(|| malformed("it is empty"))? {
        Answer::Error(error) => {
            let (Question::FileByName(name) | Question::FileOfSymbol(name) | Question::Services(name)) = question;
            let name = words(name);
            Err(ReflectionError::Refused { name, code: error.code, why: format!("{:?}", words(&error.message)) })
        }
        answer => Ok(answer),
    }
}

#[cfg(test)]
mod tests;
