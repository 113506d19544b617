//! What came out of a trial besides rates and latencies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::by_name::figures;

figures! {
    /// What an experiment measured of a trial besides its rates and latencies; what was not measured is absent.
    Results {
        /// Bytes a second that clients received (records: of records alone).
        bytes_per_s: f64,
        /// Records with their heads, both ways, bytes a second.
        message_bytes_per_s: f64,
        /// Bytes that a client sent for one read.
        message_out_bytes: f64,
        /// Bytes that a client received for one read.
        message_in_bytes: f64,
        /// Clients over the completed rate, microseconds.
        response_n_over_x_us: f64,
        /// Messages both ways as a share of the wire's rate, 0 to 1.
        client_throughput_share: f64,
        /// The same by what the server's IP counted.
        server_throughput_share: f64,
        /// Share of its rate that the fullest wire carried, framing counted, 0 to 1.
        wire_use: f64,
        /// The same without framing.
        wire_use_without_framing: f64,
        /// Bytes on the wire for one read, both ways, framing counted.
        wire_bytes_per_read: f64,
        /// Frames for one read, both ways.
        frames_per_read: f64,
        /// Mean length of a frame, bytes, framing counted.
        bytes_per_frame: f64,
        /// Time of the wire for one read, microseconds.
        wire_us_per_read: f64,
        /// Processor time of the server's host for one read, microseconds, net of rest.
        server_processor_us: f64,
        /// The same of the client's host.
        client_processor_us: f64,
        /// Fixed time of one read that was asked for, microseconds.
        fixed_us_per_read: f64,
        /// Sum of server, client, wire and fixed time for one read, microseconds.
        model_us_per_read: f64,
        /// Connection requests that left the generator.
        syns_generator: f64,
        /// Connection requests that the server's kernel counted.
        syns_kernel: f64,
        /// Connection requests that a filter at the server's interface saw.
        syns_filter: f64,
        /// Connections that the server's kernel opened.
        opens_kernel: f64,
        /// Connection requests at the server, per second of the window.
        syn_rate: f64,
        /// Overflows of the accept queue, per second.
        overflows_per_s: f64,
        /// Syncookies that were sent, per second.
        cookies_sent_per_s: f64,
        /// Connections that the client holds for established and the server does not know.
        phantoms: f64,
        /// Processor time of the server for a connection request that it dropped, microseconds.
        us_per_dropped_syn: f64,
        /// Share of the steady load's throughput that was lost at the same mean rate.
        lost_share: f64,
        /// Connections established at the server, mean over the window.
        open_connections: f64,
        /// Connections that the server had accepted, at most.
        held: f64,
        /// Threads of the server, at most.
        threads: f64,
        /// Threads of the server before the load.
        threads_at_rest: f64,
        /// Threads beyond those at rest that the model's rule asks for in a quiet moment.
        threads_by_rule: f64,
        /// Threads in that moment.
        threads_then: f64,
        /// Connections accepted in that moment.
        held_then: f64,
        /// Switches between the server's threads, per second.
        switches_per_s: f64,
        /// Until the last of the connections was up, seconds since the load began.
        opened_s: f64,
        /// Growth of the generators' resident memory over their connections, bytes.
        client_memory_per_connection_bytes: f64,
        /// Growth of the server's resident memory over its connections, bytes.
        memory_per_connection_bytes: f64,
        /// Growth in the kernel over the connections, both ends, bytes.
        kernel_memory_per_connection_bytes: f64,
        /// Growth of socket memory, bytes; absent where it was not above the noise.
        kernel_tcp_pages_bytes: f64,
        /// What it would have had to be above.
        kernel_tcp_pages_bytes_noise: f64,
        /// Growth of the slab, bytes.
        kernel_slab_bytes: f64,
        /// What it would have had to be above.
        kernel_slab_bytes_noise: f64,
        /// Growth of kernel stacks, bytes.
        kernel_stacks_bytes: f64,
        /// What it would have had to be above.
        kernel_stacks_bytes_noise: f64,
        /// Growth of the server's page tables, bytes.
        kernel_page_tables_bytes: f64,
        /// What it would have had to be above.
        kernel_page_tables_bytes_noise: f64,
        /// Bytes a second that the server received by its own count.
        server_receives_bytes_per_s: f64,
        /// Bytes a second that the server sent by its own count.
        server_sends_bytes_per_s: f64,
        /// Processor time of the server for a message, microseconds, median over turns with others.
        cpu_us_in_turns: f64,
        /// Mean time of a timed call, microseconds.
        call_us: f64,
        /// Median time of a timed call, microseconds.
        median_us: f64,
        /// 99th percentile of the time of a call, microseconds.
        p99_us: f64,
        /// Mean without the dearest and the cheapest twentieth, microseconds.
        trimmed_us: f64,
        /// Events that a call returned, mean.
        returned: f64,
        /// Calls that were timed.
        calls: f64,
        /// Calls that would have blocked; in no figure.
        rejected: f64,
        /// Rounds that are left out because a call in them would have blocked.
        rejected_rounds: f64,
        /// Whether there is a round in which no call would have blocked.
        saturated: bool,
        /// Time of everything around an event (its arrival, its share of the call, reading it), microseconds.
        whole_us: f64,
        /// Time of a call over its events, microseconds.
        event_us: f64,
        /// Time of a declaration of interest, microseconds.
        declare_us: f64,
        /// Time of a revocation of interest, microseconds.
        revoke_us: f64,
        /// Time of a declaration with an initial state, microseconds.
        declare_with_state_us: f64,
        /// Time of epoll_ctl add alone, microseconds.
        bare_add_us: f64,
        /// Time of epoll_ctl delete alone, microseconds.
        bare_delete_us: f64,
        /// Time of a declaration while clients fetch a small file, microseconds.
        small_declare_us: f64,
        /// Time of a revocation meanwhile, microseconds.
        small_revoke_us: f64,
        /// Declarations that were timed then.
        declared: f64,
        /// Revocations that were timed then.
        revoked: f64,
    } besides {
        /// What limited this trial, where trials are judged one by one.
        #[serde(skip_serializing_if = "Option::is_none")]
        limited_by: Option<LimitedBy>,
        /// Figures of `axes` that this version does not know, kept as they were.
        #[serde(skip)]
        other: BTreeMap<String, f64>,
    }
}

/// What limited one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LimitedBy {
    /// One id of `BOTTLENECKS`, or what ended its connections.
    pub id: String,
    /// Whether that is surer than a guess.
    pub sure: bool,
}

impl LimitedBy {
    /// From the word of older runs, where a guess has a question mark.
    pub(crate) fn of_word(word: &str) -> Self {
        let id = word.trim_end_matches('?');
        Self { id: id.into(), sure: id == word }
    }
}

impl std::fmt::Display for LimitedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.id, if self.sure { "" } else { "?" })
    }
}
