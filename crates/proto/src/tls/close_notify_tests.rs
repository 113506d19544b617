//! Tests of answers that end with their TLS connection.

use run::{Protocol, TlsPlan};

use super::{ServerSession, config, self_signed, server_config};
use crate::{Client, Fault, Outcome, Progress, ProtocolSpec, Request, Requester, Session, http1};

/// A server whose answer ends with its connection. If `announces` is true, the server ends TLS with close_notify.
struct EndingServer {
    announces: bool,
    answer: &'static [u8],
}

impl Session for EndingServer {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let answer = std::mem::take(&mut self.answer);
        out[..answer.len()].copy_from_slice(answer);
        answer.len()
    }

    fn wants_transmit(&self) -> bool {
        !self.answer.is_empty()
    }

    fn receive(&mut self, _: &[u8]) -> Result<Progress, Fault> {
        self.answer = b"HTTP/1.1 200 OK\r\n\r\nhalf of the answer";
        Ok(Progress { close: self.announces, ..Progress::default() })
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        Ok(Progress::CLOSE)
    }

    fn reset(&mut self) {}
}

/// RFC 9112, section 9.8: without close_notify, an answer that ends with the connection is incomplete.
#[test]
fn an_answer_that_ends_with_its_connection_needs_close_notify() {
    let http = http1::ClientPlan::new(&Protocol::default()).unwrap();
    let plan = TlsPlan { insecure: true, server_name: "good.example".into(), ..TlsPlan::default() };
    let client = config::client(&plan, ProtocolSpec::DEFAULT, http).unwrap();
    let (chain, key) = self_signed(&["good.example"]).unwrap();
    let config = server_config(chain.as_bytes(), key.as_bytes(), &[]).unwrap();
    for announces in [true, false] {
        let within = EndingServer { announces, answer: b"" };
        let (mut ours, mut theirs) = (client.session(), ServerSession::new(within, config.clone()));
        let (mut buffer, mut begun, mut outcomes) = (vec![0; 20_000], false, Vec::new());
        loop {
            if ours.ready() && !std::mem::replace(&mut begun, true) {
                ours.begin(Request::default());
            }
            let n = ours.transmit(&mut buffer);
            theirs.receive(&buffer[..n]).unwrap();
            let m = theirs.transmit(&mut buffer);
            ours.receive(&buffer[..m], &mut |done| outcomes.push(done.outcome)).unwrap();
            if n + m == 0 {
                break;
            }
        }
        let closed = ours.peer_closed(&mut |done| outcomes.push(done.outcome));
        let words = ours.close_words().unwrap_or_default();
        match announces {
            true => {
                assert!(closed.is_ok() && outcomes == [Outcome::Expected] && words.is_empty(), "{closed:?} {words}")
            }
            false => assert!(closed == Err(Fault::Short) && outcomes.is_empty() && words.contains("close_notify")),
        }
        assert_eq!(ours.explain().unwrap_or_default(), words);
        ours.reset();
        assert_eq!(ours.close_words(), None);
    }
}
