//! The login to PostgreSQL, without I/O: trust, passwords in clear text, MD5 and SCRAM-SHA-256. Source: PostgreSQL's
//! manual, "Message Flow".

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use super::ServerError;

/// User, database and password of a connection.
#[derive(Clone, Default)]
pub struct Credentials {
    /// Name of the user.
    pub user: String,
    /// Name of the database; if empty, the name of the user is used.
    pub database: String,
    /// Password, if one is known.
    pub password: Option<String>,
    /// True if the connection is private, so that a password may be sent in clear text.
    pub is_private: bool,
}

/// Reason why a login failed. No error text contains a password.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The server wants a password, and none is known.
    #[error("it wants a password: give one in PGPASSWORD, in ~/.pgpass or in the URL")]
    NoPassword,
    /// The server wants the password in clear text over a network.
    #[error("it wants the password in clear text, and loadline sends it over no network without TLS")]
    ClearText,
    /// The server offers no login method that loadline supports.
    #[error("it offers no login that loadline knows: allow trust, scram-sha-256 or md5 in its pg_hba.conf")]
    UnknownMethod,
    /// The server refused the login.
    #[error("it refuses the connection with {0}")]
    Refused(ServerError),
    /// The server's messages break the protocol.
    #[error("its answer is no answer of PostgreSQL")]
    Protocol,
    /// SCRAM failed, because the server does not know the password, or sends wrong messages.
    #[error("the login by SCRAM failed: {0}")]
    Scram(std::io::Error),
}

/// State of a login.
#[derive(Default)]
pub struct Login {
    scram: Option<sasl::ScramSha256>,
}

impl Login {
    /// Appends the first message of a connection.
    pub fn begin(credentials: &Credentials, out: &mut BytesMut) -> Result<(), LoginError> {
        let user = credentials.user.as_str();
        let database = if credentials.database.is_empty() { user } else { &credentials.database };
        let parameters =
            [("user", user), ("database", database), ("application_name", "loadline"), ("client_encoding", "UTF8")];
        frontend::startup_message(parameters, out).map_err(|_| LoginError::Protocol)
    }

    /// Handles a message of the server, and appends the client's answer, if any. Returns true if the login is complete.
    pub fn receive(
        &mut self,
        message: &Message,
        credentials: &Credentials,
        out: &mut BytesMut,
    ) -> Result<bool, LoginError> {
        let password = || credentials.password.as_deref().ok_or(LoginError::NoPassword);
        let written = match message {
            Message::ReadyForQuery(_) => return Ok(true),
            Message::AuthenticationOk
            | Message::BackendKeyData(_)
            | Message::ParameterStatus(_)
            | Message::NoticeResponse(_) => Ok(()),
            Message::AuthenticationCleartextPassword if !credentials.is_private => return Err(LoginError::ClearText),
            Message::AuthenticationCleartextPassword => frontend::password_message(password()?.as_bytes(), out),
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(credentials.user.as_bytes(), password()?.as_bytes(), body.salt());
                frontend::password_message(hash.as_bytes(), out)
            }
            Message::AuthenticationSasl(body) => {
                let mut mechanisms = body.mechanisms();
                if !mechanisms.any(|name| Ok(name == sasl::SCRAM_SHA_256)).map_err(|_| LoginError::Protocol)? {
                    return Err(LoginError::UnknownMethod);
                }
                let first = sasl::ScramSha256::new(password()?.as_bytes(), sasl::ChannelBinding::unsupported());
                let written = frontend::sasl_initial_response(sasl::SCRAM_SHA_256, first.message(), out);
                self.scram = Some(first);
                written
            }
            Message::AuthenticationSaslContinue(body) => {
                let scram = self.scram.as_mut().ok_or(LoginError::Protocol)?;
                scram.update(body.data()).map_err(LoginError::Scram)?;
                frontend::sasl_response(scram.message(), out)
            }
            Message::AuthenticationSaslFinal(body) => {
                self.scram.as_mut().ok_or(LoginError::Protocol)?.finish(body.data()).map_err(LoginError::Scram)?;
                Ok(())
            }
            Message::ErrorResponse(body) => return Err(LoginError::Refused(ServerError::from_fields(body.fields()))),
            _ => return Err(LoginError::UnknownMethod),
        };
        written.map(|()| false).map_err(|_| LoginError::Protocol)
    }
}
