//! A client of PostgreSQL's protocol, version 3, that runs prepared statements without parameters, and plain statements
//! that return no rows. The crate `postgres_protocol` encodes and decodes the messages. The client itself only reads
//! and writes bytes on a blocking connection, and so needs no async runtime.

use std::io::{Read as _, Write as _};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{DataRowBody, ErrorFields, Header, Message};
use postgres_protocol::message::frontend;
use proto::postgres::{Credentials, Login, LoginError, ServerError};
use run::Behind;
use sys::blocking_stream::BlockingStream;

use crate::DatabaseError;
use crate::connection;
use crate::credentials::{default_user, password};
use crate::statement::bounded;

/// Maximum length of one message, bytes. The statements of this client select only rows of at most a few kilobytes.
const MAX_MESSAGE_BYTES: i32 = 1 << 20;
/// Maximum number of rows that the client keeps from one answer.
const MAX_ROWS: usize = 4096;

/// Columns of one row as text; `None` for the SQL value NULL.
pub(super) type Row = Vec<Option<String>>;

/// A connection that has logged in.
#[derive(Debug)]
pub(super) struct Client {
    connection: BlockingStream,
    input: BytesMut,
    output: BytesMut,
    /// Major version of the server; 0 if unknown.
    pub(super) version: u32,
}

impl Client {
    /// Connects and logs in.
    pub(super) fn connect(behind: &Behind) -> Result<Self, DatabaseError> {
        let connection = connection::open(behind)?;
        let mut client = Self { connection, input: BytesMut::new(), output: BytesMut::new(), version: 0 };
        client.log_in(behind)?;
        Ok(client)
    }

    fn send(&mut self) -> Result<(), DatabaseError> {
        self.connection.write_all(&self.output)?;
        self.output.clear();
        Ok(())
    }

    /// Reads the next message. Skips notices, which the server may send at any time.
    fn receive(&mut self) -> Result<Message, DatabaseError> {
        loop {
            if let Some(header) = Header::parse(&self.input)?
                && header.len() > MAX_MESSAGE_BYTES
            {
                return Err(DatabaseError::Protocol("PostgreSQL"));
            }
            match Message::parse(&mut self.input)? {
                Some(Message::NoticeResponse(_) | Message::NotificationResponse(_)) => {}
                Some(Message::ParameterStatus(status)) => {
                    if status.name().is_ok_and(|name| name == "server_version") {
                        let digits = status.value().unwrap_or_default();
                        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
                        self.version = digits[..end].parse().unwrap_or_default();
                    }
                }
                Some(message) => return Ok(message),
                None => {
                    let mut piece = [0; 16 << 10];
                    let n = self.connection.read(&mut piece)?;
                    if n == 0 {
                        return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
                    }
                    self.input.extend_from_slice(&piece[..n]);
                }
            }
        }
    }

    fn log_in(&mut self, behind: &Behind) -> Result<(), DatabaseError> {
        let credentials = Credentials {
            user: if behind.user.is_empty() { default_user() } else { behind.user.clone() },
            database: behind.database.clone(),
            password: password(behind),
            is_private: connection::is_local(&self.connection),
        };
        let mut login = Login::default();
        Login::begin(&credentials, &mut self.output).map_err(login_error)?;
        loop {
            self.send()?;
            let message = self.receive()?;
            if login.receive(&message, &credentials, &mut self.output).map_err(login_error)? {
                return Ok(());
            }
        }
    }

    /// Runs a statement that returns no rows.
    pub(super) fn run(&mut self, statement: &str) -> Result<(), DatabaseError> {
        frontend::query(statement, &mut self.output)?;
        self.send()?;
        self.rows().map(drop)
    }

    /// Prepares a statement under a name.
    pub(super) fn prepare(&mut self, name: &str, statement: &str) -> Result<(), DatabaseError> {
        frontend::parse(name, statement, [], &mut self.output)?;
        frontend::sync(&mut self.output);
        self.send()?;
        self.rows().map(drop)
    }

    /// Runs a prepared statement and returns its rows.
    pub(super) fn execute(&mut self, name: &str) -> Result<Vec<Row>, DatabaseError> {
        let none: [&str; 0] = [];
        let bound = frontend::bind("", name, [], none, |_, _| Ok(IsNull::Yes), [], &mut self.output);
        bound.map_err(|_| DatabaseError::Protocol("PostgreSQL"))?;
        frontend::execute("", 0, &mut self.output)?;
        frontend::sync(&mut self.output);
        self.send()?;
        self.rows()
    }

    /// Reads an answer to its end, and returns its rows.
    fn rows(&mut self) -> Result<Vec<Row>, DatabaseError> {
        let (mut rows, mut error) = (Vec::new(), None);
        loop {
            match self.receive()? {
                Message::DataRow(body) if rows.len() < MAX_ROWS => rows.push(row(&body)?),
                Message::ErrorResponse(body) => error = Some(refused(body.fields())),
                Message::ReadyForQuery(_) => return error.map_or(Ok(rows), Err),
                _ => {}
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        frontend::terminate(&mut self.output);
        // If the last message cannot be sent, the server still notices the end of the connection.
        let _ = self.send();
    }
}

fn row(body: &DataRowBody) -> Result<Row, DatabaseError> {
    let mut row = Vec::new();
    let mut ranges = body.ranges();
    while let Some(range) = ranges.next()? {
        let bytes = range.map(|range| body.buffer().get(range).unwrap_or_default());
        row.push(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
    }
    Ok(row)
}

/// Returns an error with the server's reason. The text of the reason is limited in length and safe to show.
fn refused(fields: ErrorFields<'_>) -> DatabaseError {
    DatabaseError::Refused(bounded(&ServerError::from_fields(fields).message))
}

fn login_error(error: LoginError) -> DatabaseError {
    match error {
        LoginError::Refused(refusal) => DatabaseError::Refused(bounded(&refusal.message)),
        LoginError::Protocol => DatabaseError::Protocol("PostgreSQL"),
        error => DatabaseError::Login(error.to_string()),
    }
}
