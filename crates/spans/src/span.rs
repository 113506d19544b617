//! Two forms of a span: as received, and as stored.

use std::borrow::Cow;

/// A span in the form in which the receiver decodes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedSpan<'a> {
    /// ID of the trace.
    pub trace: u128,
    /// ID of the span.
    pub id: u64,
    /// ID of the parent span; 0 if there is no parent.
    pub parent: u64,
    /// Start, nanoseconds since 1970.
    pub begin_ns: u64,
    /// End, nanoseconds since 1970.
    pub end_ns: u64,
    /// Name of the service.
    pub service: Cow<'a, str>,
    /// Name of the span.
    pub name: Cow<'a, str>,
}

/// A span in the form in which the store keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) trace: u128,
    pub(crate) id: u64,
    pub(crate) parent: u64,
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    /// Index of the pair of names (service and span) in the store's list of names.
    pub(crate) name: u16,
}
