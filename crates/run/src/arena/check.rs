//! Checks the user's file for `loadline arena`, which names servers and loads to compare. loadline checks the file
//! before it starts any server. An error names the file, the line of the table, and the field.

use super::plan::{ArenaEntry, ArenaPlan, ArenaProfile, ArenaResources};
use crate::{PlanError, UrlParts, toml_message};

/// Maximum length of the name of a server or a load, bytes. A comparison also names its folders after its servers and
/// loads.
const MAX_NAME_BYTES: usize = 40;
/// Maximum length of a command, a path or an image, bytes.
const MAX_TEXT_BYTES: usize = 4096;

/// Name of the TOML tables that describe servers.
const ENTRY: &str = "entry";
/// Name of the TOML tables that describe loads.
const PROFILE: &str = "profile";

impl ArenaPlan {
    /// Reads servers, loads and resources from TOML text. `file` is the file name for error messages.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, PlanError> {
        let fail = |message: String| PlanError::Toml { file: file.into(), message };
        let plan: Self = toml::from_str(text).map_err(|e| fail(toml_message(text, &e)))?;
        plan.check(text).map(|()| plan).map_err(fail)
    }

    fn check(&self, text: &str) -> Result<(), String> {
        if self.entries.is_empty() {
            return Err("it has no server: write [[entry]] with name, command and port".into());
        }
        if self.profiles.is_empty() {
            return Err("it has no load: write [[profile]] with name and path".into());
        }
        each(text, ENTRY, &self.entries, |entry| &entry.name, entry)?;
        each(text, PROFILE, &self.profiles, |profile| &profile.name, profile)?;
        resources(&self.resources).map_err(|why| format!("[resources]: {why}"))
    }
}

/// Checks all tables of one kind (servers or loads), and checks that no two of them have equal names.
fn each<T>(
    text: &str,
    kind: &str,
    tables: &[T],
    name: impl Fn(&T) -> &String,
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<(), String> {
    for (at, table) in tables.iter().enumerate() {
        let place = |why: String| format!("{}[[{kind}]] {:?}: {why}", line(text, kind, at), name(table));
        checked_name(name(table)).map_err(place)?;
        if tables[..at].iter().any(|other| name(other) == name(table)) {
            return Err(place("an earlier one has this name; give each its own".into()));
        }
        check(table).map_err(place)?;
    }
    Ok(())
}

/// Returns the beginning of an error message, such as `line 7, `, for a table of the file. The table has the index `at`
/// among the tables of the kind `kind`. Returns an empty text if no table has the index `at`.
fn line(text: &str, kind: &str, at: usize) -> String {
    let header = format!("[[{kind}]]");
    let lines = text.lines().enumerate().filter(|(_, line)| line.replace(' ', "").starts_with(&header));
    lines.map(|(line, _)| format!("line {}, ", line + 1)).nth(at).unwrap_or_default()
}

fn checked_name(name: &str) -> Result<(), String> {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c));
    match !name.is_empty() && name.len() <= MAX_NAME_BYTES && plain && !name.starts_with('.') {
        true => Ok(()),
        false => Err(format!(
            "name is {name:?}: give 1 to {MAX_NAME_BYTES} letters, digits, '-', '_', '+' or '.', not beginning with '.'"
        )),
    }
}

fn entry(entry: &ArenaEntry) -> Result<(), String> {
    bounded("command", entry.command.as_ref())?;
    bounded("build", entry.build.as_ref())?;
    match (&entry.command, &entry.image, &entry.url) {
        (_, None, None) if entry.command.is_none() => Err("it has no command, image or url: give one of them".into()),
        (None, None, Some(url)) => existing(entry, url),
        (_, image, None) => {
            image.as_ref().map_or(Ok(()), |image| checked_image(image))?;
            let ports = [entry.port, entry.tls_port];
            match (ports.iter().all(Option::is_none), ports.contains(&Some(0))) {
                (true, _) => Err("port is missing: give the port on which the server listens".into()),
                (_, true) => Err("a port is 0: give 1 to 65535".into()),
                _ => Ok(()),
            }
        }
        _ => Err("url is for a server that already runs: leave out command and image".into()),
    }
}

/// Checks the table of a server that already runs, and that therefore has a `url`.
fn existing(entry: &ArenaEntry, url: &str) -> Result<(), String> {
    if entry.port.is_some() || entry.tls_port.is_some() {
        return Err("port belongs to a command or an image: write it into the url".into());
    }
    let parts = UrlParts::parse(url);
    let known = parts.scheme.is_some_and(|scheme| ["http", "https"].contains(&scheme));
    if !known || parts.authority.is_empty() || url.len() > MAX_TEXT_BYTES {
        return Err(format!("url is {url:?}: write http://HOST:PORT or https://HOST:PORT"));
    }
    match parts.path.trim_matches('/').is_empty() {
        true => Ok(()),
        false => Err(format!("url is {url:?}: leave out its path, since each profile has its own")),
    }
}

fn checked_image(image: &str) -> Result<(), String> {
    let plain = image.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:@".contains(c));
    match plain && !image.is_empty() && !image.starts_with('-') && image.len() <= MAX_TEXT_BYTES {
        true => Ok(()),
        false => Err(format!("image is {image:?}: write it as docker.io/library/nginx:1.28")),
    }
}

fn bounded(field: &str, text: Option<&String>) -> Result<(), String> {
    match text {
        Some(text) if text.trim().is_empty() => Err(format!("{field} is empty: leave it out, or give a command")),
        Some(text) if text.len() > MAX_TEXT_BYTES || text.contains('\0') => {
            Err(format!("{field} has {} bytes: give at most {MAX_TEXT_BYTES}, without zero bytes", text.len()))
        }
        _ => Ok(()),
    }
}

fn profile(profile: &ArenaProfile) -> Result<(), String> {
    let ArenaProfile { path, connections, pipeline, rate, .. } = profile;
    if profile.requests.is_some() && path != "/" {
        return Err("path and requests exclude each other: write the paths into the file of requests".into());
    }
    if !path.starts_with('/') || path.len() > MAX_TEXT_BYTES || path.bytes().any(|b| b <= b' ' || b == 0x7f) {
        return Err(format!("path is {path:?}: begin it with '/', and write spaces as %20"));
    }
    bounded("requests", profile.requests.as_ref())?;
    bounded("expect_text", profile.expect_text.as_ref())?;
    if !(1..=100_000).contains(connections) {
        return Err(format!("connections is {connections}: give 1 to 100,000"));
    }
    if !(1..=4096).contains(pipeline) || profile.new_connections && *pipeline > 1 {
        return Err(format!("pipeline is {pipeline}: give 1 to 4096, and 1 with new_connections"));
    }
    if !(0.1..=120.0).contains(&profile.warm_up_s) {
        return Err(format!("warm_up_s is {}: give 0.1 to 120 seconds", profile.warm_up_s));
    }
    match rate {
        Some(rate) if !(*rate > 0.0 && *rate <= 1e8) => {
            Err(format!("rate is {rate}: give requests per second above 0, at most 100,000,000"))
        }
        _ => Ok(()),
    }
}

fn resources(resources: &ArenaResources) -> Result<(), String> {
    if let Some(cpu) = resources.cpus.iter().find(|cpu| **cpu >= 4096) {
        return Err(format!("cpus names CPU {cpu}: give numbers below 4096"));
    }
    match resources.quota {
        Some(quota) if !(0.01..=4096.0).contains(&quota) => {
            Err(format!("quota is {quota}: give CPUs from 0.01 to 4096, such as 0.5"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[[entry]]\nname = \"a\"\ncommand = \"./a\"\nport = 8080\n\n[[profile]]\nname = \"hello\"\n";

    fn error(text: &str) -> String {
        ArenaPlan::from_toml("arena.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn a_small_file_has_defaults() {
        let plan = ArenaPlan::from_toml("arena.toml", GOOD).unwrap();
        assert_eq!(plan.profiles[0], ArenaProfile { name: "hello".into(), ..ArenaProfile::default() });
        assert_eq!(plan.entries[0].target(false, "/x"), "http://127.0.0.1:8080/x");
        let rate = ArenaPlan::from_toml("f", &format!("{GOOD}rate = 500\n[resources]\ncpus = [1]\nquota = 0.5\n"));
        let plan = rate.unwrap();
        assert_eq!((plan.profiles[0].rate, plan.resources.quota), (Some(500.0), Some(0.5)));
        let again: ArenaPlan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(again, plan);
    }

    #[test]
    fn each_error_names_the_line_and_the_field() {
        let entry = |fields: &str| format!("{GOOD}[[entry]]\nname = \"b\"\n{fields}\n");
        for (text, words) in [
            (String::new(), "no server"),
            (GOOD.replace("[[profile]]\nname = \"hello\"\n", ""), "no load"),
            (entry("port = 1"), "line 8, [[entry]] \"b\": it has no command"),
            (entry("command = \"b\""), "line 8, [[entry]] \"b\": port is missing"),
            (entry("command = \"b\"\nport = 0"), "a port is 0"),
            (entry("command = \"b\"\nport = 70000"), "line 11"),
            (entry("command = \" \"\nport = 1"), "command is empty"),
            (entry("url = \"http://h:1\"\ncommand = \"b\""), "leave out command"),
            (entry("url = \"http://h:1/x\""), "leave out its path"),
            (entry("url = \"ftp://h:1\""), "write http://"),
            (entry("image = \"-v /:/x\"\nport = 1"), "image is"),
            (entry("command = \"b\"\nport = 1\ncomand = 1"), "did you mean `command`"),
            (entry("command = \"b\"\nport = 1").replace("\"b\"\nc", "\"a\"\nc"), "an earlier one has this name"),
            (entry("command = \"b\"\nport = 1").replace("\"b\"\nc", "\"a/b\"\nc"), "name is \"a/b\""),
            (format!("{GOOD}path = \"x\"\n"), "line 6, [[profile]] \"hello\": path is"),
            (format!("{GOOD}connections = 0\n"), "connections is 0"),
            (format!("{GOOD}pipeline = 2\nnew_connections = true\n"), "pipeline is 2"),
            (format!("{GOOD}rate = 0\n"), "rate is 0"),
            (format!("{GOOD}warm_up_s = 0\n"), "warm_up_s is 0"),
            (format!("{GOOD}requests = \"r.toml\"\npath = \"/x\"\n"), "exclude each other"),
            (format!("{GOOD}[resources]\nquota = 0\n"), "[resources]: quota"),
            (format!("{GOOD}[resources]\ncpus = [5000]\n"), "CPU 5000"),
        ] {
            let error = error(&text);
            assert!(error.starts_with("arena.toml: ") && error.contains(words), "{text}\n{error}");
        }
        let many = "[[entry]]\nname = \"a\"\ncommand = \"a\"\nport = 1\n".repeat(65);
        assert!(error(&many).contains("more than 64 elements"), "{}", error(&many));
    }
}
