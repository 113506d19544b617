//! Tips for a target at the wrong place on the command line. The target is before the command, or the command takes no
//! target there.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Tips for a URL that a command does not take. Each row contains commands that do not take the URL, and the tip for
/// the user.
const SURPLUS_URLS: &[(&[&str], &str)] = &[
    (&["watch", "waits"], "--port PORT names a server on this machine, and --server-pid PID its process"),
    (&["serve"], "--listen 127.0.0.1:PORT sets the address of this server"),
    (
        &["find", "load", "prove", "size", "compare"],
        "for several URLs of one server: write them to a file, one per line, and give it with --requests FILE; for two \
         servers: loadline compare URL URL",
    ),
];

/// Names that other programs give to their commands, each row with the command of loadline that does the same.
const FOREIGN_COMMANDS: &[(&[&str], &str, &str)] = &[
    (&["attack", "bench", "benchmark", "run", "test", "stress", "fire", "hit", "loadtest"], "load", "sends one load"),
    (&["max", "capacity", "search", "saturate"], "find", "finds the capacity"),
    (&["diff", "cmp", "vs"], "compare", "compares two runs or servers"),
    (&["monitor", "top", "stat", "observe"], "watch", "watches a server without loading it"),
    (&["server", "httpd", "listen"], "serve", "runs a reference server"),
    (&["convert"], "import", "converts requests of other programs"),
    (&["plot", "show", "dump"], "report", "renders a run that was kept"),
];

/// Returns the tip for a command of another program, such as `attack`.
pub(super) fn foreign_command(error: &Error, words: &[&str]) -> Option<String> {
    let word = words.first().filter(|_| error.kind() == ErrorKind::InvalidSubcommand)?;
    let (_, own, does) = FOREIGN_COMMANDS.iter().find(|(foreign, ..)| foreign.contains(word))?;
    let target = words.iter().find(|word| is_target(word)).filter(|_| *own == "load" || *own == "find");
    let target = target.map_or(String::new(), |target| format!(" {target}"));
    let other = if *own == "load" { format!("; loadline find{target} finds the capacity") } else { String::new() };
    Some(format!("the command for this is {own}: loadline {own}{target} {does}{other}"))
}

/// Returns the tip for a command line that has a target but no command of loadline, such as `loadline bench URL`.
/// Returns `None` for a misspelt command, because clap has its own tip for such a command.
pub(super) fn without_command(error: &Error, words: &[&str]) -> Option<String> {
    let similar = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(names)) => names.as_slice(),
        _ => &[],
    };
    let misspelt = words.first().is_some_and(|word| run::nearest(word, similar.iter().map(String::as_str)).is_some());
    let is_flag = words.first().is_some_and(|word| word.starts_with('-'));
    let named = error.kind() != ErrorKind::InvalidSubcommand && !is_flag;
    let target = words.iter().find(|word| is_target(word)).filter(|_| !misspelt && !named)?;
    Some(format!(
        "name the command first: loadline find {target} finds the capacity, loadline load {target} sends one load"
    ))
}

/// Returns true if a word is a URL or `HOST:PORT`.
fn is_target(word: &str) -> bool {
    let port = word.rsplit_once(':').map(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    word.contains("://") || port == Some(true)
}

/// Returns the tip for a URL that the command does not take at this place.
pub(super) fn surplus_url(command: &str, word: &str) -> Option<&'static str> {
    let row = SURPLUS_URLS.iter().find(|(commands, _)| commands.contains(&command));
    row.filter(|_| is_target(word)).map(|row| row.1)
}
