//! Passwords of databases: from the URL, the environment, or PostgreSQL's password file.

use std::path::PathBuf;

use run::{Behind, DatabaseKind};

/// Maximum number of bytes that are read from the password file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Returns the user name for a PostgreSQL login whose address names no user: `$PGUSER`, otherwise `$USER`, otherwise
/// `postgres`.
pub fn default_user() -> String {
    std::env::var("PGUSER").or_else(|_| std::env::var("USER")).unwrap_or_else(|_| "postgres".into())
}

/// Returns the password of a database: from its URL, otherwise from the environment, otherwise (only for PostgreSQL)
/// from the password file `~/.pgpass` or `$PGPASSFILE`.
pub fn password(behind: &Behind) -> Option<String> {
    let variable = match behind.kind {
        DatabaseKind::Postgres => "PGPASSWORD",
        DatabaseKind::Mariadb => "MYSQL_PWD",
        DatabaseKind::Redis => "REDISCLI_AUTH",
    };
    let of_url = behind.password.reveal().map(str::to_owned);
    of_url.or_else(|| std::env::var(variable).ok()).or_else(|| match behind.kind {
        DatabaseKind::Postgres => of_file(&read_file()?, behind),
        DatabaseKind::Mariadb | DatabaseKind::Redis => None,
    })
}

/// Reads PostgreSQL's password file. Like psql, this function ignores a file to which the group or others have access.
fn read_file() -> Option<String> {
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;
    let home = || std::env::home_dir().map(|home| home.join(".pgpass"));
    let path = std::env::var_os("PGPASSFILE").map(PathBuf::from).or_else(home)?;
    let file = std::fs::File::open(path).ok()?;
    let about = file.metadata().ok()?;
    let mut text = String::new();
    let is_private = about.is_file() && about.permissions().mode() & 0o077 == 0;
    file.take(MAX_FILE_BYTES).read_to_string(&mut text).ok().filter(|_| is_private)?;
    Some(text)
}

/// Finds the first line that applies to a database in a password file, and returns the password in this line. Source:
/// PostgreSQL's manual, "The Password File".
fn of_file(text: &str, behind: &Behind) -> Option<String> {
    let host = if behind.host.starts_with('/') { "localhost" } else { &behind.host };
    let database = if behind.database.is_empty() { &behind.user } else { &behind.database };
    let wanted = [host, &behind.port.to_string(), database, &behind.user];
    let lines = text.trim_start_matches('\u{feff}').lines();
    lines.filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let (password, place) = fields.split_last()?;
        let matches = |(field, wanted): (&String, &&str)| field == "*" || field == wanted;
        (place.len() == wanted.len() && place.iter().zip(&wanted).all(matches)).then(|| password.clone())
    })
}

/// Splits a line of the password file at its first four colons that have no backslash before them. Removes each
/// backslash, but keeps the character after the backslash.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut chars) = (vec![String::new()], line.chars());
    while let Some(c) = chars.next() {
        let last = fields.len() - 1;
        match c {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields[last].extend(chars.next()),
            c => fields[last].push(c),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_matches_has_the_password() {
        let file = "# comment\nother:5432:*:*:no\nlocalhost:*:shop:app:p\\:a\\\\ss\n*:*:*:*:last\n";
        let of = |url: &str| of_file(file, &url.parse().unwrap());
        assert_eq!(of("postgres://app@localhost/shop").as_deref(), Some(r"p:a\ss"));
        assert_eq!(of("host=/run/pg user=app dbname=shop").as_deref(), Some(r"p:a\ss"));
        assert_eq!(of("postgres://app@db/shop").as_deref(), Some("last"));
        let marked = format!("\u{feff}{}", &file[file.find("localhost").unwrap()..]);
        assert_eq!(of_file(&marked, &"postgres://app@localhost/shop".parse().unwrap()).as_deref(), Some(r"p:a\ss"));
        assert_eq!(of_file("broken\n::::\n", &"postgres://app@db/shop".parse().unwrap()), None);
    }
}
