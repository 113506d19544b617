//! Reads the URL or the connection string of a database. Errors never repeat any part of the text that may be a
//! password.

use super::percent::decoded;
use super::{Behind, DatabaseKind, Password, TLS_SCHEME};
use crate::plan::url_parts::UrlParts;

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

    /// Reads a connection string in PostgreSQL's format: `host=/run/postgresql dbname=app`.
    fn of_pairs(text: &str) -> Result<Self, String> {
        let mut found = Self { port: DatabaseKind::Postgres.port(), ..Self::default() };
        for word in text.split_ascii_whitespace() {
            let (name, value) = word.split_once('=').ok_or(FORMS)?;
            found.set(name, value.trim_matches('\''))?;
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
