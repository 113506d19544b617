//! Better messages for errors of the command line: loadline's tips, negative numbers as values, and complete usage
//! lines.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use super::foreign::{conflict_tip, tip};
use super::stray_target::{foreign_command, surplus_url, without_command};

/// Adds loadline's tip to an error of the command line. loadline has tips for unknown flags, for flags that exclude
/// each other, and for misplaced URLs. Also removes clap's tip `-- --flag`, which is wrong for every command. clap's
/// error about an unknown command stays unchanged if loadline has no tip for it.
pub(crate) fn answer(error: &mut Error, words: &[OsString]) {
    let words: Vec<&str> = words.iter().skip(1).filter_map(|word| word.to_str()).collect();
    if let Some(tip) = foreign_command(error, &words).or_else(|| without_command(error, &words)) {
        return suggest(error, tip);
    }
    if error.kind() == ErrorKind::InvalidSubcommand {
        return;
    }
    error.remove(ContextKind::Suggested);
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return };
    let flag = given.split('=').next().unwrap_or_default();
    let command = words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
    let surplus = surplus_url(command, given);
    if let Some(tip) = surplus.or_else(|| tip(command, flag)).or_else(|| conflict_tip(error)) {
        suggest(error, tip.to_owned());
    }
}

/// Replaces clap's own tips in an error by `tip`.
fn suggest(error: &mut Error, tip: String) {
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
}

/// Returns the command line with each negative number joined to the flag before the number. clap reads a separate
/// negative number as a flag. If a negative number is joined to its flag, as in `--flag=-1`, the flag's own parser
/// refuses it with a better message. Returns `None` if no negative number follows a flag, or if the error has another
/// cause.
pub(crate) fn with_negative_values(error: &Error, words: &[OsString]) -> Option<Vec<OsString>> {
    if !matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::UnknownArgument) {
        return None;
    }
    let mut joined: Vec<OsString> = Vec::new();
    for word in words {
        let negative = word.as_encoded_bytes().strip_prefix(b"-").and_then(|rest| rest.first());
        let negative = negative.is_some_and(|first| first.is_ascii_digit() || *first == b'.');
        let is_flag = |before: &OsString| before.as_encoded_bytes().starts_with(b"-") && before.len() > 1;
        match joined.last_mut().filter(|before| negative && is_flag(before)) {
            Some(flag) => {
                flag.push("=");
                flag.push(word);
            }
            None => joined.push(word.clone()),
        }
    }
    (joined.len() < words.len()).then_some(joined)
}

/// Replaces the usage line of an error by the complete usage line of the command. clap's own usage line lists only the
/// flags in the error.
pub(crate) fn with_whole_usage(error: &mut Error, mut program: Command, words: &[OsString]) {
    if error.get(ContextKind::Usage).is_none() {
        return;
    }
    program.build();
    let usage = usage_of(&mut program, words.get(1..).unwrap_or_default());
    error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
}

/// Returns the usage line of the command or subcommand that `words` name.
fn usage_of(command: &mut Command, words: &[OsString]) -> StyledStr {
    let name = words.first().and_then(|word| word.to_str()).unwrap_or_default();
    match command.find_subcommand_mut(name) {
        Some(named) => usage_of(named, &words[1..]),
        None => command.render_usage(),
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    fn parsed(words: &str) -> Result<(), String> {
        let words = std::iter::once("loadline").chain(words.split(' ')).map(Into::into);
        parse(words).map(|_| ()).map_err(|error| error.to_string())
    }

    /// Without [`with_whole_usage`], the usage line lists only the flags in the error, as if the command had no other
    /// flags.
    #[test]
    fn usage_lines_are_those_of_the_help() {
        for (line, usage) in [
            ("load http://h/ --users 4", "Usage: loadline load [OPTIONS] [TARGET]"),
            ("load http://h/ --nosuch", "Usage: loadline load [OPTIONS] [TARGET]"),
            ("load http://h/ --connections 4 --users 4", "Usage: loadline load [OPTIONS] [TARGET]"),
            ("compare a b c", "Usage: loadline compare [OPTIONS] [OLD] [NEW]"),
            ("waits", "Usage: loadline waits [OPTIONS] <PID|--server-pid <PID>|--port <PORT>>"),
            ("testbed up", "Usage: loadline testbed up [OPTIONS] <NAME>"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(&format!("{usage}\n")), "{line}: {error}");
        }
    }

    #[test]
    fn a_server_is_named_in_one_way() {
        for command in ["watch", "waits"] {
            let error = parsed(&format!("{command} --port 8080 --server-pid 7")).unwrap_err();
            assert!(error.contains("cannot be used with"), "{command}: {error}");
        }
    }

    #[test]
    fn flags_of_other_tools_are_accepted_or_answered() {
        for line in [
            "load http://h/ -c 10 -d 10s",
            "load http://h/ --vus 10 -z 1m",
            "load http://h/ --concurrency 10",
            "load http://h/ --qps 100 --duration 5s",
            "prove http://h/ -c 10",
            "compare http://h/ http://i/ -c 10",
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
            ("compare http://h/ http://i/ -d 10s", "--budget TIME"),
            ("compare http://h/ http://i/ --qps 10", "loadline load --rate R --out DIR"),
            ("compare http://h/ http://i/ -n 10", "--budget TIME"),
            ("size http://h/ --command x -c 10", "--connections N"),
            ("size http://h/ --command x -z 10s", "--budget TIME"),
            ("arena f.toml -c 10", "connections = N"),
            ("arena f.toml --duration 10s", "--budget TIME"),
            ("find http://h/ -n 1000", "--budget TIME"),
            ("load http://h/ -t 4", "--threads N"),
            ("load http://h/ --connections 4 --rate 200", "--rate R --max-connections N"),
            ("load http://h/ --rate 200 -c 4", "--rate R --max-connections N"),
            ("load http://h/ http://i/", "--requests FILE; for two servers: loadline compare URL URL"),
            ("load http://h/ -b file", "--body FILE"),
            ("serve --port 8080", "--listen 127.0.0.1:PORT"),
            ("serve -p 8080", "--listen 127.0.0.1:PORT"),
            ("serve http 127.0.0.1:8080", "--listen 127.0.0.1:PORT"),
            ("watch http://h/", "--port PORT"),
            ("watch -d 5s --port 80", "--duration TIME"),
            ("watch -c 5 --port 80", "loadline load URL --connections N"),
            ("waits 1 -c 5", "loadline load URL --connections N"),
            ("watch -i 1s --port 80", "--interval TIME"),
            ("watch -w --port 80", "--waits"),
            ("waits 1 -i 1s", "--duration TIME"),
            ("waits 1 -w", "--duration TIME"),
            ("load http://h/ -i file", "--body FILE"),
            ("load http://h/ -w 4", "--threads N"),
            ("load http://h/ --request-cpu 20", "loadline what-if RUN --request-cpu +20%"),
            ("find http://h/ --workers 4", "loadline what-if RUN"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(says) && !error.contains("-- -"), "{line}: {error}");
        }
    }

    #[test]
    fn misspelt_flags_and_missing_commands_are_answered() {
        let typo = parsed("load http://h/ --conections 3").unwrap_err();
        assert!(typo.contains("'--connections'") && !typo.contains("-- -"), "{typo}");
        for (line, says) in [
            ("load http://h/ --rate -5", "\"-5\" is not a rate"),
            ("find http://h/ --budget -1s", "\"-1s\" is not a time"),
            ("load http://h/ --connections -1 --json", "'-1' for '--connections"),
            ("load http://h/ -c -1", "'-1' for '--connections"),
            ("size http://h/ --command x --quota -0.5", "\"-0.5\" is not a number above 0"),
            ("waits -5", "unexpected argument '-5'"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
        for line in ["http://h/ --rate 5", "-c 10 http://h/", "--connections 10 http://h/", "hammer http://h/"] {
            let error = parsed(line).unwrap_err();
            assert!(
                error.contains("tip: name the command first: loadline find http://h/ finds the capacity"),
                "{error}"
            );
        }
        for (line, says) in [
            ("attack", "the command for this is load: loadline load sends one load; loadline find finds the capacity"),
            ("attack http://h/", "loadline load http://h/ sends one load; loadline find http://h/ finds the capacity"),
            ("run -n 5 http://h/", "the command for this is load: loadline load http://h/ sends one load"),
            ("diff a b", "the command for this is compare: loadline compare compares two runs or servers"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
        let port = parsed("127.0.0.1:8080").unwrap_err();
        assert!(port.contains("loadline load 127.0.0.1:8080 sends one load"), "{port}");
        let misspelt = parsed("fnd http://h/").unwrap_err();
        assert!(misspelt.contains("'find'") && !misspelt.contains("name the command first"), "{misspelt}");
        let unknown = parsed("list -y").unwrap_err();
        assert!(!unknown.contains("tip:"), "{unknown}");
    }
}
