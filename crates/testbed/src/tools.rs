//! Runs the programs `ip` and `tc` (iproute2) inside a namespace. `ip` and `tc` read their commands from standard
//! input.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sys::netns::Netns;

use crate::error::{Result, TestbedError};

const ADVICE: &str =
    "the kernel may lack this piece (bridge, veth, ifb, packet sockets, sch_htb, act_mirred): load its module";

/// Maximum time to wait until a link is active. The kernel may need more than a second, because it updates the states
/// of links at most once per second (`linkwatch`).
const LINKS_UP_WITHIN: Duration = Duration::from_secs(10);
/// Time between two checks that the network links are up.
const LINK_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Runs `ip` commands, one per line.
pub(crate) fn ip(netns: &Netns, commands: &str) -> Result<()> {
    batch("ip", netns, commands)
}

/// Runs `tc` commands, one per line.
pub(crate) fn tc(netns: &Netns, commands: &str) -> Result<()> {
    batch("tc", netns, commands)
}

/// Waits until all interfaces that are set to "up" can carry frames. The kernel activates a link only a moment after
/// `ip` has set it to "up", and drops frames until then. Returns an error if an interface is not ready after
/// [`LINKS_UP_WITHIN`].
pub(crate) fn wait_for_links(netns: &Netns) -> Result<()> {
    let begin = Instant::now();
    loop {
        let down = links_down(&listed(netns)?);
        if down.is_empty() {
            return Ok(());
        }
        if begin.elapsed() > LINKS_UP_WITHIN {
            let what = format!("bring {} up", down.join(", "));
            return Err(TestbedError::Setup { what, message: "no carrier".into(), advice: ADVICE });
        }
        std::thread::sleep(LINK_POLL_INTERVAL);
    }
}

/// Returns the table of interfaces that are set to "up", as `ip` prints it.
fn listed(netns: &Netns) -> Result<String> {
    let mut command = tool("ip");
    command.args(["-br", "link", "show", "up"]);
    netns.enter(&mut command);
    let missing = |source| TestbedError::Program { program: "ip", package: "iproute2", source };
    Ok(String::from_utf8_lossy(&command.output().map_err(missing)?.stdout).into_owned())
}

/// Returns the names of the interfaces whose state is down in a table from [`listed`].
fn links_down(table: &str) -> Vec<String> {
    let words = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let down = words.filter(|words| words.get(1).is_some_and(|state| state.ends_with("DOWN")));
    down.map(|words| words[0].to_owned()).collect()
}

/// Writes a text into a file of `/proc/sys`, inside the namespace.
pub(crate) fn write(netns: &Netns, path: &str, value: &str) -> std::io::Result<()> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", r#"printf %s "$2" > "$1""#, "sh", path, value]);
    netns.enter(&mut command);
    let output = command.output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_string())),
    }
}

fn batch(program: &'static str, netns: &Netns, commands: &str) -> Result<()> {
    let missing = |source| TestbedError::Program { program, package: "iproute2", source };
    let mut command = tool(program);
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    netns.enter(&mut command);
    let mut child = command.spawn().map_err(missing)?;
    if let Some(mut input) = child.stdin.take() {
        // An error means that `ip` or `tc` has already ended. The code below reads the program's error output, which
        // says why it ended.
        let _ = input.write_all(commands.as_bytes());
    }
    let output = child.wait_with_output().map_err(missing)?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(TestbedError::Setup { what: explain(program, commands, &words), message: words.trim().into(), advice: ADVICE })
}

/// Returns the command that failed, as text. The program's error output (`words`) contains the line number of the
/// failed command.
fn explain(program: &str, commands: &str, words: &str) -> String {
    let line = words.split("-:").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    let failed = line.and_then(|n| commands.lines().nth(n.checked_sub(1)?)).unwrap_or("(unnamed line)");
    format!("run `{program} {failed}`")
}

/// Returns a command for a program. Many systems install `ip` and `tc` in `/sbin` or `/usr/sbin`, so this function
/// searches these directories even if PATH lacks them.
pub(crate) fn tool(program: &str) -> Command {
    let found = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
        .iter()
        .map(|dir| format!("{dir}/{program}"))
        .find(|path| std::path::Path::new(path).exists());
    Command::new(found.unwrap_or_else(|| program.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_without_a_carrier_are_down() {
        let table = "lo UNKNOWN 00:00:00:00:00:00 <LOOPBACK,UP,LOWER_UP>\n\
                     eth0@if3 LOWERLAYERDOWN 02:00:00:00:00:01 <NO-CARRIER,UP>\nbr0 DOWN 02:00:00:00:00:02 <UP>\n\
                     port0@if2 UP 02:00:00:00:00:03 <UP,LOWER_UP>\n";
        assert_eq!(links_down(table), ["eth0@if3", "br0"]);
        assert!(links_down("").is_empty());
    }

    #[test]
    fn the_failed_command_is_named() {
        let words = "Cannot find device \"x\"\nCommand failed -:2\n";
        assert_eq!(explain("ip", "link set lo up\nlink set x up\n", words), "run `ip link set x up`");
    }
}
