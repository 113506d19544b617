//! `loadline completions SHELL`: made from the same types as the flags.

use clap::Command;

use crate::{Exit, output};

/// Arguments.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// bash, elvish, fish, powershell or zsh
    shell: clap_complete::Shell,
}

/// Prints the completions.
pub(crate) fn run(args: &Args, whole: &Command) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut visible(whole), "loadline", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

/// A command without the parts that are not for people: the generators would offer them.
fn visible(command: &Command) -> Command {
    let arguments = command.get_arguments().cloned();
    let commands = command.get_subcommands().filter(|c| !c.is_hide_set()).map(visible);
    let shown = Command::new(command.get_name().to_string()).args(arguments).subcommands(commands);
    command.get_about().into_iter().fold(shown, |shown, about| shown.about(about.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command;

    #[test]
    fn names_are_offered_and_what_is_not_for_people_is_not() {
        // fish's generator offers values of flags only.
        for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh] {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut visible(&command()), "loadline", &mut text);
            let text = String::from_utf8(text).unwrap();
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
