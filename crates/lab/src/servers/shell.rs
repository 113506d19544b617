//! Text of a server's shell command.

use std::path::Path;

use super::quote::quoted;

/// Returns a command that runs in a folder, with the environment variables `$PORT`, `$LOADLINE` (the path of this
/// program) and `variables`.
pub(crate) fn shell_command(
    folder: &Path,
    port: u16,
    program: &Path,
    variables: &[(&'static str, String)],
    command: &str,
) -> String {
    let (folder, program) = (quoted(&folder.display().to_string()), quoted(&program.display().to_string()));
    let more: String = variables.iter().map(|(name, value)| format!(" {name}={}", quoted(value))).collect();
    format!("cd {folder} || exit 1; export PORT={port} LOADLINE={program}{more}; {command}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_runs_in_its_folder_with_its_port() {
        let folder = tempfile::Builder::new().prefix("it's ").tempdir().unwrap();
        let variables = [("WORKERS", "2 3".to_owned())];
        let text = "echo \"$PORT $LOADLINE $WORKERS\"; pwd";
        let shell = shell_command(folder.path(), 80, Path::new("/x y"), &variables, text);
        let output = std::process::Command::new("sh").args(["-c", &shell]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said, format!("80 /x y 2 3\n{}\n", folder.path().display()));
    }
}
