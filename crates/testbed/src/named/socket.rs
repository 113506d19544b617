//! Unix sockets of keepers (the processes that keep named testbeds alive), and requests to keepers.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Result, TestbedError};

/// Maximum time to wait for each part of a keeper's answer.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the directory that contains the sockets of this user's keepers.
fn directory() -> PathBuf {
    let uid = outside(
        rustix::process::geteuid().as_raw(),
        &std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default(),
    );
    let base = match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir).join("loadline"),
        None if uid == 0 => PathBuf::from("/run/loadline"),
        None => std::env::temp_dir().join(format!("loadline-{uid}")),
    };
    base.join("testbeds")
}

/// Returns the user ID as seen from outside of the user namespace. Inside a host of a testbed that was created without
/// root, the user ID is 0. `map` is the content of `/proc/self/uid_map`.
fn outside(uid: u32, map: &str) -> u32 {
    let ranges = map.lines().filter_map(|line| {
        let mut words = line.split_whitespace().filter_map(|word| word.parse::<u32>().ok());
        Some((words.next()?, words.next()?, words.next()?))
    });
    let outside_id = |(inside, outside, count): (u32, u32, u32)| {
        uid.checked_sub(inside).filter(|past| *past < count).and_then(|past| outside.checked_add(past))
    };
    ranges.filter_map(outside_id).next().unwrap_or(uid)
}

pub(super) fn socket_of(name: &str) -> Result<PathBuf> {
    let fits = (1..=40).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    match fits {
        true => Ok(directory().join(format!("{name}.sock"))),
        false => Err(fail(name, "give a name of 1 to 40 letters, digits, - and _")),
    }
}

pub(super) fn fail(name: &str, message: impl Into<String>) -> TestbedError {
    TestbedError::Named { name: name.into(), message: message.into() }
}

/// Returns the names of all testbeds of this user.
pub fn names() -> Vec<String> {
    let entries = std::fs::read_dir(directory()).into_iter().flatten().flatten();
    let name = |path: PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(".sock")?.to_string());
    let mut names: Vec<String> = entries.filter_map(|e| name(e.path())).collect();
    names.sort();
    names
}

/// Removes a socket file. Also removes the socket's two parent directories if they become empty.
pub(super) fn clear(path: &Path) {
    // Ignore errors: files or directories may be missing, and a directory may contain other sockets.
    let _ = std::fs::remove_file(path);
    path.ancestors().skip(1).take(2).for_each(|directory| drop(std::fs::remove_dir(directory)));
}

/// Result of a request to a keeper (the process that owns a named testbed).
pub(super) enum KeeperReply {
    /// Answer to the request.
    Answer(String),
    /// A process (the keeper) accepts connections but does not answer. The value is the keeper's process ID, if known.
    Silence(Option<u32>),
    /// No process listens on the socket.
    Nobody,
}

/// Sends a request to a keeper, and reads its answer. Waits at most `patience` for each part of the answer.
pub(super) fn ask(path: &Path, word: &str, patience: Duration) -> KeeperReply {
    let Ok(mut stream) = UnixStream::connect(path) else { return KeeperReply::Nobody };
    let keeper = rustix::net::sockopt::socket_peercred(&stream).ok().map(|peer| peer.pid.as_raw_nonzero().get() as u32);
    let mut talk = || {
        stream.set_read_timeout(Some(patience))?;
        stream.write_all(format!("{word}\n").as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text).map(|_| text)
    };
    talk().map_or(KeeperReply::Silence(keeper), KeeperReply::Answer)
}

#[cfg(test)]
mod tests {
    use super::outside;

    #[test]
    fn a_user_in_a_user_namespace_has_the_id_of_its_creator() {
        assert_eq!(outside(0, "         0       1000          1\n"), 1000);
        assert_eq!(outside(7, "0 1000 1\n1 100000 65536\n"), 100_006);
        assert_eq!((outside(1000, "0 0 4294967295\n"), outside(5, "")), (1000, 5));
    }
}
