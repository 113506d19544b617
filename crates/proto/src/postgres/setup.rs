//! Setup of a connection: the login, and the preparation of statements.

use bytes::BytesMut;
use postgres_protocol::message::backend::{Header, Message};
use postgres_protocol::message::frontend;

use super::advice::advice;
use super::login::{Credentials, Login, LoginError};
use super::statement::Statement;
use crate::Fault;
use crate::outbox::SendBuffer;

/// Maximum length of a message during the login, bytes.
const MAX_LOGIN_BYTES: i32 = 64 << 10;
/// Maximum size of the send buffer that a connection keeps after the setup, bytes.
const KEPT_BYTES: usize = 4 << 10;

/// Phase of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    Login,
    /// Statements are being prepared.
    Preparing,
    /// The setup is complete, so requests may start.
    #[default]
    Ready,
}

/// State of the setup of one connection.
#[derive(Default)]
pub(super) struct Setup {
    pub(super) phase: Phase,
    login: Login,
    /// Received bytes of the login that do not form a complete message yet.
    input: BytesMut,
    output: SendBuffer,
    /// Failure of the login, with advice, if the login failed.
    failure: Option<String>,
}

impl Setup {
    /// Starts a connection: prepares the first login message. If connections need no login, begins to prepare the
    /// statements.
    pub(super) fn begin(&mut self, credentials: Option<&Credentials>, statements: &[Statement]) {
        self.input.clear();
        self.output.clear();
        (self.login, self.failure) = (Login::default(), None);
        match credentials {
            None => self.prepare(statements),
            Some(credentials) => {
                let mut first = BytesMut::new();
                // Encoding cannot fail, because the names were checked for zero bytes.
                let _ = Login::begin(credentials, &mut first);
                self.output.append(&first);
                self.phase = Phase::Login;
            }
        }
    }

    /// Handles bytes that arrive during the login. Returns `None` until the login is complete, and then the bytes that
    /// follow the login.
    pub(super) fn receive(
        &mut self,
        input: &[u8],
        credentials: &Credentials,
        statements: &[Statement],
    ) -> Result<Option<BytesMut>, Fault> {
        self.input.extend_from_slice(input);
        match self.log_in(credentials) {
            Ok(false) => Ok(None),
            Ok(true) => {
                self.prepare(statements);
                Ok(Some(std::mem::take(&mut self.input)))
            }
            Err(error) => {
                self.failure = Some(words(&error));
                Err(Fault::Malformed("the login failed"))
            }
        }
    }

    /// Handles the complete login messages that have arrived. Returns true if the login is complete.
    fn log_in(&mut self, credentials: &Credentials) -> Result<bool, LoginError> {
        let mut answer = BytesMut::new();
        loop {
            let header = Header::parse(&self.input).map_err(|_| LoginError::Protocol)?;
            if header.is_some_and(|header| header.len() > MAX_LOGIN_BYTES) {
                return Err(LoginError::Protocol);
            }
            let message = Message::parse(&mut self.input).map_err(|_| LoginError::Protocol)?;
            let is_complete = match &message {
                None => false,
                Some(message) => self.login.receive(message, credentials, &mut answer)?,
            };
            if message.is_none() || is_complete {
                self.output.append(&answer);
                return Ok(is_complete);
            }
        }
    }

    /// Begins to prepare the statements. If there are no statements to prepare, requests may start at once.
    fn prepare(&mut self, statements: &[Statement]) {
        let before = self.output.waiting();
        statements.iter().for_each(|statement| self.output.append(&statement.preparation));
        self.phase = Phase::Ready;
        if self.output.waiting() > before {
            let mut end = BytesMut::new();
            frontend::sync(&mut end);
            self.output.append(&end);
            self.phase = Phase::Preparing;
        }
    }

    /// Copies the bytes to send, and returns their number.
    pub(super) fn transmit(&mut self, out: &mut [u8]) -> usize {
        self.output.take_into(KEPT_BYTES, out)
    }

    /// Returns true if bytes wait to be sent.
    pub(super) fn wants_transmit(&self) -> bool {
        self.output.waiting() > 0
    }

    /// Returns a sentence about the login with advice, if the login failed.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.clone()
    }
}

/// Returns a sentence with advice about a login that failed.
fn words(error: &LoginError) -> String {
    match error {
        LoginError::Refused(refusal) => format!("{error}; {}", advice(refusal, "read its log")),
        LoginError::Protocol => format!("{error}: does it speak PostgreSQL's protocol on this port?"),
        error => error.to_string(),
    }
}
