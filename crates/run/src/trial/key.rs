//! What a trial was set to.

use serde::{Deserialize, Serialize};

use crate::Intensity;
use crate::by_name::figures;

figures! {
    /// What was set for a trial, besides what the plan says for all of them; what does not apply is absent.
    Key {
        /// Bytes of a record that a request reads.
        record_bytes: u64,
        /// Clients that wait for each answer: those that the experiment counts.
        clients: u32,
        /// Descriptors of S-Clients, D.
        descriptors: u32,
        /// Connections that all blocks together try to hold.
        connections: u32,
        /// Entry of the published table of I/O models: 1, 2 or 3.
        entry: u32,
        /// Server processes that share the connections.
        processes: u32,
        /// Cold connections that are held meanwhile.
        cold: u32,
        /// Room for events of a timed call.
        array_max: u32,
        /// Room for events of a timed call that always finds as many.
        full: u32,
        /// Arrivals behind each event.
        arrivals: u32,
        /// Whether the bare system call is timed, not the library's.
        bare: bool,
        /// Whether clients fetch the source's small file.
        small_file: bool,
        /// Delay of the line each way, milliseconds.
        delay_ms: f64,
        /// Share of packets that the line loses, 0 to 1.
        loss: f64,
        /// Whether the server's kernel answers with syncookies when a queue is full.
        syncookies: bool,
        /// Connections a second that are to be offered.
        offered_rate: f64,
        /// The same over the server's capacity.
        multiple: f64,
        /// Mean of an arrival process, per second.
        mean_rate: f64,
        /// Its peak over its mean; 0 where it has no highest rate.
        peak: f64,
        /// Share of the time that it is at its peak, 0 to 1.
        share: f64,
    } besides {
        /// What each load asked for, in the order of the loads; `intensity` is their sum. Older runs have none.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        loads: Vec<Intensity>,
        /// How the server is built (`epoll`, `uring+high-connections`).
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// What delivers events (`epoll`, `uring unchecked`).
        #[serde(skip_serializing_if = "Option::is_none")]
        backend: Option<String>,
        /// The class of requests that was asked for more than the mix has it.
        #[serde(skip_serializing_if = "Option::is_none")]
        class: Option<String>,
        /// The line of a figure that this trial is a point of.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<String>,
    }
}
