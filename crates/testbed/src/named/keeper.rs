//! The keeper: the process that keeps a named testbed alive and answers requests about it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use run::Recording;

use super::slowing::{MAX_REQUEST_BYTES, SLOW_REQUEST, SlowingServer};
use super::socket::{clear, fail, socket_of};
use super::status::{HostStatus, Status};
use crate::error::Result;
use crate::testbed::{Spec, Testbed};

/// Creates a testbed, and keeps it alive until a process calls [`down`] for it. Calls `ready` as soon as the testbed
/// can be used. Returns after the testbed has ended.
pub fn keep(name: &str, spec: &Spec, ready: impl FnOnce(&Status)) -> Result<()> {
    let path = socket_of(name)?;
    let listener = listen(name, &path)?;
    let began = Instant::now();
    let outcome = Testbed::build(spec).map(|bed| {
        ready(&status_of(name, &bed, began));
        serve(&listener, name, &bed, began)
    });
    // The testbed has ended before the keeper removes its socket here. Clients that wait for the testbed's end notice
    // that the keeper's socket is gone.
    clear(&path);
    outcome.map(drop)
}

/// Answers requests until a request asks to end the testbed. Returns the connection of the ending request, which the
/// caller must keep open until the testbed has ended.
fn serve(listener: &UnixListener, name: &str, bed: &Testbed, began: Instant) -> Option<UnixStream> {
    let slowed = SlowingServer::new(bed.speed());
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        let mut word = String::new();
        if BufReader::new((&stream).take(MAX_REQUEST_BYTES)).read_line(&mut word).is_err() {
            continue;
        }
        match word.split_whitespace().next() {
            Some("down") => return Some(stream),
            Some(SLOW_REQUEST) => slowed.hold(stream, word),
            _ => {
                let text = serde_json::to_string(&status_of(name, bed, began)).unwrap_or_default();
                // Ignore an error, because the client may have closed the connection.
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
    // If an earlier keeper was killed, its socket file still exists.
    let _ = std::fs::remove_file(path);
    match UnixListener::bind(path) {
        // If the directory is missing, another keeper has just ended and has removed the directory, because no other
        // socket was left in it.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            make()?;
            UnixListener::bind(path).map_err(refuse)
        }
        bound => bound.map_err(refuse),
    }
}
