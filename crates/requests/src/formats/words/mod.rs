//! Splits shell command lines into words, and records the index at which each word begins.
//!
//! The splitter understands quotes, escapes, `$'…'` and lines that continue after a backslash. `;`, `&`, `|` and line
//! ends separate commands. A variable or a command substitution in a word is an error, because only a shell knows its
//! value.

mod reader;

use reader::Reader;
pub(super) use reader::{PlacedError, Word};

const WINDOWS: &str =
    "this is the form for cmd.exe of Windows, with ^ before characters; copy the request \"as cURL (bash)\"";
/// Words of one command, or the reason why the command cannot be read.
pub(super) type Command = Result<Vec<Word>, PlacedError>;

/// Splits a text into commands, and each command into words. After a command that cannot be read, reading continues at
/// the next line that begins with `curl`. Fails if the text is written for cmd.exe, the shell of Windows.
pub(super) fn commands(text: &str) -> Result<Vec<Command>, PlacedError> {
    if let Some(at) = caret_of_windows(text) {
        return Err((at, WINDOWS));
    }
    let (mut reader, mut split) = (Reader { text, at: 0 }, SplitCommands::default());
    while let Some(c) = reader.peek() {
        let read = match c {
            '\n' | ';' | '&' | '|' => {
                reader.next();
                split.end_at(c);
                Ok(())
            }
            c if c.is_whitespace() => {
                reader.next();
                Ok(())
            }
            '#' => {
                while reader.peek().is_some_and(|c| c != '\n') {
                    reader.next();
                }
                Ok(())
            }
            '\\' if reader.skip_continuation() => Ok(()),
            _ if reader.begins_redirection() => reader.skip_redirection(),
            _ => reader.word().map(|word| split.words.push(word)),
        };
        if let Err(error) = read {
            split.add(Err(error));
            reader.at = next_command(text, error.0);
        }
    }
    split.end_at('\n');
    Ok(split.all)
}

/// Returns true if a word is the name of the program curl.
pub(super) fn is_curl(word: &str) -> bool {
    ["curl", "curl.exe"].contains(&word.rsplit('/').next().unwrap_or_default())
}

/// Commands that were split so far, and the words of the command that is being read.
#[derive(Default)]
struct SplitCommands {
    all: Vec<Command>,
    words: Vec<Word>,
    /// True if the command that is being read stands behind a pipe, so that it gets the output of another command.
    is_piped: bool,
}

impl SplitCommands {
    /// Ends the command that is being read at the character `separator`.
    fn end_at(&mut self, separator: char) {
        // A pipe consists of `|` or `|&`, and the command behind it may begin on a later line. `||` is no pipe.
        let is_directly_behind_pipe = self.is_piped && self.words.is_empty();
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.add(Ok(words));
        }
        self.is_piped = match separator {
            '|' => !is_directly_behind_pipe,
            '\n' | '&' => is_directly_behind_pipe,
            _ => false,
        };
    }

    /// Adds a command, or the error of the command that is being read. Leaves out a program that reads the answer from
    /// a pipe, such as jq, because it makes no request.
    fn add(&mut self, command: Command) {
        let words = std::mem::take(&mut self.words);
        let program = command.as_ref().unwrap_or(&words).first();
        let reads_answer = self.is_piped && !program.is_some_and(|word| is_curl(&String::from_utf8_lossy(&word.bytes)));
        if !reads_answer {
            self.all.push(command);
        }
        self.is_piped = false;
    }
}

/// After an error at `error_at`, returns the index of the next line that begins with `curl`. Returns the length of the
/// text if no later line begins with `curl`.
fn next_command(text: &str, error_at: usize) -> usize {
    let mut line_at = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let begin = line_at;
        line_at += line.len();
        (begin, line)
    });
    let mut later = lines.filter(|(begin, line)| *begin > error_at && line.trim_start().starts_with("curl"));
    later.next().map_or(text.len(), |(begin, _)| begin)
}

/// Finds a caret (`^`), with which browsers escape characters for cmd.exe of Windows. Every command line that browsers
/// copy for cmd.exe has a caret before a quotation mark, a line end, `&` or `%`. A caret before another character may
/// be part of the request. A text with single quotation marks is written for another shell, so its carets are no
/// escapes, and the function returns `None`.
fn caret_of_windows(text: &str) -> Option<usize> {
    let single = text.match_indices('\'').any(|(at, _)| at == 0 || text[..at].ends_with([' ', '\t', '\n', '$', '=']));
    let escapes = |at: usize| text[at + 1..].starts_with(['"', '\r', '\n', '&', '%']);
    text.match_indices('^').map(|(at, _)| at).find(|at| !single && escapes(*at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::reader::VARIABLE;
    use super::*;

    fn of(text: &str) -> Vec<Vec<String>> {
        commands(text)
            .unwrap()
            .into_iter()
            .map(|command| command.unwrap().into_iter().map(|word| String::from_utf8(word.bytes).unwrap()).collect())
            .collect()
    }

    /// Returns the error of the first command that cannot be read.
    fn first_error(text: &str) -> Option<PlacedError> {
        commands(text).map_or_else(Some, |all| all.into_iter().find_map(Result::err))
    }

    #[test]
    fn after_an_error_the_next_command_is_read() {
        let all = commands("curl /a\ncurl $X \\\n -H 'A: b'\n  curl /c\ncurl '/d\ncurl /e'\n").unwrap();
        let read: Vec<Option<usize>> = all.iter().map(|one| one.as_ref().ok().map(Vec::len)).collect();
        assert_eq!(read, [Some(2), None, Some(2), Some(2)], "the line of the value is part of the last command");
        let all = commands("curl '/a\ncurl /b\n").unwrap();
        assert!(all[0].is_err() && all[1].as_ref().is_ok_and(|words| words.len() == 2), "{all:?}");
    }

    #[test]
    fn words_are_those_of_a_shell() {
        let text = "curl 'a b' \"c\\\"d$ e\" f\\ g \\\n  $'h\\'\\u0041\\n' # remark\n\ncurl x; curl y &\ncurl ''";
        let all = of(text);
        assert_eq!(all[0], ["curl", "a b", "c\"d$ e", "f g", "h'A\n"]);
        assert_eq!(all[1..], [vec!["curl", "x"], vec!["curl", "y"], vec!["curl", ""]]);
        assert_eq!(first_error("a 'b").unwrap().0, 2);
    }

    #[test]
    fn escapes_make_bytes() {
        let bytes = |text: &str| commands(text).unwrap().remove(0).unwrap().remove(0).bytes;
        assert_eq!(bytes(r"$'\xC3\xBC\102\u00fc\xff\e\cB'"), b"\xc3\xbcB\xc3\xbc\xff\x1b\x02");
        assert_eq!(bytes(r"$'\ud83c\udf89!'"), "🎉!".as_bytes());
        for wrong in [r"$'a\0'", r"$'\ud83c'", r"$'\ud83c\u0041'", r"$'\U00110000'"] {
            assert!(first_error(wrong).is_some(), "{wrong}");
        }
    }

    #[test]
    fn redirections_are_no_words_of_the_command() {
        let two = [vec!["curl", "h", "-s"], vec!["curl", "i"]];
        assert_eq!(of("curl h > /dev/null -s && curl i"), two);
        assert_eq!(of("curl h 2>&1 >out -s\ncurl i 2>/dev/null"), two);
        assert_eq!(of("curl 'h>i' 22"), [["curl", "h>i", "22"]]);
        assert_eq!(of("curl h >"), [["curl", "h"]]);
        assert_eq!(
            of("curl h/a>/dev/null -s\ncurl i?x=1>out 2>&1"),
            [vec!["curl", "h/a", "-s"], vec!["curl", "i?x=1"]]
        );
        assert_eq!(of("curl 'h>i' a\\>b"), [["curl", "h>i", "a>b"]]);
    }

    #[test]
    fn a_program_behind_a_pipe_is_no_command_of_its_own() {
        for text in [
            "curl h | jq . | head\ncurl i",
            "curl h |& grep x; curl i",
            "curl h |\n\n jq \"$X\"\ncurl i",
            "curl h | $PAGER\ncurl i",
            "curl h || curl i",
            "curl h | /usr/bin/curl.exe i",
        ] {
            let all = of(text);
            assert_eq!(all.iter().map(|words| words[1].as_str()).collect::<Vec<_>>(), ["h", "i"], "{text}");
        }
        assert_eq!(of("curl h || echo failed"), [vec!["curl", "h"], vec!["echo", "failed"]]);
    }

    #[test]
    fn expansions_that_need_a_shell_are_refused() {
        for text in ["curl \"$TOKEN\"", "curl ${A}", "curl \"a `id`\"", "curl $(id)", "curl a$1"] {
            assert_eq!(first_error(text).unwrap().1, VARIABLE, "{text}");
        }
        assert_eq!(of("curl '$TOKEN `x`' \\$A \"\\$B $\" a$"), [vec!["curl", "$TOKEN `x`", "$A", "$B $", "a$"]]);
        for text in
            ["curl ^\"http://h/^\" ^\n -H ^\"A: b^\"", "curl \"http://h/\" -d \"a=1^&b=2\"", "curl \"h\" -d \"^\\^\"\""]
        {
            assert_eq!(commands(text).unwrap_err().1, WINDOWS, "{text}");
        }
        assert_eq!(of("curl 'h' -d 'a^&b'")[0][3], "a^&b");
        assert_eq!(of("curl h -d \"p=^[a-z]\"")[0][3], "p=^[a-z]");
    }

    /// Checks that `sh` splits a command line into the same words.
    #[test]
    fn a_shell_agrees() {
        let line = r#"a'b'"c\d\\e" 'f"g' h\"i "j'k" '\n' "\n" l\'m"#;
        let out = std::process::Command::new("sh").args(["-c", &format!("printf '%s\\0' {line}")]).output().unwrap();
        let said = String::from_utf8(out.stdout).unwrap();
        assert_eq!(said.split_terminator('\0').collect::<Vec<_>>(), of(line)[0]);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(text in "\\PC*[ '\"\\\\$\n;]*\\PC*") {
            let _ = commands(&text);
        }
    }
}
