//! A client of PostgreSQL's protocol, version 3, that runs prepared statements without parameters.
//! The library encodes and decodes the messages; this file only moves the bytes, so no async runtime is needed.

use std::io::{Read as _, Write as _};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::{DataRowBody, ErrorFields, Header, Message};
use postgres_protocol::message::frontend;
use run::Behind;
use sys::blocking_stream::BlockingStream;

use crate::DatabaseError;
use crate::connection;
use crate::credentials::password;
use crate::statement::bounded;

/// Maximum length of one message, bytes. A row of this client's statements has at most some kilobytes.
const MAX_MESSAGE_BYTES: i32 = 1 << 20;
/// Maximum number of rows that are kept.
const MAX_ROWS: usize = 4096;

/// Texts of a row, `None` for NULL.
pub(super) type Row = Vec<Option<String>>;

/// A connection after its login.
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
        let user = if behind.user.is_empty() {
            std::env::var("PGUSER").or_else(|_| std::env::var("USER")).unwrap_or_else(|_| "postgres".into())
        } else {
            behind.user.clone()
        };
        let database = if behind.database.is_empty() { user.as_str() } else { behind.database.as_str() };
        let parameters = [
            ("user", user.as_str()),
            ("database", database),
            ("application_name", "loadline"),
            ("client_encoding", "UTF8"),
        ];
        frontend::startup_message(parameters, &mut client.output)?;
        client.send()?;
        client.log_in(&user, behind)?;
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

    fn log_in(&mut self, user: &str, behind: &Behind) -> Result<(), DatabaseError> {
        let needed = || {
            let why = "it wants a password: give one in PGPASSWORD, ~/.pgpass, --behind-file or the URL";
            password(behind).ok_or_else(|| DatabaseError::Login(why.into()))
        };
        let mut scram = None;
        loop {
            match self.receive()? {
                Message::AuthenticationOk | Message::BackendKeyData(_) => {}
                Message::AuthenticationCleartextPassword if !connection::is_local(&self.connection) => {
                    let why = "it wants the password in clear text, and loadline sends it over no network";
                    return Err(DatabaseError::Login(why.into()));
                }
                Message::AuthenticationCleartextPassword => {
                    frontend::password_message(needed()?.as_bytes(), &mut self.output)?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(user.as_bytes(), needed()?.as_bytes(), body.salt());
                    frontend::password_message(hash.as_bytes(), &mut self.output)?;
                }
                Message::AuthenticationSasl(body) => {
                    if !body.mechanisms().any(|name| Ok(name == sasl::SCRAM_SHA_256))? {
                        return Err(DatabaseError::Login("it offers no login that loadline knows".into()));
                    }
                    let first = sasl::ScramSha256::new(needed()?.as_bytes(), sasl::ChannelBinding::unsupported());
                    frontend::sasl_initial_response(sasl::SCRAM_SHA_256, first.message(), &mut self.output)?;
                    scram = Some(first);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().ok_or(DatabaseError::Protocol("PostgreSQL"))?;
                    scram.update(body.data())?;
                    frontend::sasl_response(scram.message(), &mut self.output)?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    scram.as_mut().ok_or(DatabaseError::Protocol("PostgreSQL"))?.finish(body.data())?;
                }
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ErrorResponse(body) => return Err(refused(body.fields())),
                _ => return Err(DatabaseError::Login("it wants a login that loadline does not know".into())),
            }
            self.send()?;
        }
    }

    /// Runs a statement without rows.
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

    /// Reads the answer to its end.
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

/// Returns the server's reason, safe to show.
fn refused(mut fields: ErrorFields<'_>) -> DatabaseError {
    let mut words = String::from("an error without a message");
    while let Ok(Some(field)) = fields.next() {
        if field.type_() == b'M' {
            words = bounded(&run::visible(&String::from_utf8_lossy(field.value_bytes())));
        }
    }
    DatabaseError::Refused(words)
}
