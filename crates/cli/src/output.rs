//! Where text goes and how it looks there.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use anyhow::Context as _;

/// The reader of a pipe may leave early: that is no error of ours, and no message.
pub(crate) fn quiet_on_closed_pipe() {
    // Should it fail, a closed pipe is a write error with a message: worse, but not wrong.
    let _ = sys::terminal::end_on_closed_pipe();
}

/// Writes to standard output. A reader that left has seen what it wanted: that is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// Writes to a file, or to standard output where none is named.
pub(crate) fn save_or_print(file: Option<&Path>, text: &str) -> anyhow::Result<()> {
    let Some(file) = file else { return print(text) };
    std::fs::write(file, text)
        .map_err(|e| anyhow::anyhow!("cannot write {}: {e}; name a file that you may write", file.display()))
}

/// How text looks there.
pub(crate) fn style_for(file: Option<&Path>) -> report::Style {
    if file.is_some() { plain() } else { style() }
}

/// An error and its causes as one sentence; a cause that a message already tells is not told twice.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&cause);
        }
    }
    text
}

/// A text of several lines in which strangers' words can change nothing else on the screen.
pub(crate) fn safe(text: &str) -> String {
    text.lines().map(run::visible).collect::<Vec<_>>().join("\n")
}

/// How text looks on standard output: as wide as the terminal, colours only there and only without `NO_COLOR`.
pub(crate) fn style() -> report::Style {
    report::Style { width: sys::terminal::width().unwrap_or(80), color: colors() }
}

/// Whether standard output is a terminal on which colours are wanted.
pub(crate) fn colors() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// How text looks in files.
pub(crate) fn plain() -> report::Style {
    report::Style { width: 80, color: false }
}

/// From now on Ctrl-C ends a run in order instead of at once.
pub(crate) fn catch_interrupts() {
    // Should it fail, Ctrl-C ends the program at once; every trial is saved when it ends, so little is lost.
    let _ = sys::interrupt::catch();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_strangers_move_no_cursor() {
        let answer = "it answered \"HTTP/1.1 500 \u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}moc\"\r\nand then this";
        let shown = safe(answer);
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\r', '\u{202e}']), "{shown:?}");
        assert_eq!(shown.lines().count(), 2);
    }
}
