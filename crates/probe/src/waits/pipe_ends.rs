//! Finds the process at the other end of a pipe for which a thread waits. Only the links in /proc/PID/fd are read,
//! because asking for a file of a network drive without a server may block for ever. Source: proc_pid_fd(5),
//! proc_pid_fdinfo(5).

use std::collections::HashMap;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::process_tree::pids;
use crate::text::name;

/// Maximum number of pipes whose other end is searched. A search reads the open files of all processes.
const MAX_PIPES: usize = 8;

/// Pipe of the kernel, and the end of it at which a thread waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PipeEnd {
    /// Link in /proc/PID/fd: `pipe:[4711]`, or the path of a named pipe.
    link: PathBuf,
    is_write: bool,
}

/// Known pipes, each with a text that names the pipe and the process at its other end.
#[derive(Debug, Default)]
pub(super) struct PipeEnds(HashMap<PipeEnd, Arc<str>>);

impl PipeEnds {
    /// Describes the pipe that process `pid` has open as descriptor `fd`, such as `pipe to logger:7`. Returns `None` if
    /// the descriptor is no pipe. `is_write` is true for a thread that waits to write.
    pub(super) fn describe(&mut self, pid: u32, fd: u64, is_write: bool) -> Option<Arc<str>> {
        let file = format!("/proc/{pid}/fd/{fd}");
        let link = std::fs::read_link(&file).ok()?;
        if !link.to_string_lossy().starts_with("pipe:[") {
            std::fs::metadata(&file).ok().filter(|file| file.file_type().is_fifo())?;
        }
        let end = PipeEnd { link, is_write };
        if let Some(known) = self.0.get(&end) {
            return Some(known.clone());
        }
        let other = if self.0.len() < MAX_PIPES { other_end(pid, &end) } else { None };
        let text: Arc<str> = match other {
            Some(name) if is_write => format!("pipe to {name}").into(),
            Some(name) => format!("pipe from {name}").into(),
            None => "pipe".into(),
        };
        if self.0.len() < MAX_PIPES {
            self.0.insert(end, text.clone());
        }
        Some(text)
    }
}

/// Returns the name and ID of a process that has the other end of a pipe open. Leaves out processes that have the same
/// end open as `pid`, such as further workers of the server.
fn other_end(pid: u32, end: &PipeEnd) -> Option<String> {
    let ends_of = |other: u32| {
        let files = std::fs::read_dir(format!("/proc/{other}/fd")).into_iter().flatten().flatten();
        files.filter_map(move |file| {
            let is_pipe = std::fs::read_link(file.path()).ok()? == end.link;
            is_pipe.then(|| writes(other, file.file_name().to_str()?)).flatten()
        })
    };
    let is_other = |other: &u32| {
        let mut all = ends_of(*other).peekable();
        *other != pid && all.peek().is_some() && all.all(|writes| writes != end.is_write)
    };
    let other = pids(Path::new("/proc")).find(is_other)?;
    let comm = std::fs::read(format!("/proc/{other}/comm")).ok()?;
    Some(format!("{}:{other}", name(comm.trim_ascii_end())))
}

/// Returns true if a process has a descriptor open for writing only, and false if it is open for reading only. Returns
/// `None` if the descriptor is open for both, or if its flags cannot be read.
fn writes(pid: u32, fd: &str) -> Option<bool> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).ok()?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    match u64::from_str_radix(flags.trim(), 8).ok()? & 3 {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_reader_of_a_pipe_is_named() {
        let mut command = Command::new("sleep");
        command.arg("600").stdin(Stdio::piped());
        let mut child = testkit::ChildProcess::start(&mut command);
        let stdin = child.0.stdin.take().unwrap();
        let fd = stdin.as_raw_fd() as u64;
        let described = PipeEnds::default().describe(std::process::id(), fd, true);
        assert_eq!(described.as_deref(), Some(format!("pipe to sleep:{}", child.pid()).as_str()));
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        assert_eq!(PipeEnds::default().describe(std::process::id(), file.as_raw_fd() as u64, false), None);
    }

    #[test]
    fn the_writer_of_a_named_pipe_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let path = path.to_str().unwrap();
        let script = format!("exec sleep 600 >{path}");
        let child = testkit::ChildProcess::start(Command::new("sh").args(["-c", &script]));
        let file = std::fs::File::open(path).unwrap();
        let fd = file.as_raw_fd() as u64;
        let wanted = format!("pipe from sleep:{}", child.pid());
        testkit::eventually(|| {
            let described = PipeEnds::default().describe(std::process::id(), fd, false);
            (described.as_deref() == Some(wanted.as_str())).then_some(())
        });
    }
}
