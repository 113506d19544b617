//! Runs programs in their own namespaces, as in a container.

use std::process::Command;

/// Returns a command that runs the program in its arguments as process 1 in new user, mount and PID namespaces. The
/// program ends when the command is killed.
pub fn in_namespaces() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "--pid", "--fork", "--kill-child"]);
    command
}

/// Returns the reason why this machine does not allow new user, mount and PID namespaces; `None` if it allows them.
pub fn no_namespaces() -> Option<String> {
    match in_namespaces().arg("true").output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Some(format!("unshare: {error}")),
    }
}
