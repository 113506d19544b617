//! Messages of server reflection, with only the fields that loadline uses. The decoder skips all other fields.

use prost::{Message, Oneof};

/// Paths of the gRPC method for reflection: first its current version, then an earlier version.
pub const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Maximum total size of a server's answers about reflection, bytes.
pub const MAX_ANSWER_BYTES: usize = 16 << 20;

/// Message from the client to the server.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Request {
    #[prost(oneof = "Question", tags = "3, 4, 7")]
    pub(super) question: Option<Question>,
}

/// Kinds of questions.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Question {
    /// Asks for the proto file with the given name.
    #[prost(string, tag = "3")]
    FileByName(String),
    /// Asks for the proto file that defines the service or type with the given name.
    #[prost(string, tag = "4")]
    FileOfSymbol(String),
    /// Asks for the names of all services. The server ignores the text.
    #[prost(string, tag = "7")]
    Services(String),
}

/// Message from the server to the client.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Response {
    #[prost(oneof = "Answer", tags = "4, 6, 7")]
    pub(super) answer: Option<Answer>,
}

/// Kinds of answers.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Answer {
    /// Proto files: the requested file, and possibly further files.
    #[prost(message, tag = "4")]
    Files(FileList),
    /// Names of all services.
    #[prost(message, tag = "6")]
    Services(ServiceList),
    /// The server refuses to answer the question.
    #[prost(message, tag = "7")]
    Error(ErrorAnswer),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FileList {
    /// Encoded `FileDescriptorProto` messages.
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(super) files: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ServiceList {
    #[prost(message, repeated, tag = "1")]
    pub(super) services: Vec<ServiceName>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ServiceName {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ErrorAnswer {
    /// gRPC status code.
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
}
