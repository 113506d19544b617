//! Writes the handshake, messages and control frames of a client.

use super::super::frame;
use super::super::mask;
use super::super::prepared::Prepared;
use super::ClientSession;

impl ClientSession {
    pub(super) fn give(&mut self, out: &mut [u8]) -> usize {
        self.outgoing.take_into(usize::MAX, out)
    }

    /// Writes further bytes of the current frame, or starts the next frame.
    pub(super) fn message(&mut self, out: &mut [u8]) -> usize {
        let Prepared { head, message, .. } = &*self.plan;
        if self.sent == 0 {
            self.mask = self.masks.u32(..).to_ne_bytes();
        }
        let n = if self.sent < head.len() {
            let (begin, place) = (self.sent, head.len() - 4);
            let n = (head.len() - begin).min(out.len());
            for (byte, at) in out[..n].iter_mut().zip(begin..) {
                *byte = if at < place { head[at] } else { self.mask[at - place] };
            }
            n
        } else {
            let from = self.sent - head.len();
            let n = (message.len() - from).min(out.len());
            out[..n].copy_from_slice(&message[from..from + n]);
            self.answers.write_id(&self.plan.answer_rule, from, &mut out[..n]);
            mask::apply(&mut out[..n], self.mask, from as u64);
            n
        };
        self.sent += n;
        if self.sent == head.len() + message.len() {
            self.sent = 0;
            self.to_send -= 1;
            self.answers.sent();
        }
        n
    }

    /// Queues a close frame, at most once per connection.
    pub(super) fn close(&mut self, code: &[u8]) {
        if !std::mem::replace(&mut self.over, true) {
            let mask = Some(self.masks.u32(..).to_ne_bytes());
            frame::write_control(self.outgoing.end(), frame::CLOSE, code, mask);
        }
    }
}
