//! The flag `--header`: `K: V`, or `@FILE` with one header per line. `$env:NAME` in a value stands for an environment
//! variable. Values from a file or from the environment are secret: loadline never prints or stores them.

use anyhow::Context as _;
use run::Secrets;

/// The flag `--secret-header`.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct SecretHeaderArgs {
    /// Header with a secret value, which is never printed or stored; Authorization, Cookie and similar headers are
    /// always secret
    #[arg(id = "secret_header", long = "secret-header", value_name = "NAME", help_heading = "Request")]
    pub(crate) names: Vec<String>,
}

/// Maximum size of a file with headers, bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Name and value of a header as a plan stores them. A secret value is already replaced by a placeholder.
type Header = (String, String);

/// Returns the headers that one `--header` flag gives. Errors never show a header's value, because the value may be
/// secret.
pub(crate) fn read(flag: &str, secrets: &mut Secrets) -> anyhow::Result<Vec<Header>> {
    let Some(file) = flag.strip_prefix('@') else { return Ok(vec![header(flag, secrets)?]) };
    let text = run::read_text(file.as_ref(), MAX_FILE_BYTES, "name a file with one header per line")?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = lines.map(|(i, line)| {
        let (name, value) = header(line, secrets).with_context(|| format!("{file}, line {}", i + 1))?;
        Ok((name, secrets.redact(&value)))
    });
    read.collect()
}

fn header(text: &str, secrets: &mut Secrets) -> anyhow::Result<Header> {
    let (name, value) = text.split_once(':').context("a header has no colon; write 'K: V'")?;
    anyhow::ensure!(
        run::is_token(name) && !value.contains(['\r', '\n']),
        "a header has an invalid name, or a line end in its value; write 'K: V'"
    );
    Ok((name.into(), from_environment(name, value.trim(), secrets)?))
}

/// Replaces each `$env:NAME` in a header's value by the value of that environment variable, as a secret.
pub(crate) fn from_environment(header: &str, value: &str, secrets: &mut Secrets) -> anyhow::Result<String> {
    filled_from_environment(&format!("header {header:?}"), value, secrets)
}

/// Replaces each `$env:NAME` in a text by the value of the environment variable `NAME`. If a text contains such a
/// variable, the whole text becomes a secret. `what` names the text in errors, such as `header "X-A"`.
pub(crate) fn filled_from_environment(what: &str, value: &str, secrets: &mut Secrets) -> anyhow::Result<String> {
    let mut pieces = value.split("$env:");
    let mut out = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(piece.len());
        let (variable, rest) = piece.split_at(end);
        let set = std::env::var(variable).ok().filter(|v| !variable.is_empty() && !v.contains(['\r', '\n']));
        let set = set.with_context(|| {
            format!("{what} needs the variable $env:{variable}, which is not set to one line of text; export it first")
        })?;
        out.extend([set.as_str(), rest]);
    }
    Ok(if value.contains("$env:") { secrets.redact(&out) } else { out })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(flag: &str) -> Result<Vec<Header>, String> {
        read(flag, &mut Secrets::default()).map_err(|e| format!("{e:#}"))
    }

    #[test]
    fn headers_cannot_contain_line_ends_and_errors_show_no_value() {
        assert_eq!(tried("X-A: b"), Ok(vec![("X-A".into(), "b".into())]));
        for wrong in ["X-A: topsecret\r\nEvil: 1", "topsecret", "to psecret: 1"] {
            assert!(!tried(wrong).unwrap_err().contains("psecret"), "{wrong}");
        }
    }

    #[test]
    fn files_and_variables_give_placeholders() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("headers");
        std::fs::write(&file, "\u{feff}Accept: text/html\r\n\nX-A: abc\n").unwrap();
        let from_file = tried(&format!("@{}", file.display())).unwrap();
        assert!(from_file.iter().all(|(_, value)| value.starts_with("<redacted:")), "{from_file:?}");
        assert_eq!(from_file.len(), 2);
        // The environment of every test process has the variable PATH.
        let (_, path) = tried("X-Path: a $env:PATH").unwrap().remove(0);
        assert!(path.starts_with("<redacted:"), "{path}");
        assert!(tried("X: $env:LOADLINE_NO_SUCH").unwrap_err().contains("export it"));
        assert!(tried("@/nonexistent").unwrap_err().contains("/nonexistent"));
    }
}
