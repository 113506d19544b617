//! Streams of a client without a connection, for tests of hostile input.

use quinn_proto::{Dir, StreamId};

use super::answer::LastHead;
use super::requests::{Reading, RequestStream};
use crate::Fault;
use crate::http1::Site;
use crate::http2::request_headers::RequestHeaders;
use crate::http3::peer_streams::{PeerStreams, Side};
use crate::http3::qpack::Decoder;

/// Reads the whole stream of one request, in parts. Returns true if the server would answer the request, and false if
/// it would reset the stream. Returns the fault if the server would end the connection.
pub fn answers<'p, S: Site>(site: &S, parts: impl IntoIterator<Item = &'p [u8]>) -> Result<bool, Fault> {
    let (mut decoder, mut headers, mut last_head) = <(Decoder, RequestHeaders, LastHead)>::default();
    let (decoder, headers, last_head) = (&mut decoder, &mut headers, &mut last_head);
    let mut reading = Reading { site, decoder, headers, last_head, completed: &mut || () };
    let mut stream = RequestStream::new(StreamId::new(quinn_proto::Side::Client, Dir::Bi, 0));
    for part in parts {
        if !stream.arrived(part, &mut reading)? {
            return Ok(false);
        }
    }
    stream.ended(&mut reading)
}

/// Reads several unidirectional streams of a client, each in parts. Returns the fault if the server would end the
/// connection.
pub fn reads_peer_streams(streams: &[&[&[u8]]]) -> Result<(), Fault> {
    let mut peer = PeerStreams::new(Side::Server);
    for (number, parts) in (0..).zip(streams) {
        let id = StreamId::new(quinn_proto::Side::Client, Dir::Uni, number);
        parts.iter().try_for_each(|part| peer.receive(id, part, false))?;
    }
    Ok(())
}
