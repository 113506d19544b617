//! Messages of server reflection. Fields that are not used are left out; the decoder skips them.

use prost::{Message, Oneof};

/// Paths of the method of reflection, the current version first.
pub const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Maximum size of all answers to one call of reflection, bytes.
pub const MAX_ANSWER_BYTES: usize = 16 << 20;

/// Question to a server.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Request {
    #[prost(oneof = "Question", tags = "3, 4, 7")]
    pub(super) question: Option<Question>,
}

/// Kinds of questions.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Question {
    /// Asks for the file with this name.
    #[prost(string, tag = "3")]
    FileByName(String),
    /// Asks for the file that defines this service or type.
    #[prost(string, tag = "4")]
    FileOfSymbol(String),
    /// Asks for the names of all services. The server ignores the text.
    #[prost(string, tag = "7")]
    Services(String),
}

/// Answer of a server.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Response {
    #[prost(oneof = "Answer", tags = "4, 6, 7")]
    pub(super) answer: Option<Answer>,
}

/// Kinds of answers.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Answer {
    /// Files, among them those that were asked for.
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
    /// Status code of gRPC.
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
}
