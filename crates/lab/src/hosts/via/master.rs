//! Master connections of ssh. All agents of a host use its master connections. Each master connection runs `cat` on its
//! host. A master connection ends when this process closes its side of the pipe to `cat`. When the conductor ends, its
//! side of the pipe closes, so no master connection outlives the conductor.

use std::fs::{DirEntry, read_dir};
use std::io::Read as _;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{LabError, owner};

/// Folder for the folders of the connections.
const PARENT: &str = "/tmp";
/// Beginning of the names of the folders. The complete name also contains the conductor and a random number.
const PREFIX: &str = "loadline-ssh-";

/// Maximum number of connections that are opened at the same time. By default, sshd refuses connections if more than 10
/// are not yet authenticated (`MaxStartups`).
const MAX_CONCURRENT: usize = 8;
/// Maximum time to open a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// All master connections of a run.
#[derive(Debug)]
pub(super) struct Masters {
    dir: PathBuf,
    children: Vec<Child>,
}

impl Masters {
    /// Opens a master connection for each entry of `hosts`, which has the host's name and the ssh arguments. Returns
    /// the control sockets in the order of `hosts`.
    pub(super) fn connect(hosts: &[(String, Vec<String>)]) -> Result<(Self, Vec<PathBuf>), LabError> {
        let mut masters = Self { dir: folder()?, children: Vec::new() };
        let sockets: Vec<PathBuf> = (0..hosts.len()).map(|n| masters.dir.join(n.to_string())).collect();
        let all: Vec<_> = hosts.iter().zip(&sockets).collect();
        for some in all.chunks(MAX_CONCURRENT) {
            let begun = masters.children.len();
            for ((host, words), socket) in some {
                let child = start(words, socket).map_err(|e| failed(host, &e.to_string()))?;
                masters.children.push(child);
            }
            let deadline = Instant::now() + CONNECT_TIMEOUT;
            for (child, ((host, _), socket)) in masters.children[begun..].iter_mut().zip(some) {
                await_socket(child, socket, deadline).map_err(|why| failed(host, &why))?;
            }
        }
        Ok((masters, sockets))
    }
}

impl Drop for Masters {
    fn drop(&mut self) {
        self.children.iter_mut().for_each(|child| drop(child.stdin.take()));
        let deadline = Instant::now() + Duration::from_millis(500);
        for child in &mut self.children {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Makes a private folder for the sockets. The folder's name is short, because the path of a socket has at most 107
/// bytes.
fn folder() -> Result<PathBuf, LabError> {
    for _ in 0..16 {
        let dir = Path::new(PARENT).join(format!("{PREFIX}{}-{:08x}", owner::own_name(), fastrand::u32(..)));
        if std::fs::DirBuilder::new().mode(0o700).create(&dir).is_ok() {
            return Ok(dir);
        }
    }
    Err(LabError::set_up("making a folder in /tmp for connections", "no name was free, or /tmp cannot be written"))
}

/// Removes the folders that killed conductors of this user left on this machine.
pub(crate) fn remove_left_folders() {
    remove_left_in(Path::new(PARENT));
}

fn remove_left_in(parent: &Path) {
    read_dir(parent).into_iter().flatten().flatten().filter(is_left).for_each(|folder| remove(&folder.path()));
}

/// Returns true if an entry is a folder of this user, and its conductor no longer exists.
fn is_left(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let is_ours = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).is_some_and(owner::is_gone);
    let is_own_folder = |of: std::fs::Metadata| of.is_dir() && of.uid() == sys::limits::user_id();
    is_ours && entry.metadata().is_ok_and(is_own_folder)
}

/// Removes a folder with its sockets. If the folder contains anything else, nothing but the sockets is removed.
fn remove(folder: &Path) {
    let is_socket = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_socket());
    for socket in read_dir(folder).into_iter().flatten().flatten().filter(is_socket) {
        let _ = std::fs::remove_file(socket.path());
    }
    let _ = std::fs::remove_dir(folder);
}

/// Starts a master connection.
fn start(words: &[String], socket: &Path) -> std::io::Result<Child> {
    let mut command = Command::new(&words[0]);
    command.args(["-M", "-o", "ControlPersist=no", "-S"]).arg(socket).args(&words[1..]);
    command.arg("exec cat >/dev/null");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0).spawn()
}

fn await_socket(child: &mut Child, socket: &Path, deadline: Instant) -> Result<(), String> {
    loop {
        if !matches!(child.try_wait(), Ok(None)) {
            let mut words = String::new();
            if let Some(stderr) = child.stderr.take() {
                let _ = stderr.take(4096).read_to_string(&mut words);
            }
            let last = words.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it ended without a message");
            return Err(run::visible(last.trim()).into_owned());
        }
        if socket.exists() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(format!("no connection after {} s", CONNECT_TIMEOUT.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn failed(host: &str, why: &str) -> LabError {
    LabError::Agent {
        name: format!("ssh to {host}"),
        why: format!("{why}; `ssh -o BatchMode=yes {host} true` must work without a prompt"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_folders_without_their_conductor_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let own = owner::own_name();
        let (others, _) = own.rsplit_once('-').unwrap();
        let [empty, used, odd, running, other] = [
            format!("{PREFIX}{others}-7-00000001"),
            format!("{PREFIX}{others}-7-00000002"),
            format!("{PREFIX}{others}-7-00000003"),
            format!("{PREFIX}{own}-00000001"),
            "loadline-0000002a".into(),
        ]
        .map(|name| parent.path().join(name));
        [&empty, &used, &odd, &running, &other].iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        std::fs::write(odd.join("file"), "kept").unwrap();
        let _sockets = [&used, &running].map(|folder| UnixListener::bind(folder.join("0")).unwrap());
        remove_left_in(parent.path());
        assert!(!empty.exists() && !used.exists());
        assert!(odd.join("file").exists() && running.join("0").exists() && other.exists());
    }

    /// The path of a socket has at most 107 bytes. While ssh makes a socket, its name has 17 bytes more.
    #[test]
    fn the_folder_has_a_short_name() {
        let folder = folder().unwrap();
        std::fs::remove_dir(&folder).unwrap();
        assert!(folder.join("1000").as_os_str().len() + 17 <= 107, "{}", folder.display());
    }
}
