//! Client side of reflection, without I/O: collects the files that define some services, with all files that these
//! import. Everything from the server is limited and checked.

use std::collections::BTreeSet;

use prost::Message as _;
use prost_types::FileDescriptorProto;

use super::messages::{Answer, MAX_ANSWER_BYTES, Question, Request, Response};
use crate::error::{TypesError, words};
use crate::graph::Files;
use crate::types::Types;

/// Maximum number of proto files that are collected from a server.
const MAX_FILES: usize = 1000;
/// Maximum number of rounds of questions. Each round brings the files that the files of the previous round import. Most
/// servers send all imports at once.
const MAX_ROUNDS: usize = 50;
/// Maximum number of services of a server.
const MAX_SERVICES: usize = 1000;
/// Maximum length of the name of a service or file, bytes.
const MAX_NAME_BYTES: usize = 1000;

/// Error in a server's answer to a question of reflection.
#[derive(Debug, thiserror::Error)]
pub enum ReflectionError {
    /// The server does not know the name that was asked for.
    #[error("the server refuses reflection of {name}: {why} (gRPC status {code})")]
    Refused {
        /// Name of the service or file.
        name: String,
        /// Status code of gRPC.
        code: i32,
        /// Error message of the server.
        why: String,
    },
    /// An answer has the wrong form.
    #[error("the server's answer to reflection is wrong: {0}; give --proto or --protoset instead")]
    Malformed(String),
    /// The answers exceed a limit.
    #[error("the server's answers to reflection exceed a limit: {0}; give --proto or --protoset instead")]
    Limit(String),
    /// The collected files cannot be used.
    #[error("the server describes itself by reflection, but {0}; give --proto or --protoset instead")]
    Types(#[from] TypesError),
}

fn malformed(why: &str) -> ReflectionError {
    ReflectionError::Malformed(words(why))
}

/// Collects the files that define some services. The caller sends [`Collector::requests`] in one call, and passes the
/// answers to [`Collector::read`], until there are no more requests.
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
    /// Starts to collect the files of these services.
    pub fn new<'a>(services: impl IntoIterator<Item = &'a str>) -> Self {
        let questions = services.into_iter().map(|name| Question::FileOfSymbol(name.into())).collect();
        Self { questions, ..Self::default() }
    }

    /// Returns the messages of the next call; empty if all files are known.
    pub fn requests(&self) -> Vec<Vec<u8>> {
        self.questions.iter().cloned().map(encoded).collect()
    }

    /// Reads the answers of a call, in the order of the requests.
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
        // Servers may send a file again with each answer.
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

    /// Prepares questions for the imported files that are missing. Each name is asked for only once.
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

/// Returns the message that asks for the names of all services.
pub fn list_request() -> Vec<u8> {
    encoded(Question::Services("*".into()))
}

/// Returns the names in the answer to [`list_request`].
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

/// Decodes the answer to a question. A refusal is an error.
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
