//! Command line that a saved run shows, so that a user can repeat the run.

use std::ffi::OsString;
use std::path::Path;

use run::Secrets;

/// Returns the arguments as one line, which a shell splits into the same arguments. Of the program's path, only the
/// file name is kept. Known secrets, and secrets in headers and URLs, are replaced by placeholders.
pub(crate) fn line(arguments: impl IntoIterator<Item = OsString>, secrets: &Secrets) -> String {
    let mut secrets = secrets.clone();
    let mut words = arguments.into_iter();
    let program = words.next().unwrap_or_else(|| "loadline".into());
    let name = Path::new(&program).file_name().map_or_else(|| "loadline".into(), |n| n.to_string_lossy().into_owned());
    let rest = words.map(|word| quoted(&secrets.redact_word(&word.to_string_lossy())));
    std::iter::once(quoted(&name)).chain(rest).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &[&str]) -> String {
        line(words.iter().map(OsString::from), &Secrets::default())
    }

    #[test]
    fn plain_words_stand_as_they_are_and_the_program_loses_its_folder() {
        let words = ["/usr/local/bin/loadline", "find", "http://127.0.0.1:8080/", "--p99", "10ms"];
        assert_eq!(typed(&words), "loadline find http://127.0.0.1:8080/ --p99 10ms");
        assert_eq!(typed(&[]), "loadline");
    }

    #[test]
    fn a_shell_reads_the_same_arguments_back() {
        let words = ["loadline", "load", "http://h/?a=1&b=2", "", "it's", "two words", "--header", "X: $HOME"];
        let out = std::process::Command::new("sh")
            .args(["-c", &format!("set -- {}; printf '%s\\n' \"$@\"", typed(&words))])
            .output();
        let said = String::from_utf8(out.unwrap().stdout).unwrap();
        assert_eq!(said.split('\n').take(words.len()).collect::<Vec<_>>(), words);
    }
}
