//! Checks that loadline's parser accepts every loadline command in README.md, CONTRIBUTING.md and docs/.

use clap::error::ErrorKind;

use super::links::{pages, root};

/// Errors that the test reports even if the command is inside a sentence. Inside a sentence, all other errors are
/// ignored, because words such as NAME may stand for values.
const WRONG_NAMES: &[ErrorKind] = &[ErrorKind::UnknownArgument, ErrorKind::InvalidSubcommand];

/// Part of a page that contains a command.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// A code block, from which a reader copies commands.
    Block,
    /// A code span within a sentence.
    Text,
}

#[test]
fn the_program_understands_every_command_in_the_pages() {
    let mut checked = 0;
    let mut wrong = Vec::new();
    for page in pages(&root()) {
        let text = std::fs::read_to_string(&page).expect("the page can be read");
        for (place, command) in commands(&text) {
            checked += 1;
            if let Some(error) = error_of(place, &command) {
                wrong.push(format!("{}: {command}\n{error}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 50, "only {checked} commands were found");
}

#[test]
fn a_wrong_option_is_found_in_a_block_and_in_text() {
    let page = "    $ loadline find URL --nosuch 1   # finds\n\nUse `loadline wait 17`, or `loadline lab NAME`.\n";
    let found: Vec<_> = commands(page).map(|(place, command)| error_of(place, &command).is_some()).collect();
    assert_eq!(found, [true, true, false]);
}

/// Returns the commands in the code blocks and code spans of a page.
fn commands(page: &str) -> impl Iterator<Item = (Place, String)> {
    page.lines().flat_map(|line| match line.strip_prefix("    ") {
        Some(line) => line.split_once("loadline ").into_iter().filter_map(block_command).collect::<Vec<_>>(),
        None => line.split('`').skip(1).step_by(2).filter_map(span_command).collect(),
    })
}

/// Returns the command in a line of a code block. Only a prompt or the `run:` of a CI job may precede the command.
fn block_command((before, after): (&str, &str)) -> Option<(Place, String)> {
    ["", "$", "- run:", "run:"].contains(&before.trim()).then(|| (Place::Block, after.to_owned()))
}

fn span_command(span: &str) -> Option<(Place, String)> {
    Some((Place::Text, span.strip_prefix("loadline ")?.to_owned()))
}

/// Returns the parser's error for a command; `None` if the parser accepts the command. The command ends at the first
/// shell operator.
fn error_of(place: Place, command: &str) -> Option<clap::Error> {
    let words = shlex::split(command).unwrap_or_default();
    let words = words.into_iter().take_while(|word| !["|", "&", "&&", ";", ">", ">>"].contains(&word.as_str()));
    let error = crate::parse(["loadline".into()].into_iter().chain(words).map(Into::into)).err()?;
    let shown = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let matters = place == Place::Block || WRONG_NAMES.contains(&error.kind());
    (matters && !shown).then_some(error)
}
