//! Services, methods and message types, built from descriptors.

use std::collections::BTreeMap;

use prost_reflect::{DescriptorPool, MethodDescriptor, ServiceDescriptor};
use prost_types::FileDescriptorProto;

use crate::error::{TypesError, listed, near, words};
use crate::graph::{Files, in_order};
use crate::sanitize::reduced;
use crate::{example, json};

/// The services, methods and message types of a set of descriptors.
#[derive(Clone, Debug)]
pub struct Types(DescriptorPool);

/// A gRPC service with its methods.
#[derive(Clone, Debug)]
pub struct Service(ServiceDescriptor);

/// A method of a service.
#[derive(Clone, Debug)]
pub struct Method(MethodDescriptor);

impl Types {
    /// Builds the types that `files` define. The files may come in any order; if several files have the same name, only
    /// the first of them is used. Fails if an imported file is missing, or if a file is malformed.
    pub fn new(files: impl IntoIterator<Item = FileDescriptorProto>) -> Result<Self, TypesError> {
        let mut by_name = Files::new();
        for file in files {
            by_name.entry(file.name().to_owned()).or_insert(file);
        }
        let mut pool = DescriptorPool::new();
        for name in in_order(&by_name)? {
            let added = pool.add_file_descriptor_proto(reduced(&by_name, &name)?);
            added
                .map_err(|error| TypesError::Unusable(format!("{:?}: {}", words(&name), words(&error.to_string()))))?;
        }
        Ok(Self(pool))
    }

    /// Returns all services, sorted by name.
    pub fn services(&self) -> Vec<Service> {
        let all: BTreeMap<String, Service> =
            self.0.services().map(|found| (found.full_name().to_owned(), Service(found))).collect();
        all.into_values().collect()
    }

    /// Returns the method that a gRPC call's path names. The path has the form `/package.Service/Method`.
    pub fn method(&self, path: &str) -> Result<Method, TypesError> {
        let (name, method) = split_path(path)?;
        let services = self.services();
        let names = || services.iter().map(Service::name);
        let service = services.iter().find(|found| found.name() == name).ok_or_else(|| TypesError::NoService {
            name: words(name),
            near: near(name, names()),
            known: listed(names()),
        })?;
        let methods = service.methods();
        let names = || methods.iter().map(Method::name);
        methods.iter().find(|found| found.name() == method).cloned().ok_or_else(|| TypesError::NoMethod {
            service: words(name),
            name: words(method),
            near: near(method, names()),
            known: listed(names()),
        })
    }
}

/// Splits a gRPC call's path `/package.Service/Method` into the names of the service and the method.
pub fn split_path(path: &str) -> Result<(&str, &str), TypesError> {
    let parts = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    parts
        .filter(|(service, method)| !service.is_empty() && !method.is_empty() && !method.contains('/'))
        .ok_or_else(|| TypesError::NoPath(words(path)))
}

impl Service {
    /// Returns the full name of the service: `package.Service`.
    pub fn name(&self) -> &str {
        self.0.full_name()
    }

    /// Returns the methods of the service, in the order in which the proto file defines them.
    pub fn methods(&self) -> Vec<Method> {
        self.0.methods().map(Method).collect()
    }
}

impl Method {
    /// Returns the name of the method, without the name of its service.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Returns the full names of two message types: the type of the method's requests, and the type of its answers.
    pub fn message_types(&self) -> [String; 2] {
        [self.0.input(), self.0.output()].map(|message| message.full_name().to_owned())
    }

    /// Returns true if the client may send several messages in one call.
    pub fn streams_requests(&self) -> bool {
        self.0.is_client_streaming()
    }

    /// Returns true if the server may send several messages in one call.
    pub fn streams_answers(&self) -> bool {
        self.0.is_server_streaming()
    }

    /// Returns an example of a request message as JSON, in which each field has its default value.
    pub fn example(&self) -> String {
        example::example(&self.0.input())
    }

    /// Encodes the request messages of a call. `json` is one message, several messages one after the other, or an array
    /// of messages. Fails if a message does not match the method's type, or if the method does not accept that number
    /// of messages.
    pub fn encode(&self, json: &str) -> Result<Vec<Vec<u8>>, TypesError> {
        let messages = json::messages(&self.0.input(), json)?;
        let count = |takes| Err(TypesError::Count { found: messages.len(), method: words(self.0.full_name()), takes });
        match messages.len() {
            1 => Ok(messages),
            _ if !self.streams_requests() => count("one message"),
            0 => count("at least one message"),
            n if n > run::MAX_MESSAGES => count("at most 10,000 messages in a call of loadline"),
            _ => Ok(messages),
        }
    }

    /// Decodes an answer message of this method, and returns it as JSON.
    pub fn decode_answer(&self, bytes: &[u8]) -> Result<String, TypesError> {
        json::text(&self.0.output(), bytes)
    }
}
