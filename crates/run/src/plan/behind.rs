//! Databases that a server uses, which the user names with `--behind`. Passwords of databases stay in memory: no stored
//! plan, no run and no message to an agent contains them.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::url_parts::UrlParts;

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

    fn of_url(url: &str) -> Result<Self, String> {
        let parts = UrlParts::parse(url);
        let (scheme, is_unix) = parts.transport();
        let kind = match scheme.to_ascii_lowercase().as_str() {
            "postgres" | "postgresql" | TLS_SCHEME => DatabaseKind::Postgres,
            "mariadb" | "mysql" => DatabaseKind::Mariadb,
            "redis" => DatabaseKind::Redis,
            "rediss" => return Err("loadline reads Redis without TLS only: give redis://".into()),
            _ => return Err(format!("the scheme {scheme:?} is not known; give postgres://, mariadb:// or redis://")),
        };
        let tls = scheme.eq_ignore_ascii_case(TLS_SCHEME);
        let mut found = Self { kind, port: kind.port(), tls, ..Self::default() };
        let (login, place) = parts.authority.rsplit_once('@').unwrap_or(("", parts.authority));
        let (user, password) = login.split_once(':').map_or((login, None), |(user, word)| (user, Some(word)));
        found.user = decoded(user)?;
        found.password = Password(password.map(decoded).transpose()?);
        let (path, query) = parts.path.split_once('?').unwrap_or((parts.path, ""));
        match is_unix {
            true => found.host = decoded(path)?,
            false => found.database = decoded(path.trim_start_matches('/'))?,
        }
        found.set_place(place)?;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or("a parameter of the URL has no value")?;
            found.set(name, &decoded(value)?)?;
        }
        Ok(found)
    }

    /// Sets host and port from the part of a URL that contains both.
    fn set_place(&mut self, place: &str) -> Result<(), String> {
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, rest)) => (host, rest.strip_prefix(':')),
            None => place.rsplit_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        if !host.is_empty() {
            self.host = decoded(host)?;
        }
        port.filter(|port| !port.is_empty()).map_or(Ok(()), |port| self.set("port", port))
    }

    /// Sets the field for one parameter of a PostgreSQL connection string, such as `port`.
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "host" | "hostaddr" => self.host = value.into(),
            "port" => self.port = value.parse().map_err(|_| format!("{value:?} is not a port"))?,
            "user" => self.user = value.into(),
            "dbname" => self.database = value.into(),
            "password" => self.password = Password(Some(value.into())),
            "sslmode" => {
                self.tls |= match value {
                    "disable" | "allow" | "prefer" => false,
                    "require" | "verify-ca" | "verify-full" => true,
                    _ => return Err(format!("sslmode={value}: give disable, prefer or require")),
                }
            }
            "load_balance_hosts" => {}
            // loadline skips parameters that it does not need, such as application_name. A name that resembles a needed
            // parameter is probably misspelt. loadline refuses such a parameter, because without it, loadline could
            // connect to another database. The error does not repeat the parameter's name, because the name may be a
            // part of a password.
            _ => {
                let near = crate::nearest(name, ["host", "port", "user", "dbname", "password"]);
                return near.map_or(Ok(()), |near| Err(format!("a parameter is unknown; did you mean {near}?")));
            }
        }
        Ok(())
    }

    /// Reads a connection string in PostgreSQL's format: `host=/run/postgresql dbname=app`.
    fn of_pairs(text: &str) -> Result<Self, String> {
        let mut found = Self { port: DatabaseKind::Postgres.port(), ..Self::default() };
        for word in text.split_ascii_whitespace() {
            let (name, value) = word.split_once('=').ok_or(FORMS)?;
            found.set(name, value.trim_matches('\''))?;
        }
        Ok(found)
    }
}

/// Scheme of PostgreSQL over TLS.
const TLS_SCHEME: &str = "postgres+tls";

/// Advice that lists the accepted formats of a database's address.
const FORMS: &str = "give postgres://USER@HOST/DB, host=/SOCKET/DIR dbname=DB, mariadb://USER@HOST/DB or redis://HOST";

impl Behind {
    /// Reads the URL or the connection string of a database that itself is the target of the load. A target database
    /// may use TLS, but a database behind a server may not. An error never repeats any part of the text that may be a
    /// password.
    pub fn of_target(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let mut found = match text {
            _ if text.contains("://") => Self::of_url(text)?,
            _ if text.contains('=') => Self::of_pairs(text)?,
            _ => return Err(FORMS.into()),
        };
        if found.host.is_empty() {
            found.host = "localhost".into();
        }
        if found.kind == DatabaseKind::Redis && !found.database.chars().all(|c| c.is_ascii_digit()) {
            return Err("a database of Redis is a number: redis://HOST/0".into());
        }
        Ok(found)
    }
}

impl std::str::FromStr for Behind {
    type Err = String;

    /// Reads the URL or the connection string of a database behind a server, as [`Behind::of_target`] does, but refuses
    /// TLS.
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::of_target(text)?;
        match found.tls {
            true => Err("loadline connects to databases behind a server without TLS: leave sslmode out".into()),
            false => Ok(found),
        }
    }
}

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

/// Decodes percent-encoded characters such as `%2F`.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next()), digit(rest.next()));
                high.zip(low).map(|(high, low)| (high * 16 + low) as u8).ok_or("a % in the URL needs two hex digits")?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| "the URL is not UTF-8".into())
}

/// Percent-encodes all characters except letters, digits, and the characters `-._~/`.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(byte.into()),
            byte => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Behind {
        text.parse().unwrap()
    }

    #[test]
    fn a_password_is_in_no_text() {
        let found = parse("postgres://app:hunter%402@db.example:5433/shop?application_name=x");
        assert_eq!(found.password.reveal(), Some("hunter@2"));
        assert_eq!(found.to_string(), "postgres://app@db.example:5433/shop");
        assert_eq!(found.place(), "db.example:5433/shop");
        assert!(!format!("{found:?}").contains("hunter"));
        assert!(!serde_json::to_string(&found).unwrap().contains("hunter"));
        let pairs = parse("host=127.0.0.1 user=app password=hunter2 dbname=shop");
        assert_eq!((pairs.password.reveal(), pairs.to_string().contains("hunter")), (Some("hunter2"), false));
    }

    #[test]
    fn unix_sockets_are_named_by_their_directory() {
        for text in [
            "host=/run/pg port=7955 user=app dbname=shop",
            "postgres://app@/shop?host=/run/pg&port=7955",
            "postgresql://app@%2Frun%2Fpg:7955/shop",
        ] {
            let found = parse(text);
            assert_eq!(found.socket(), Some("/run/pg/.s.PGSQL.7955".into()), "{text}");
            assert_eq!((found.user.as_str(), found.database.as_str()), ("app", "shop"));
        }
        assert_eq!(parse("redis+unix:///run/redis.sock").socket(), Some("/run/redis.sock".into()));
    }

    #[test]
    fn the_printed_url_parses_to_the_same_database() {
        for text in [
            "postgres://app@[::1]:5432/shop",
            "postgres://localhost",
            "host=/run/pg dbname=a%b user=x@y",
            "redis://10.0.0.2:6380/3",
            "redis+unix:///run/redis.sock",
            "mariadb://app@h/shop",
            "mariadb://app@/shop?host=/run/mysqld/mysqld.sock",
        ] {
            let found = parse(text);
            assert_eq!(parse(&found.to_string()), found, "{text}");
        }
    }

    #[test]
    fn parameters_of_drivers_are_ignored_and_misspelt_ones_refused() {
        let more = "application_name=x&sslmode=prefer&connect_timeout=3&charset=utf8mb4&pool_size=5&keepalives_idle=9";
        assert_eq!(parse(&format!("postgres://app@h/shop?{more}")), parse("postgres://app@h/shop"));
        for (wrong, right) in [("dbnam=shop", "dbname"), ("prot=5433", "port"), ("username=app", "user")] {
            let why = format!("host=h {wrong}").parse::<Behind>().unwrap_err();
            assert_eq!(why, format!("a parameter is unknown; did you mean {right}?"));
        }
    }

    #[test]
    fn only_a_target_may_use_tls() {
        for text in ["postgres://app@h:1/shop?sslmode=require", "postgres+tls://app@h:1/shop"] {
            let found = Behind::of_target(text).unwrap();
            assert_eq!((found.tls, found.to_string().as_str()), (true, "postgres+tls://app@h:1/shop"), "{text}");
            assert!(text.parse::<Behind>().unwrap_err().contains("without TLS"), "{text}");
        }
        assert!(!Behind::of_target("postgres://h?sslmode=prefer").unwrap().tls);
        assert!(Behind::of_target("postgres://h?sslmode=on").unwrap_err().contains("give disable"));
    }

    #[test]
    fn errors_on_database_urls_hide_the_password() {
        let bad = [
            "oracle://app:hunter2@h/db",
            "rediss://:hunter2@h",
            "postgres://app:hunter2@h/db?sslmode=verify-full",
            "postgres://app:hunter2%4@h/db",
            "redis://:hunter2@h/shop",
            "postgres://app:hunter2@h/db?dbnam=shop",
            "host=h usr=hunter2",
            "hunter2",
        ];
        for text in bad {
            let why = text.parse::<Behind>().unwrap_err();
            assert!(!why.contains("hunter2"), "{why}");
        }
    }
}
