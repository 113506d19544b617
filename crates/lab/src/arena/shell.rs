//! Text of a server's shell command.

use std::path::Path;

use super::control_group::ControlGroup;
use super::quote::quoted;

/// Returns the command with its folder and its variables: `$PORT`, and `$LOADLINE`, the path of this program.
pub(super) fn command(folder: &Path, port: u16, program: &Path, group: Option<&ControlGroup>, command: &str) -> String {
    let join = group.map_or(String::new(), ControlGroup::join_script);
    let (folder, program) = (quoted(&folder.display().to_string()), quoted(&program.display().to_string()));
    format!("{join}cd {folder} || exit 1; export PORT={port} LOADLINE={program}; {command}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_runs_in_its_folder_with_its_port() {
        let folder = tempfile::Builder::new().prefix("it's ").tempdir().unwrap();
        let shell = command(folder.path(), 80, Path::new("/x y"), None, "echo \"$PORT $LOADLINE\"; pwd");
        let output = std::process::Command::new("sh").args(["-c", &shell]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said, format!("80 /x y\n{}\n", folder.path().display()));
    }
}
