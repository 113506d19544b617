//! Prints text: to standard output, to standard error or to a file, in the style that suits the destination.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use anyhow::Context as _;

/// Makes the program end without a message when the program that reads its output closes the pipe.
pub(crate) fn quiet_on_closed_pipe() {
    // If this call fails, a closed pipe causes a harmless error message.
    let _ = sys::terminal::end_on_closed_pipe();
}

/// Writes to standard output. A closed pipe is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// Writes a text to standard error. If standard error is a terminal, breaks long lines between words. Otherwise keeps
/// the lines whole, because another program may search them for a sentence. Ignores errors of writing.
pub(crate) fn tell(text: &str) {
    let width = if io::stderr().is_terminal() { style().width } else { usize::MAX };
    let _ = writeln!(io::stderr().lock(), "{}", folded(text, width));
}

/// Writes a text to standard error, in lines that fit the terminal (80 characters without a terminal). Ignores errors of
/// writing.
pub(crate) fn tell_in_lines(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", folded(text, style().width));
}

/// Breaks the lines of a text between words, so that each has at most `width` characters. Indents a continued line by two
/// more characters than its beginning.
/// Never breaks a word, because it may be a path or an address that the user copies.
fn folded(text: &str, width: usize) -> String {
    let one = |line: &str| {
        let (mut out, mut used) = (String::new(), 0);
        let indent = " ".repeat(line.len() - line.trim_start_matches(' ').len() + 2);
        for (at, word) in line.split(' ').enumerate() {
            let length = word.chars().count();
            if used > indent.len() && used + 1 + length > width {
                out = format!("{out}\n{indent}{word}");
                used = indent.len() + length;
            } else {
                let space = if at > 0 { " " } else { "" };
                out = format!("{out}{space}{word}");
                used += space.len() + length;
            }
        }
        out
    };
    text.lines().map(one).collect::<Vec<_>>().join("\n")
}

/// Writes a text to a file if `file` is given, otherwise to standard output.
pub(crate) fn save_or_print(file: Option<&Path>, text: &str) -> anyhow::Result<()> {
    let Some(file) = file else { return print(text) };
    std::fs::write(file, text).map_err(|e| unwritable(file, &e))
}

/// Fails if a file cannot be written, so that the user learns this before a measurement. This check neither changes an
/// existing file nor leaves a new one. Does not open pipes and devices, because opening a pipe may wait for its reader.
pub(crate) fn check_writable(file: &Path) -> anyhow::Result<()> {
    let kind = std::fs::metadata(file).map(|data| data.file_type());
    if kind.as_ref().is_ok_and(|kind| !kind.is_file() && !kind.is_dir()) {
        return Ok(());
    }
    let is_new = std::fs::symlink_metadata(file).is_err();
    std::fs::OpenOptions::new().append(true).create(true).open(file).map_err(|e| unwritable(file, &e))?;
    if is_new {
        // If the file cannot be removed, the only harm is a leftover empty file.
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}

fn unwritable(file: &Path, error: &io::Error) -> anyhow::Error {
    anyhow::anyhow!("cannot write {}: {error}; name a file that you may write", file.display())
}

/// Returns the style of text for a file, or for standard output without a file.
pub(crate) fn style_for(file: Option<&Path>) -> report::Style {
    if file.is_some() { plain() } else { style() }
}

/// Returns an error and its causes as one sentence. Does not repeat a cause that is already part of the sentence.
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

/// Replaces the control characters in a text of several lines, because other programs may have written parts of the
/// text.
pub(crate) fn safe(text: &str) -> String {
    text.lines().map(run::visible).collect::<Vec<_>>().join("\n")
}

/// Returns the style for standard output: the width of the terminal (80 without a terminal), colours, and the choice of
/// ASCII.
pub(crate) fn style() -> report::Style {
    report::Style { width: sys::terminal::width().unwrap_or(80), color: colors(), ascii: is_ascii() }
}

/// Returns true if loadline may print only ASCII characters. loadline prints only ASCII characters if the locale does
/// not use UTF-8, on a dumb terminal, and on the kernel's console.
fn is_ascii() -> bool {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default().to_lowercase();
    let terminal = set(&"TERM").unwrap_or_default();
    !(locale.contains("utf-8") || locale.contains("utf8")) || ["dumb", "linux"].contains(&terminal.as_str())
}

/// Returns true if standard output is a terminal that shows colours, and the user has not switched them off
/// (`NO_COLOR`).
pub(crate) fn colors() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    io::stdout().is_terminal() && !dumb && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Returns the style for text in files.
pub(crate) fn plain() -> report::Style {
    report::Style { width: 80, color: false, ascii: false }
}

/// Makes Ctrl-C end a run in an orderly way instead of killing the program.
pub(crate) fn catch_interrupts() {
    // If the signal handler cannot be installed, Ctrl-C kills the program. Even then, little is lost, because each
    // trial was stored when it ended.
    let _ = sys::interrupt::catch();
}

/// Writes the HTML report of one run of a series into that run's folder. If the report cannot be written, the
/// measurement continues.
pub(crate) fn write_report(run: &run::Run, dir: &Path) {
    let written = report::render("html", run, &plain())
        .map_err(anyhow::Error::from)
        .and_then(|html| Ok(run::RunDir::create(dir)?.put("report.html", html.as_bytes())?));
    if let Err(error) = written {
        tell(&format!("note: {}", safe(&sentence(&error))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_other_programs_cannot_move_the_cursor() {
        let answer = "it answered \"HTTP/1.1 500 \u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}moc\"\r\nand then this";
        let shown = safe(answer);
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\r', '\u{202e}']), "{shown:?}");
        assert_eq!(shown.lines().count(), 2);
    }

    #[test]
    fn long_lines_break_between_words_only() {
        let path = "/a/very/long/path/of/a/run.json";
        let text = folded(&format!("one two three four\n  {path} five"), 12);
        assert_eq!(text, format!("one two\n  three four\n  {path}\n    five"));
        assert_eq!(folded("one two three four", 18), "one two three four");
    }

    #[test]
    fn an_unwritable_file_is_noticed_and_the_check_changes_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let (new, old) = (dir.path().join("new"), dir.path().join("old"));
        std::fs::write(&old, "kept").unwrap();
        assert!(check_writable(&new).is_ok() && !new.exists());
        assert!(check_writable(&old).is_ok() && std::fs::read_to_string(&old).unwrap() == "kept");
        assert!(check_writable(Path::new("/dev/null")).is_ok());
        for wrong in [dir.path().to_owned(), dir.path().join("none/new")] {
            assert!(check_writable(&wrong).unwrap_err().to_string().contains("cannot write"), "{wrong:?}");
        }
    }
}
