//! Shell script that starts an agent where loadline is not installed. The script keeps a copy of loadline in the user's
//! cache folder, named and checked by its hash. If the cache folder contains no copy of loadline, the script writes a
//! request to standard output and reads the copy from standard input. The copy of loadline arrives over the connection
//! that started the script.

use crate::hosts::program::Program;

/// Returns the script in one line. The script needs a POSIX.1-2017 `sh`, and `head -c`, `sha256sum` and `test -O` as in
/// GNU, busybox and dash.
pub(super) fn start_script(program: &Program) -> String {
    let (hash, bytes) = (&program.hash, program.bytes.len());
    [
        "umask 077".to_string(),
        // Without a home directory, the folder is in /tmp and must belong to the user.
        "if [ -n \"$HOME\" ]; then d=${XDG_CACHE_HOME:-$HOME/.cache}/loadline; mkdir -p \"$d\"; \
         else d=/tmp/loadline-$(id -u); [ -d \"$d\" ] || mkdir \"$d\"; fi"
            .into(),
        "{ [ -O \"$d\" ] && [ ! -L \"$d\" ] && chmod 700 \"$d\"; } || { echo \"$d cannot be used for the program\" >&2; exit 1; }"
            .into(),
        format!("f=$d/agent-{hash}"),
        format!("ok() {{ [ -f \"$f\" ] && [ -O \"$f\" ] && [ \"$(sha256sum < \"$f\" | cut -c1-64)\" = {hash} ]; }}"),
        format!(
            "ok || {{ printf \"{{\\\"is\\\":\\\"wants\\\",\\\"system\\\":\\\"%s\\\"}}\\n\" \"$(uname -sm)\"; \
             head -c {bytes} > \"$f.$$\" && chmod 700 \"$f.$$\" && mv \"$f.$$\" \"$f\"; \
             ok || {{ rm -f \"$f.$$\"; echo \"copying the program to $f failed\" >&2; exit 1; }}; }}"
        ),
        "exec \"$f\" agent".into(),
    ]
    .join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::process::{Command, Stdio};

    fn program() -> Program {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        std::fs::write(&path, "#!/bin/sh\necho \"I am $1\"\nread line\necho \"$line\"\n").unwrap();
        Program::read(&path).unwrap()
    }

    /// Runs the script with the given home directory. Returns true if the script requested the program, and the rest of
    /// the script's output.
    fn started(home: &Path, program: &Program) -> (bool, String) {
        let mut command = Command::new("sh");
        command.args(["-c", &start_script(program)]).env("HOME", home).env_remove("XDG_CACHE_HOME");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut first = String::new();
        output.read_line(&mut first).unwrap();
        let wants = first.contains("wants");
        if wants {
            assert!(
                matches!(serde_json::from_str(&first), Ok(run::AgentReport::Wants { system }) if system == crate::hosts::program::system())
            );
            input.write_all(&program.bytes).unwrap();
        }
        input.write_all(b"a task\n").unwrap();
        drop(input);
        let mut rest = if wants { String::new() } else { first };
        output.read_to_string(&mut rest).unwrap();
        child.wait().unwrap();
        (wants, rest)
    }

    #[test]
    fn a_program_is_copied_once_and_checked_before_each_use() {
        let (home, program) = (tempfile::tempdir().unwrap(), program());
        let said = "I am agent\na task\n".to_string();
        assert_eq!(started(home.path(), &program), (true, said.clone()));
        assert_eq!(started(home.path(), &program), (false, said.clone()));
        let folder = home.path().join(".cache/loadline");
        let copy = folder.join(format!("agent-{}", program.hash));
        for path in [&folder, &copy] {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
        }
        std::fs::write(&copy, "#!/bin/sh\necho evil\n").unwrap();
        assert_eq!(started(home.path(), &program), (true, said), "another content is not run");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left");
    }
}
