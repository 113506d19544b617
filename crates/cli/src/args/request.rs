//! Flags of protocols. Each row of `PROTOCOLS` defines the flags of one protocol.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use proto::{Flag, FlagValue, PROTOCOLS, ProtocolSpec};
use run::LoadPlan;

use super::headers::read;
use super::units;

/// Flags that apply to all requests of a set. Commands that accept requests only as a set, such as `size`, have no
/// other flags of protocols.
const FLAGS_OF_SETS: &[&str] = &["prepared", "header", "expect-status"];

/// Values of the protocols' flags, as clap matched them. A command may lack some of the protocols' flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestArgs(ArgMatches);

impl RequestArgs {
    /// Puts the given flags into the settings of the load's protocol. Fails for a flag that the load's protocol does
    /// not have.
    pub(crate) fn apply(&self, load: &mut LoadPlan, embedded: bool) -> anyhow::Result<()> {
        let (protocol, secrets) = (&mut load.protocol, &mut load.secrets);
        let row = proto::spec(protocol);
        if let Some((row, flag)) =
            self.switches().find(|(_, flag)| embedded || !row.flags.iter().any(|own| own.name == flag.name))
        {
            let schemes: Vec<String> = row.schemes.iter().map(|scheme| format!("{}://", scheme.name)).collect();
            let why = if embedded { "; the embedded server speaks HTTP/1.1" } else { "" };
            anyhow::bail!("--{} needs a target with {}{why}", flag.name, schemes.join(" and "));
        }
        let versions =
            ["http2", "http3"].map(|name| row.flags.iter().any(|flag| flag.name == name && self.is_set(flag)));
        anyhow::ensure!(versions != [true; 2], "--http2 and --http3 exclude each other: give one of them");
        if let Some((flag, schemes)) = self.foreign(row) {
            anyhow::bail!("--{} has no use here: it is for {}", flag.name, schemes.join(", "));
        }
        for flag in row.flags {
            match flag.set {
                FlagValue::Switch(set) if self.is_set(flag) => set(protocol),
                FlagValue::Switch(_) => {}
                FlagValue::Text(set) => self.one::<String>(flag).into_iter().for_each(|text| set(protocol, text)),
                FlagValue::Texts(set) => {
                    self.0.get_many::<String>(flag.name).into_iter().flatten().for_each(|text| set(protocol, text));
                }
                FlagValue::Seconds(set) => self.one(flag).into_iter().for_each(|seconds| set(protocol, *seconds)),
                FlagValue::Bytes(set) => self.one(flag).into_iter().for_each(|bytes| set(protocol, *bytes)),
                FlagValue::Number(set) => self.one(flag).into_iter().for_each(|number| set(protocol, *number)),
                FlagValue::Pair(set) => {
                    for given in self.0.try_get_many::<String>(flag.name).ok().flatten().into_iter().flatten() {
                        read(given, secrets)?.iter().for_each(|(name, value)| set(protocol, name, value));
                    }
                }
            }
        }
        (proto::spec(protocol).complete)(protocol);
        Ok(())
    }

    /// Returns a flag from the command line that the protocol in `row` does not have, with the schemes of the protocols
    /// that have the flag.
    fn foreign(&self, row: &ProtocolSpec) -> Option<(&'static Flag, Vec<String>)> {
        let is_own = |name: &str| row.flags.iter().any(|own| own.name == name);
        let mut all = PROTOCOLS.iter().flat_map(|row| row.flags);
        let flag = all.find(|flag| self.is_given(flag.name) && !is_own(flag.name))?;
        let has = |row: &&ProtocolSpec| row.flags.iter().any(|own| own.name == flag.name);
        let schemes = PROTOCOLS.iter().filter(has).flat_map(|row| row.schemes);
        Some((flag, schemes.map(|scheme| format!("{}://", scheme.name)).collect()))
    }

    /// Returns the names of the given flags that describe a single request. The user cannot combine the flags that
    /// describe a single request with a request set.
    pub(crate) fn of_one(&self) -> Vec<&'static str> {
        ["body", "method", "body-type"].into_iter().filter(|name| self.is_given(name)).collect()
    }

    /// Returns true if the user gave at least one flag of the protocols.
    pub(crate) fn any(&self) -> bool {
        flags().any(|flag| self.is_given(flag.name))
    }

    /// Returns the given switches (flags without a value), each with the first row of `PROTOCOLS` that has the switch.
    fn switches(&self) -> impl Iterator<Item = (&'static ProtocolSpec, &'static Flag)> {
        let mut seen = std::collections::BTreeSet::new();
        let all = PROTOCOLS.iter().flat_map(|row| row.flags.iter().map(move |flag| (row, flag)));
        let switches = all.filter(|(_, flag)| matches!(flag.set, FlagValue::Switch(_)));
        switches.filter(move |(_, flag)| seen.insert(flag.name) && self.is_set(flag))
    }

    /// Returns true if the user gave a flag. Returns false for a flag that the command does not have.
    fn is_given(&self, name: &str) -> bool {
        let has_flag = self.0.ids().any(|id| id.as_str() == name);
        has_flag && self.0.value_source(name) == Some(clap::parser::ValueSource::CommandLine)
    }

    /// Returns true if the user gave a switch. Returns false for a switch that the command does not have.
    fn is_set(&self, flag: &Flag) -> bool {
        self.one::<bool>(flag).is_some_and(|given| *given)
    }

    fn one<T: Clone + Send + Sync + 'static>(&self, flag: &Flag) -> Option<&T> {
        self.0.try_get_one(flag.name).ok().flatten()
    }
}

impl FromArgMatches for RequestArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl Args for RequestArgs {
    fn augment_args(command: Command) -> Command {
        flags().fold(command, |command, flag| command.arg(arg(flag)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Flags of the protocols that apply to all requests of a set, such as `--header`.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetFlagArgs(RequestArgs);

impl SetFlagArgs {
    /// Puts the given flags into the settings of the load's protocol. Fails for a flag that does not belong to the
    /// load's protocol.
    pub(crate) fn apply(&self, load: &mut LoadPlan) -> anyhow::Result<()> {
        self.0.apply(load, false)
    }
}

impl FromArgMatches for SetFlagArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        RequestArgs::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Args for SetFlagArgs {
    fn augment_args(command: Command) -> Command {
        let of_sets = flags().filter(|flag| FLAGS_OF_SETS.contains(&flag.name));
        of_sets.fold(command, |command, flag| command.arg(arg(flag)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Returns the flags of all protocols. A flag that several protocols share occurs only once in the result.
fn flags() -> impl Iterator<Item = &'static Flag> {
    let mut seen = std::collections::BTreeSet::new();
    PROTOCOLS.iter().flat_map(|row| row.flags).filter(move |flag| seen.insert(flag.name))
}

fn arg(flag: &Flag) -> Arg {
    let arg = Arg::new(flag.name).long(flag.name).value_name(flag.value).help(flag.help).help_heading("Request");
    let arg = if let Some(other) = flag.requires { arg.requires(other) } else { arg };
    let arg = if let Some(letter) = flag.short { arg.short(letter) } else { arg };
    match flag.set {
        FlagValue::Text(_) => arg,
        FlagValue::Texts(_) => arg.action(ArgAction::Append),
        FlagValue::Seconds(_) => arg.value_parser(units::seconds),
        FlagValue::Bytes(_) => arg.value_parser(units::bytes),
        FlagValue::Number(_) => arg.value_parser(value_parser!(u16)),
        FlagValue::Pair(_) => arg.action(ArgAction::Append),
        FlagValue::Switch(_) => arg.action(ArgAction::SetTrue),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_of_another_protocol_is_refused() {
        let applied = |words: &str, url: &str| {
            let command = RequestArgs::augment_args(Command::new("x"));
            let matches = command.try_get_matches_from(words.split(' ')).unwrap();
            let mut load = LoadPlan {
                protocol: crate::args::protocol::protocol_of(url, &LoadPlan::default().protocol),
                ..LoadPlan::default()
            };
            RequestArgs(matches).apply(&mut load, false).map_err(|e| e.to_string())
        };
        assert_eq!(applied("x --method PUT --http2", "http://h/"), Ok(()));
        assert_eq!(applied("x --message-bytes 9", "ws://h/"), Ok(()));
        for (words, url, says) in
            [("x --message-bytes 9", "http://h/", "ws://"), ("x --database 3", "memcached://h", "redis://")]
        {
            let error = applied(words, url).unwrap_err();
            assert!(error.contains(says), "{words}: {error}");
        }
    }

    #[test]
    fn a_command_for_sets_of_requests_has_the_flags_of_sets() {
        let applied = |words: &str, url: &str| {
            let command = SetFlagArgs::augment_args(Command::new("x"));
            let matches = command.try_get_matches_from(words.split(' ')).map_err(|e| e.to_string())?;
            let mut load = LoadPlan {
                protocol: crate::args::protocol::protocol_of(url, &LoadPlan::default().protocol),
                ..LoadPlan::default()
            };
            SetFlagArgs::from_arg_matches(&matches).unwrap().apply(&mut load).map_err(|e| e.to_string())?;
            Ok::<_, String>(matches!(load.protocol, run::Protocol::Postgres { prepared: true, .. }))
        };
        assert_eq!(applied("x --prepared", "postgres://h/db"), Ok(true));
        assert_eq!(applied("x", "postgres://h/db"), Ok(false));
        assert_eq!(applied("x", "http://h/"), Ok(false));
        assert_eq!(applied("x -H a:b", "http://h/"), Ok(false));
        assert_eq!(applied("x --expect-status 503", "http://h/"), Ok(false));
        assert!(applied("x --expect-status 503", "redis://h/").unwrap_err().contains("http://"));
        assert!(applied("x --prepared", "http://h/").unwrap_err().contains("postgres://"));
        assert!(applied("x --method PUT", "http://h/").unwrap_err().contains("--method"));
    }
}
