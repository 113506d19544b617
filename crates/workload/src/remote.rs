//! Reads and writes records of a record server over one blocking connection.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use proto::record::{ClientPlan, ClientSession, HEAD_BYTES, Head, Operation, SPLIT_BYTES, Status};
use proto::{Client as _, Request, Requester as _};

use super::{Result, WorkloadError};

/// Maximum time to wait for an answer. If the answer takes longer, the access fails with an error.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(10);

pub(super) struct Remote {
    name: String,
    stream: TcpStream,
    session: ClientSession,
    buffer: Vec<u8>,
    file_bytes: u64,
}

impl Remote {
    /// Connects to `record://ADDRESS:PORT` for records of `record_bytes` bytes.
    pub(super) fn connect(name: &str, record_bytes: u32) -> Result<Self> {
        let failed = failure(name, "connect to");
        let text = name.trim_start_matches("record://").trim_end_matches('/');
        let addr: SocketAddr = text.parse().map_err(|_| failed("not an address and port".into()))?;
        let stream = TcpStream::connect_timeout(&addr, MAX_ANSWER_TIME).map_err(|e| failed(e.to_string()))?;
        let prepare = || {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(MAX_ANSWER_TIME))
        };
        prepare().map_err(|e| failed(e.to_string()))?;
        let session = ClientPlan::new(record_bytes).session();
        let mut remote = Self { name: name.into(), stream, session, buffer: vec![0; 64 * 1024], file_bytes: 0 };
        remote.file_bytes = remote.ask(Head::request(Operation::Length, 0, 0), &[])?.file_bytes;
        Ok(remote)
    }

    pub(super) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Reads one record at an offset of the file.
    pub(super) fn read(&mut self, offset: u64) -> Result<()> {
        let failed = failure(&self.name, "read from");
        self.session.seek(offset);
        self.session.begin(Request::default());
        loop {
            while self.session.wants_transmit() {
                let n = self.session.transmit(&mut self.buffer);
                self.stream.write_all(&self.buffer[..n]).map_err(|e| failed(e.to_string()))?;
            }
            let n = self.stream.read(&mut self.buffer).map_err(|e| failed(e.to_string()))?;
            if n == 0 {
                return Err(failed("it closed the connection".into()));
            }
            let progress = self.session.receive(&self.buffer[..n], &mut drop).map_err(|e| failed(e.to_string()))?;
            if progress.completed > 0 {
                return Ok(());
            }
        }
    }

    /// Writes one record at an offset of the file.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        for (n, piece) in bytes.chunks(SPLIT_BYTES as usize).enumerate() {
            let at = offset + n as u64 * u64::from(SPLIT_BYTES);
            self.ask(Head::request(Operation::Write, at, piece.len() as u32), piece)?;
        }
        Ok(())
    }

    /// Sends a request and reads its answer. The answer must consist of a header ([`Head`]) without data.
    fn ask(&mut self, head: Head, body: &[u8]) -> Result<Head> {
        let failed = failure(&self.name, "ask");
        let mut answer = [0; HEAD_BYTES];
        let talk = |stream: &mut TcpStream, answer: &mut [u8]| {
            stream.write_all(&head.encode())?;
            stream.write_all(body)?;
            stream.read_exact(answer)
        };
        talk(&mut self.stream, &mut answer).map_err(|e| failed(e.to_string()))?;
        let head = Head::decode(&answer).ok_or_else(|| failed("it does not speak the record protocol".into()))?;
        match head.status {
            Some(Status::Done) => Ok(head),
            Some(status) => Err(failed(status.words().into())),
            None => Err(failed("it answers with a request".into())),
        }
    }
}

fn failure(name: &str, what: &'static str) -> impl Fn(String) -> WorkloadError {
    let path = name.to_string();
    let advice = "start one with `loadline serve record` and name it record://ADDRESS:PORT";
    move |message| WorkloadError::Access { what, path: path.clone(), message, advice }
}
