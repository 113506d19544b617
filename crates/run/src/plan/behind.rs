//! Databases that a server uses, which the user names with `--behind`. Passwords of databases stay in memory: no stored
//! plan, no run and no message to an agent contains them.

mod parse;
mod percent;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use percent::encoded;

/// Maximum number of databases that the user may name with `--behind`.
pub const MAX_BEHIND: usize = 8;

/// Kind of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DatabaseKind {
    /// The database is PostgreSQL.
    #[default]
    Postgres,
    /// The database is MariaDB.
    Mariadb,
    /// Redis, or a server that speaks its protocol.
    Redis,
}

impl DatabaseKind {
    /// Returns the name of the kind of database. The URL of a database begins with the name of its kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
            Self::Redis => "redis",
        }
    }

    const fn port(self) -> u16 {
        match self {
            Self::Postgres => 5432,
            Self::Mariadb => 3306,
            Self::Redis => 6379,
        }
    }
}

/// A password. The debug output hides the password, and nothing stores it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(Option<String>);

impl Password {
    /// Returns the password. Only the login, and the code that removes secrets from texts, may use the password.
    pub fn reveal(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a password" } else { "no password" })
    }
}

/// A database that the server uses. A text made from this value contains no password.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(with = "String"))]
#[serde(into = "String", try_from = "String")]
pub struct Behind {
    /// Kind of the database.
    pub kind: DatabaseKind,
    /// Host name, address, or path: for PostgreSQL the directory of its unix socket, for other databases the unix
    /// socket itself.
    pub host: String,
    /// TCP port. For PostgreSQL, the port is also a part of the unix socket's name.
    pub port: u16,
    /// Name of the database user; empty for the database's default.
    pub user: String,
    /// Name or number of the database; empty for the server's default.
    pub database: String,
    /// Password from the URL or the connection string; absent if the text has none.
    pub password: Password,
    /// True if the URL asks for TLS: by `sslmode=require`, `verify-ca` or `verify-full`, or by `postgres+tls://`.
    pub tls: bool,
}

impl Behind {
    /// Returns the path of the database's unix socket; `None` for a database with a host name or an address.
    pub fn socket(&self) -> Option<PathBuf> {
        let is_path = self.host.starts_with('/');
        is_path.then(|| match self.kind {
            DatabaseKind::Postgres => PathBuf::from(&self.host).join(format!(".s.PGSQL.{}", self.port)),
            DatabaseKind::Mariadb | DatabaseKind::Redis => PathBuf::from(&self.host),
        })
    }

    /// Returns the address and the database as text for people, such as `10.0.0.2:5432/app`.
    pub fn place(&self) -> String {
        let host = match self.socket() {
            Some(path) => format!("unix:{}", path.display()),
            None if self.host.contains(':') => format!("[{}]:{}", self.host, self.port),
            None => format!("{}:{}", self.host, self.port),
        };
        let database = if self.database.is_empty() || self.socket().is_some() {
            String::new()
        } else {
            format!("/{}", self.database)
        };
        crate::visible(&(host + &database)).into_owned()
    }

    /// Returns the URL of the database as a target, without the password. The URL has the user as a parameter
    /// (`?user=`). If the user name were in front of the host, loadline would hide it as a secret, as in URLs of other
    /// protocols.
    pub fn target_url(&self) -> String {
        let user = if self.user.is_empty() { String::new() } else { format!("?user={}", encoded(&self.user)) };
        match self.socket() {
            Some(path) => format!("{}+unix://{}:/{}{user}", self.kind.name(), path.display(), encoded(&self.database)),
            None => {
                let without_user = Self { user: String::new(), ..self.clone() };
                let slash = if self.database.is_empty() { "/" } else { "" };
                format!("{without_user}{slash}{user}")
            }
        }
    }
}

/// Scheme of PostgreSQL over TLS.
const TLS_SCHEME: &str = "postgres+tls";

impl fmt::Display for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.user.is_empty() { "" } else { "@" };
        let scheme = if self.tls { TLS_SCHEME } else { self.kind.name() };
        let (user, database) = (encoded(&self.user), encoded(&self.database));
        match (self.socket(), self.kind) {
            (Some(_), DatabaseKind::Postgres | DatabaseKind::Mariadb) => {
                write!(f, "{scheme}://{user}{at}/{database}?host={}&port={}", encoded(&self.host), self.port)
            }
            (Some(path), DatabaseKind::Redis) => {
                write!(f, "{scheme}+unix://{user}{at}{}", path.display())
            }
            (None, _) => {
                let host = if self.host.contains(':') { format!("[{}]", self.host) } else { encoded(&self.host) };
                let slash = if database.is_empty() { "" } else { "/" };
                write!(f, "{scheme}://{user}{at}{host}:{}{slash}{database}", self.port)
            }
        }
    }
}

impl From<Behind> for String {
    fn from(behind: Behind) -> Self {
        behind.to_string()
    }
}

impl TryFrom<String> for Behind {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests;
