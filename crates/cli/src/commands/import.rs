//! `loadline import`: converts requests from any supported format to TOML.

use std::path::PathBuf;

use run::number::prose::counted;

use crate::args::mix_checks;
use crate::{Exit, output};

/// Arguments of `import`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File of requests: a list of URLs, curl command lines, a HAR file, vegeta's JSON targets, or an access log
    file: PathBuf,
    /// Format of the file, if its content does not show it (`loadline list formats`), or log for an access log
    #[arg(long, value_name = "FORM")]
    format: Option<String>,
    /// More methods of an access log to keep, such as POST,PUT
    #[arg(long, value_name = "METHODS", value_delimiter = ',', value_parser = mix_checks::method)]
    allow: Vec<String>,
    /// Field names of an access log in JSON: path=uri,method=verb,time=at,status=code
    #[arg(long, value_name = "NAMES")]
    replay_fields: Option<String>,
    /// Keep only requests to this scheme and host, such as https://example.org
    #[arg(long, value_name = "ORIGIN")]
    origin: Option<String>,
}

/// Reads the requests and prints them as TOML.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(origin) = &args.origin {
        let parts = run::UrlParts::parse(origin);
        anyhow::ensure!(
            parts.scheme.is_some() && !parts.authority.is_empty(),
            "--origin {origin:?} names no scheme and host: write it like https://example.org"
        );
    }
    let of_log_fields = args.replay_fields.is_some() || !args.allow.is_empty();
    if of_log_fields || args.format.as_deref() == Some("log") {
        return of_log(args);
    }
    // The targets of vegeta also look like lines of a log (a method and a URL). `import` therefore tries the formats of
    // request files before the formats of logs.
    let other = requests::read_file(&args.file, args.format.as_deref());
    // Only the reader of logs unpacks gzip, so it tells why a damaged file cannot be unpacked.
    let is_for_log = || requests::looks_like_log(&args.file) || requests::is_damaged_gzip(&args.file);
    if args.format.is_none() && other.is_err() && is_for_log() {
        return of_log(args);
    }
    let (mut imported, row) = other?;
    let origin = args.origin.clone().or(imported.origin().map(str::to_owned));
    let first = imported.origin().map(|named| format!("; its first request goes to {named}")).unwrap_or_default();
    if let Some(origin) = &origin {
        imported.keep_origin(origin);
    }
    anyhow::ensure!(
        !imported.found.is_empty(),
        "{} has no usable request to {}{first}{}",
        args.file.display(),
        origin.unwrap_or_default(),
        imported.left_out_words().map_or(String::new(), |words| format!("; {words}"))
    );
    let number = counted(imported.found.len() as f64, "request");
    let mut text = format!("# {number} of {} ({})", args.file.display(), row.name);
    text += &origin.map_or("\n".into(), |origin| format!(", made to {origin}\n"));
    text += &comments(&imported);
    output::print(&(text + &requests::to_toml(&requests::set(imported, String::new(), None))))?;
    Ok(Exit::Done)
}

/// Returns the comments that stand above the requests in the file. The comments say which requests were left out, which
/// headers have secret values, and which command sends the requests.
fn comments(imported: &requests::Imported) -> String {
    let mut text = imported.left_out_words().map_or(String::new(), |words| comment(&words));
    let secrets = secrets(imported);
    if !secrets.is_empty() {
        let names = secrets.join(", ");
        text += &format!(
            "# These headers may hold secrets ({names}): write $env:NAME instead to keep them out of this file.\n"
        );
    }
    text + "# Send them with: loadline find http://HOST:PORT/ --requests THIS-FILE\n\n"
}

/// Prints the distinct requests of an access log as TOML. The weight of a request is the number of times that it
/// occurs.
fn of_log(args: &Args) -> anyhow::Result<Exit> {
    let fields = args.replay_fields.clone().unwrap_or_default();
    let replay = requests::replay(&args.file, &requests::ReplayOptions { allow: args.allow.clone(), fields })?;
    let mut text = format!(
        "# {} of {} (access log)\n",
        counted(replay.requests.len() as f64, "different request"),
        args.file.display()
    );
    let left_out = requests::left_out_words(&replay.left_out);
    left_out.iter().chain(&replay.summary.words()).for_each(|line| text += &comment(line));
    let set = run::RequestSet { requests: replay.requests, ..run::RequestSet::default() };
    output::print(&(text + "\n" + &requests::to_toml(&set)))?;
    Ok(Exit::Done)
}

/// Returns a comment line for TOML. Replaces control characters, because a line feed from an untrusted file would end
/// the comment.
fn comment(text: &str) -> String {
    format!("# {}\n", run::visible(text))
}

/// Returns the names of the headers whose values are secret.
fn secrets(imported: &requests::Imported) -> Vec<String> {
    let headers = imported.found.iter().flat_map(|found| &found.request.headers);
    let names: std::collections::BTreeSet<String> =
        headers.filter(|(name, _)| run::is_secret_header(name)).map(|(name, _)| name.to_ascii_lowercase()).collect();
    names.into_iter().collect()
}
