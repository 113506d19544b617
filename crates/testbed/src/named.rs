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
    clear(&path);
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
    let refuse = |e: std::io::Error| {
        let advice = "set XDG_RUNTIME_DIR to a directory that you may write";
        fail(name, format!("cannot keep its socket {}: {e}; {advice}", path.display()))
    };
    let make = || std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(refuse);
    make()?;
    let owner = std::fs::metadata(directory).map_err(refuse)?;
    if owner.uid() != rustix::process::geteuid().as_raw() {
        return Err(fail(name, format!("{} belongs to another user", directory.display())));
    }
    if UnixStream::connect(path).is_ok() {
        return Err(fail(name, "it is up already; choose another name, or take it down first"));
    }
    // What is left of a keeper that was killed.
    let _ = std::fs::remove_file(path);
    match UnixListener::bind(path) {
        // Somebody took the last other testbed down in between, and the directory with it.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            make()?;
            UnixListener::bind(path).map_err(refuse)
        }
        bound => bound.map_err(refuse),
    }
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
    let text = match ask(&path, "status") {
        Heard::Answer(text) => text,
        Heard::Silence(keeper) => {
            let who = keeper.map_or(String::new(), |pid| format!(" (process {pid})"));
            let advice = format!("`loadline testbed down {name}` ends it");
            return Err(fail(name, format!("its keeper{who} does not answer; {advice}")));
        }
        Heard::Nobody => {
            clear(&path);
            return Ok(None);
        }
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
    let heard = ask(&path, "status");
    let holders = match &heard {
        Heard::Answer(text) => serde_json::from_str(text).map_or_else(|_| Vec::new(), |s: Status| holders(&s)),
        Heard::Silence(keeper) => keeper.map_or_else(Vec::new, children),
        Heard::Nobody => Vec::new(),
    };
    let left: Vec<(u32, Netns)> = holders.into_iter().filter_map(|p| Some((p, Netns::of_process(p).ok()?))).collect();
    let stuck = match &heard {
        Heard::Answer(_) => match ask(&path, "down") {
            Heard::Silence(keeper) => keeper,
            _ => None,
        },
        Heard::Silence(keeper) => *keeper,
        Heard::Nobody => None,
    };
    // A keeper that does not listen: its namespaces end with it.
    stuck.into_iter().for_each(end_process);
    clear(&path);
    for (pid, netns) in left {
        let end = Instant::now() + PATIENCE;
        while netns.holds(pid) {
            if Instant::now() > end {
                return Err(fail(name, format!("process {pid} of its hosts does not end; end it with kill -9 {pid}")));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    Ok(!matches!(heard, Heard::Nobody))
}

/// The processes that hold the hosts.
fn holders(status: &Status) -> Vec<u32> {
    status.hosts.iter().map(|host| host.netns_pid).collect()
}

/// The children of a process, where the kernel tells them (proc_pid_task(5)).
fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let told = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    told.flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// Removes a socket, and the directories that it was the last one in.
fn clear(path: &Path) {
    // What is not there or not empty stays as it is.
    let _ = std::fs::remove_file(path);
    path.ancestors().skip(1).take(2).for_each(|directory| drop(std::fs::remove_dir(directory)));
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

/// What comes of asking a keeper.
enum Heard {
    /// This.
    Answer(String),
    /// It lives, for somebody listens, and does not answer: its process id.
    Silence(Option<u32>),
    /// There is none.
    Nobody,
}

fn ask(path: &Path, word: &str) -> Heard {
    let Ok(mut stream) = UnixStream::connect(path) else { return Heard::Nobody };
    let keeper = rustix::net::sockopt::socket_peercred(&stream).ok().map(|of| of.pid.as_raw_nonzero().get() as u32);
    let mut talk = || {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(format!("{word}\n").as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text).map(|_| text)
    };
    talk().map_or(Heard::Silence(keeper), Heard::Answer)
}

fn end_process(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        // Gone already is as good.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
