//! Signs on the network path: queues, losses of QUIC, delayed acknowledgements, stated speeds, TLS handshakes, and gaps
//! in streams.

pub(crate) mod ack_timer;
pub(crate) mod addresses;
pub(crate) mod handshakes;
pub(crate) mod link_queue;
pub(crate) mod link_speed;
pub(crate) mod quic;
pub(crate) mod stream_signs;
