//! Helpers for tests of `loadline arena`, which write a file of servers and make the command.

#![allow(clippy::unwrap_used)]

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use testkit::free_port;

/// Returns the command `arena` of a loadline program, with the given `arguments`, to be run in the folder `dir`.
pub(crate) fn arena(program: impl AsRef<OsStr>, dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.arg("arena").args(arguments).current_dir(dir);
    command
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Writes a file for `loadline arena` with the given servers (name, and options of `loadline serve`). Returns the port
/// that all servers use.
pub(crate) fn write(dir: &Path, servers: &[(&str, &str)]) -> u16 {
    let port = free_port();
    let mut file = String::from("[[profile]]\nname = \"page\"\nconnections = 16\n");
    for (name, options) in servers {
        file += &format!("[[entry]]\nname = \"{name}\"\nport = {port}\n");
        file += &format!("command = 'exec \"$LOADLINE\" serve --listen 127.0.0.1:$PORT {options}'\n");
    }
    std::fs::write(dir.join("arena.toml"), file).unwrap();
    port
}

pub(crate) fn cell<'a>(result: &'a Value, entry: &str) -> &'a Value {
    result["cells"].as_array().unwrap().iter().find(|cell| cell["entry"] == entry).unwrap()
}

pub(crate) fn listens(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}
