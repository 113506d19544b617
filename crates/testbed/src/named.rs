//! Testbeds that are kept under a name for other programs. A keeper process holds the testbed and listens on a Unix
//! socket; whoever can reach the socket can ask what there is, or end it. When the keeper dies, all but the socket's
//! file goes with it, and the next command on that name removes the file.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use run::Recording;
use serde::{Deserialize, Serialize};
use sys::netns::{self, Netns};

use crate::error::{Result, TestbedError};
use crate::testbed::{Spec, Testbed};

/// How long a keeper may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a keeper says of its testbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// What joins the hosts, as it was asked for.
    pub medium: String,
    /// What the medium is made of.
    pub made_of: String,
    /// Process id of the keeper.
    pub keeper: u32,
    /// Seconds since it was made.
    pub age_s: f64,
    /// The hosts.
    pub hosts: Vec<HostStatus>,
    /// One sample of the medium's counters.
    pub medium_use: Recording,
}

/// A host of a named testbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostStatus {
    /// Its name.
    pub name: String,
    /// Its address on the medium.
    pub address: IpAddr,
    /// A process in its namespace.
    pub netns_pid: u32,
}

/// The directory of the sockets: of this user alone.
fn directory() -> PathBuf {
    let uid = rustix::process::geteuid().as_raw();
    let base = match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir).join("loadline"),
        None if uid == 0 => PathBuf::from("/run/loadline"),
        None => std::env::temp_dir().join(format!("loadline-{uid}")),
    };
    base.join("testbeds")
}

fn socket_of(name: &str) -> Result<PathBuf> {
    let fits = (1..=40).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    match fits {
        true => Ok(directory().join(format!("{name}.sock"))),
        false => Err(fail(name, "give a name of 1 to 40 letters, digits, - and _")),
    }
}

fn fail(name: &str, message: impl Into<String>) -> TestbedError {
    TestbedError::Named { name: name.into(), message: message.into() }
}

/// Makes a testbed and keeps it until [`down`]; `ready` is called once it can be used. Returns when it has ended.
pub fn keep(name: &str, spec: &Spec, ready: impl FnOnce(&Status)) -> Result<()> {
    let path = socket_of(name)?;
    let listener = listen(name, &path)?;
    let began = Instant::now();
    let outcome = Testbed::build(spec).map(|bed| {
        ready(&status_of(name, &bed, began));
        serve(&listener, name, &bed, began)
    });
    // The testbed is gone here; whoever waits for the end of its answer sees that now.
    let _ = std::fs::remove_file(&path);
    outcome.map(drop)
}

/// Answers until one asks for the end; keeps that connection open until the testbed is gone.
fn serve(listener: &UnixListener, name: &str, bed: &Testbed, began: Instant) -> Option<UnixStream> {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        let mut word = String::new();
        if BufReader::new(&stream).read_line(&mut word).is_err() {
            continue;
        }
        match word.trim() {
            "down" => return Some(stream),
            _ => {
                let text = serde_json::to_string(&status_of(name, bed, began)).unwrap_or_default();
                // Who does not want to read the answer need not.
                let _ = stream.write_all(text.as_bytes());
            }
        }
    }
    None
}

fn status_of(name: &str, bed: &Testbed, began: Instant) -> Status {
    let mut medium_use = Recording::default();
    bed.gauge().sample(began.elapsed().as_secs_f64(), &mut medium_use);
    let host = |host: &str| {
        let (address, netns_pid) = bed.address(host).ok().zip(bed.netns_pid(host).ok())?;
        Some(HostStatus { name: host.into(), address, netns_pid })
    };
    Status {
        name: name.into(),
        medium: bed.medium().into(),
        made_of: bed.made_of(),
        keeper: std::process::id(),
        age_s: began.elapsed().as_secs_f64(),
        hosts: bed.hosts().filter_map(host).collect(),
        medium_use,
    }
}

fn listen(name: &str, path: &Path) -> Result<UnixListener> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let refuse = |e: std::io::Error| fail(name, format!("cannot keep its socket {}: {e}", path.display()));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(refuse)?;
    let owner = std::fs::metadata(directory).map_err(refuse)?;
    if owner.uid() != rustix::process::geteuid().as_raw() {
        return Err(fail(name, format!("{} belongs to another user", directory.display())));
    }
    if UnixStream::connect(path).is_ok() {
        return Err(fail(name, "it is up already; choose another name, or take it down first"));
    }
    // What is left of a keeper that was killed.
    let _ = std::fs::remove_file(path);
    UnixListener::bind(path).map_err(refuse)
}

/// Starts a keeper in the background: `program` with `arguments` is to call [`keep`] and to print one line when it is
/// ready. Returns what there is now.
pub fn up(name: &str, program: &Path, arguments: &[String]) -> Result<Status> {
    socket_of(name)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir("/");
    netns::own_session(&mut command);
    let mut child = command.spawn().map_err(|e| fail(name, format!("cannot start its keeper: {e}")))?;
    let mut line = String::new();
    let heard = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    if matches!(heard, Some(Ok(1..))) {
        return status(name)?.ok_or_else(|| fail(name, "its keeper ended at once"));
    }
    let mut words = String::new();
    if let Some(mut error) = child.stderr.take() {
        // Without its words the exit is all there is to say.
        let _ = error.read_to_string(&mut words);
    }
    let _ = child.wait();
    let words = words.trim().trim_start_matches("loadline: ").trim_start_matches(&format!("testbed {name:?}: "));
    Err(fail(name, if words.is_empty() { "its keeper ended without a word" } else { words }))
}

/// What there is under a name; `None` when nothing is.
pub fn status(name: &str) -> Result<Option<Status>> {
    let path = socket_of(name)?;
    let Some(text) = ask(&path, "status") else {
        let _ = std::fs::remove_file(&path);
        return Ok(None);
    };
    let parsed = serde_json::from_str(&text);
    parsed.map(Some).map_err(|e| fail(name, format!("its keeper answers oddly ({e}); take it down and make it anew")))
}

/// The names of all testbeds of this user.
pub fn names() -> Vec<String> {
    let entries = std::fs::read_dir(directory()).into_iter().flatten().flatten();
    let name = |path: PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(".sock")?.to_string());
    let mut names: Vec<String> = entries.filter_map(|e| name(e.path())).collect();
    names.sort();
    names
}

/// Ends a testbed with every program in it; false when there was none. Returns when nothing is left.
pub fn down(name: &str) -> Result<bool> {
    let path = socket_of(name)?;
    let known = status(name).ok().flatten();
    let asked = ask(&path, "down").is_some();
    if let (false, Some(known)) = (asked, &known) {
        // It answered a moment ago and does not now: its namespaces end with it.
        end_process(known.keeper);
    }
    let _ = std::fs::remove_file(&path);
    let left = known.iter().flat_map(|k| &k.hosts).filter_map(|h| Netns::of_process(h.netns_pid).ok().map(|n| (h, n)));
    for (host, netns) in left.collect::<Vec<_>>() {
        let end = Instant::now() + PATIENCE;
        while netns.holds(host.netns_pid) {
            if Instant::now() > end {
                return Err(fail(name, format!("process {} of host {} does not end", host.netns_pid, host.name)));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    Ok(asked || known.is_some())
}

/// A command that will run in a host of a named testbed.
pub fn command(name: &str, host: &str, program: &str) -> Result<Command> {
    let known = status(name)?.ok_or_else(|| fail(name, "it is not up; `loadline testbed up` makes it"))?;
    let Some(found) = known.hosts.iter().find(|h| h.name == host) else {
        let names = known.hosts.iter().map(|h| h.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(TestbedError::Host { name: host.into(), known: names });
    };
    let netns = Netns::of_process(found.netns_pid).map_err(|e| fail(name, format!("cannot enter {host}: {e}")))?;
    let mut command = Command::new(program);
    netns.enter(&mut command);
    Ok(command)
}

/// Asks a keeper; `None` when nobody answers.
fn ask(path: &Path, word: &str) -> Option<String> {
    let mut stream = UnixStream::connect(path).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(format!("{word}\n").as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

fn end_process(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        // Gone already is as good.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
