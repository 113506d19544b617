//! Flags of other load generators. Flags with an equal meaning in loadline are accepted. The others are answered with
//! the right flag.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{Command, Error};

/// Accepted flags: command, id of its argument, letters and names.
const ACCEPTED: &[(&str, &str, &[char], &[&str])] = &[
    ("load", "connections", &['c'], &["concurrency", "vus"]),
    ("load", "duration", &['d', 'z'], &[]),
    ("load", "rate", &['q'], &["qps"]),
    ("prove", "connections", &['c'], &["concurrency", "vus"]),
    ("prove", "rate", &['q'], &["qps"]),
];

/// Answers to the other flags: commands (all if empty), flags, and the tip.
const ANSWERS: &[(&[&str], &[&str], &str)] = &[
    (
        &["find"],
        &["-c", "--concurrency", "--vus"],
        "find tries many numbers of connections, up to --connections N; for one number: loadline load --connections N",
    ),
    (
        &["find", "prove"],
        &["-d", "-z", "--duration"],
        "--budget TIME is the time for the whole search; for one load: loadline load --duration TIME",
    ),
    (&["find"], &["-q", "--qps", "--rate", "-r", "-R"], "find searches the rate; for one rate: loadline load --rate R"),
    (&["find", "prove"], &["-n", "--number", "--iterations"], "requests are not counted; --budget TIME sets the time"),
    (&[], &["-n", "--number", "--iterations"], "requests are not counted; --duration TIME sets the time"),
    (&[], &["-t"], "--threads N sets the generator's threads (wrk), --timeout TIME the longest answer (hey, oha)"),
    (&[], &["-r", "-R", "--rps"], "--rate R offers R requests per second"),
    (&[], &["-m", "-X"], "--method METHOD sets the method"),
    (&[], &["-D", "--data-file"], "--body FILE sends the bytes of a file"),
    (&[], &["-T", "--content-type"], "--body-type TYPE sets the type of the body"),
    (&[], &["-L", "--latency"], "response times are always shown, with percentiles"),
    (&[], &["-s", "--script"], "--requests FILE sends the requests of a file"),
    (&[], &["-k", "--keepalive", "--keep-alive"], "connections stay open already; --insecure accepts any certificate"),
    (&[], &["--disable-keepalive"], "--new-connections opens a connection for each request"),
    (&[], &["-u", "--url", "--target"], "write the URL itself: loadline load http://HOST:PORT/"),
    (&[], &["-p"], "--pipeline N keeps N requests in flight on a connection"),
    (&[], &["--ramp-up", "--rampup", "--stage", "--stages"], "--rate 100..5000/60s raises the rate over 60 s"),
];

/// Pairs of flags that exclude one another, and the tip.
const CONFLICTS: &[([&str; 2], &str)] = &[
    (
        ["--connections", "--rate"],
        "--connections N sends a request after each answer, --rate R sends R per second whatever is answered; \
         --rate R --max-connections N bounds its connections",
    ),
    (
        ["--users", "--rate"],
        "--users N sends a request after each answer and its pause, --rate R sends R per second whatever is answered",
    ),
];

/// Adds the accepted flags.
pub(crate) fn accepted(name: &str, command: Command) -> Command {
    let rows = ACCEPTED.iter().filter(|row| row.0 == name);
    rows.fold(command, |command, (_, id, letters, names)| {
        command.mut_arg(id, |arg| arg.short_aliases(letters.iter().copied()).aliases(names.iter().copied()))
    })
}

/// Adds the answer to an unknown flag to its error. If there is no answer, removes clap's tip to pass the flag as a
/// value, which is wrong for every command.
pub(crate) fn answer(error: &mut Error, words: &[std::ffi::OsString]) {
    error.remove(ContextKind::Suggested);
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return };
    let flag = flag.split('=').next().unwrap_or_default();
    let command = words.iter().skip(1).find_map(|word| word.to_str().filter(|word| !word.starts_with('-')));
    let tip = tip(command.unwrap_or_default(), flag).or_else(|| conflict_tip(error));
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
}

fn tip(command: &str, flag: &str) -> Option<&'static str> {
    let row = ANSWERS.iter().find(|(of, flags, _)| flags.contains(&flag) && (of.is_empty() || of.contains(&command)));
    let loads = ["find", "load", "prove"].contains(&command);
    row.filter(|_| loads).map(|row| row.2)
}

/// Returns the tip for two flags that exclude one another.
fn conflict_tip(error: &Error) -> Option<&'static str> {
    let names = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => vec![name.as_str()],
        Some(ContextValue::Strings(names)) => names.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let both = [names(ContextKind::InvalidArg), names(ContextKind::PriorArg)].concat();
    let has = |flag: &str| both.iter().any(|name| name.split(' ').next() == Some(flag));
    CONFLICTS.iter().find(|row| row.0.iter().all(|flag| has(flag))).map(|row| row.1)
}

#[cfg(test)]
mod tests {
    use crate::parse;

    fn parsed(words: &str) -> Result<(), String> {
        let words = std::iter::once("loadline").chain(words.split(' ')).map(Into::into);
        parse(words).map(|_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_of_other_tools_are_accepted_or_answered() {
        for line in [
            "load http://h/ -c 10 -d 10s",
            "load http://h/ --vus 10 -z 1m",
            "load http://h/ --concurrency 10",
            "load http://h/ --qps 100 --duration 5s",
            "prove http://h/ -c 10",
        ] {
            assert_eq!(parsed(line), Ok(()), "{line}");
        }
        for (line, says) in [
            ("find http://h/ -c 10", "loadline load --connections N"),
            ("find http://h/ --vus=10", "loadline load --connections N"),
            ("find http://h/ -d 10s", "--budget TIME"),
            ("find http://h/ --duration 10s", "--budget TIME"),
            ("find http://h/ --qps 10", "loadline load --rate R"),
            ("load http://h/ -n 1000", "--duration TIME"),
            ("find http://h/ -n 1000", "--budget TIME"),
            ("load http://h/ -t 4", "--threads N"),
            ("load http://h/ --connections 4 --rate 200", "--rate R --max-connections N"),
            ("load http://h/ --rate 200 -c 4", "--rate R --max-connections N"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(says) && !error.contains("-- -"), "{line}: {error}");
        }
        let typo = parsed("load http://h/ --conections 3").unwrap_err();
        assert!(typo.contains("'--connections'") && !typo.contains("-- -"), "{typo}");
        let unknown = parsed("list -y").unwrap_err();
        assert!(!unknown.contains("tip:"), "{unknown}");
    }
}
