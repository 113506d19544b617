//! `loadline completions SHELL`: completions for a shell, generated from the definitions of the flags.

use clap::Command;
use clap_complete::Shell;

use crate::{Exit, output};

/// Arguments of `completions`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// bash, elvish, fish, powershell or zsh
    shell: Shell,
}

/// Prints the completions for a shell.
pub(crate) fn run(args: &Args, whole: &Command) -> anyhow::Result<Exit> {
    output::print(&script(args.shell, whole))?;
    Ok(Exit::Done)
}

fn script(shell: Shell, whole: &Command) -> String {
    let (mut text, mut shown) = (Vec::new(), visible(whole));
    clap_complete::generate(shell, &mut shown, "loadline", &mut text);
    let more = if shell == Shell::Fish { names_for_fish(&shown) } else { String::new() };
    String::from_utf8_lossy(&text).into_owned() + &more
}

/// Returns a copy of a command without hidden subcommands. With hidden subcommands, the completions would offer them.
fn visible(command: &Command) -> Command {
    let arguments = command.get_arguments().cloned();
    let commands = command.get_subcommands().filter(|c| !c.is_hide_set()).map(visible);
    let shown = Command::new(command.get_name().to_string()).args(arguments).subcommands(commands);
    // Flags may refer to groups of flags, so the copy needs the groups, too.
    let shown = shown.groups(command.get_groups().cloned());
    command.get_about().into_iter().fold(shown, |shown, about| shown.about(about.clone()))
}

/// Returns lines for fish that complete the names which commands accept as positional arguments. The generator for fish
/// completes only the values of flags.
fn names_for_fish(whole: &Command) -> String {
    let of = |command: &Command| {
        let taken = command.get_positionals().flat_map(clap::Arg::get_possible_values);
        let names: Vec<String> = taken.map(|value| value.get_name().to_string()).collect();
        let name = command.get_name();
        let line =
            format!("complete -c loadline -n \"__fish_seen_subcommand_from {name}\" -f -a \"{}\"\n", names.join(" "));
        (!names.is_empty()).then_some(line)
    };
    whole.get_subcommands().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command;

    #[test]
    fn names_are_offered_but_hidden_parts_are_not() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = script(shell, &command());
            for name in ["event-groups", "echo", "request-rate", "openmetrics"] {
                assert!(text.contains(name), "{shell}: {name}");
            }
            assert!(
                !text.contains("loadline__agent") && !text.contains("'agent") && !text.contains("\"agent\""),
                "{shell}"
            );
        }
    }
}
