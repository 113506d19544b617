//! A session without a connection, for tests with the bytes of a hostile server.

use quinn_proto::{Dir, StreamId};

use super::stream::Stream;
use super::{ClientPlan, ClientSession};
use crate::http2::client::completions::Completions;
use crate::{Client, Done, Fault, Progress};

impl ClientSession {
    /// Creates a session with `requests` requests in flight, as after a handshake, but without a connection. Tests use
    /// this function with the bytes of a hostile server ([`ClientSession::receive_stream`]).
    pub fn without_connection(plan: &ClientPlan, requests: u16) -> Self {
        let mut session = plan.session();
        session.connected = true;
        let streams = (0..requests).map(|id| {
            let stream = StreamId::new(quinn_proto::Side::Client, Dir::Bi, u64::from(id));
            Stream::new(stream, id, 0, 0)
        });
        session.streams.extend(streams);
        session
    }

    /// Reads bytes on the stream of a request of [`ClientSession::without_connection`]. `ends` is true if the stream
    /// ends with these bytes.
    pub fn receive_stream(
        &mut self,
        request: u16,
        bytes: &[u8],
        ends: bool,
        done: &mut dyn FnMut(Done),
    ) -> Result<Progress, Fault> {
        let id = StreamId::new(quinn_proto::Side::Client, Dir::Bi, u64::from(request));
        let mut completions = Completions::new(done);
        self.answer(id, bytes)?;
        if ends {
            self.end(id, &mut completions)?;
        }
        Ok(completions.progress)
    }

    /// Reads bytes on a unidirectional stream, such as a control stream or a stream of QPACK, for a session of
    /// [`ClientSession::without_connection`]. The first bytes of the stream name its kind. `stream` is the number of
    /// the stream. `ends` is true if the stream ends with these bytes.
    pub fn receive_peer_stream(
        &mut self,
        stream: u16,
        bytes: &[u8],
        ends: bool,
        done: &mut dyn FnMut(Done),
    ) -> Result<Progress, Fault> {
        let id = StreamId::new(quinn_proto::Side::Server, Dir::Uni, u64::from(stream));
        let mut completions = Completions::new(done);
        self.peer.receive(id, bytes, ends)?;
        self.heed_goaway(&mut completions);
        Ok(completions.progress)
    }
}
