//! A client that runs statements in MariaDB's text protocol. The client uses no protocol library, because even the
//! smallest library, mysql_common, would add 50 crates.

use std::io::{Read as _, Write as _};

use run::Behind;
use sys::blocking_stream::BlockingStream;

use super::packets::{self, Greeting, NATIVE, Reader};
use crate::DatabaseError;
use crate::connection;
use crate::credentials::password;
use crate::statement::bounded;

/// Maximum length of a packet, bytes.
const MAX_PACKET_BYTES: usize = 1 << 20;
/// Maximum number of rows that the client keeps from one answer.
const MAX_ROWS: usize = 4096;
/// First byte of the packet that runs a statement.
const QUERY: u8 = 3;

/// First byte of a packet that reports success.
const OK: u8 = 0;
/// First byte of a packet that ends a list of columns or rows.
const END: u8 = 0xfe;
/// First byte of a packet that reports an error.
const ERROR: u8 = 0xff;

/// Columns of one row as text; `None` for the SQL value NULL.
pub(super) type Row = Vec<Option<String>>;

/// A connection that has logged in.
#[derive(Debug)]
pub(super) struct Client {
    connection: BlockingStream,
    sequence: u8,
}

impl Client {
    /// Connects and logs in.
    pub(super) fn connect(behind: &Behind) -> Result<Self, DatabaseError> {
        let mut client = Self { connection: connection::open(behind)?, sequence: 0 };
        let first = client.receive()?;
        let greeting = Greeting::parse(&first).ok_or(PROTOCOL)?;
        if !greeting.version.contains("MariaDB") {
            let version = bounded(&run::visible(&greeting.version));
            return Err(DatabaseError::Login(format!("it is version {version}; loadline samples MariaDB only")));
        }
        let user = if behind.user.is_empty() { std::env::var("USER").unwrap_or_default() } else { behind.user.clone() };
        let password = password(behind).unwrap_or_default();
        client.send(&packets::login(&user, &behind.database, &packets::proof(&password, &greeting.nonce)))?;
        client.finish_login(&password)?;
        Ok(client)
    }

    fn finish_login(&mut self, password: &str) -> Result<(), DatabaseError> {
        loop {
            let packet = self.receive()?;
            match packet.first() {
                Some(&OK) => return Ok(()),
                Some(&END) => {
                    let mut reader = Reader(packet.get(1..).unwrap_or_default());
                    let method = reader.text().unwrap_or_default();
                    if method != NATIVE.as_bytes() {
                        let why = format!("it wants a login that loadline does not know; give a user with {NATIVE}");
                        return Err(DatabaseError::Login(why));
                    }
                    let nonce = reader.0.strip_suffix(&[0]).unwrap_or(reader.0);
                    let proof = packets::proof(password, nonce);
                    self.send(&proof)?;
                }
                _ => return Err(refused(&packet)),
            }
        }
    }

    fn send(&mut self, packet: &[u8]) -> Result<(), DatabaseError> {
        let mut bytes = (packet.len() as u32).to_le_bytes();
        bytes[3] = self.sequence;
        self.connection.write_all(&[&bytes, packet].concat())?;
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<u8>, DatabaseError> {
        let mut head = [0; 4];
        self.connection.read_exact(&mut head)?;
        let [a, b, c, sequence] = head;
        self.sequence = sequence.wrapping_add(1);
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        if length > MAX_PACKET_BYTES {
            return Err(PROTOCOL);
        }
        let mut packet = vec![0; length];
        self.connection.read_exact(&mut packet)?;
        Ok(packet)
    }

    /// Runs a statement and returns its rows.
    pub(super) fn query(&mut self, statement: &str) -> Result<Vec<Row>, DatabaseError> {
        self.sequence = 0;
        self.send(&[&[QUERY], statement.as_bytes()].concat())?;
        let first = self.receive()?;
        match first.first() {
            Some(&OK) => return Ok(Vec::new()),
            Some(&ERROR) | None => return Err(refused(&first)),
            Some(_) => {}
        }
        // One end packet follows the descriptions of the columns, and another follows the rows.
        while !is_end(&self.receive()?) {}
        let mut rows = Vec::new();
        loop {
            let packet = self.receive()?;
            match packet.first() {
                Some(&ERROR) => return Err(refused(&packet)),
                _ if is_end(&packet) => return Ok(rows),
                _ if rows.len() < MAX_ROWS => rows.push(packets::row(&packet).ok_or(PROTOCOL)?),
                _ => {}
            }
        }
    }
}

const PROTOCOL: DatabaseError = DatabaseError::Protocol("MariaDB");

/// Returns true if a packet ends a list of columns or rows. A packet with a row may also begin with the byte [`END`],
/// but such a packet has at least 9 bytes.
fn is_end(packet: &[u8]) -> bool {
    packet.first() == Some(&END) && packet.len() < 9
}

/// Returns the error that an error packet describes, with a text that is safe to show.
fn refused(packet: &[u8]) -> DatabaseError {
    DatabaseError::Refused(bounded(&run::visible(&packets::error(packet))))
}
