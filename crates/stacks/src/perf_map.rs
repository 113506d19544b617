//! Names of code that a runtime compiles while it runs: `/tmp/perf-PID.map`, as Node.js (`--perf-basic-prof`) and
//! agents of the JVM write it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use crate::frame::Frame;
use crate::names::printable;
use crate::root::open_inside;
use crate::status::{status, words_after};

/// Maximum number of bytes that are read from a perf map (the file that names a process's compiled functions). A
/// Node.js server writes about 10 MB into its perf map within an hour.
const MAX_MAP_BYTES: u64 = 64 << 20;

/// Module name of all stack frames in code that a language runtime compiled.
const MODULE: &str = "jit";

/// Functions of compiled code by their start address.
#[derive(Default)]
pub(crate) struct PerfMap {
    functions: BTreeMap<u64, (u64, Arc<str>)>,
    read_bytes: u64,
}

impl PerfMap {
    /// Reads the map of process `pid`, if its size has changed since `self` was read.
    pub(crate) fn refresh(&mut self, pid: u32) {
        let Some(file) = open(pid) else { return };
        let Ok(bytes) = file.metadata().map(|m| m.len()) else { return };
        if bytes == self.read_bytes {
            return;
        }
        let mut text = Vec::new();
        if file.take(MAX_MAP_BYTES).read_to_end(&mut text).is_ok() {
            *self = Self { functions: parse(&String::from_utf8_lossy(&text)), read_bytes: bytes };
        }
    }

    /// Returns the frame for code at `address`.
    pub(crate) fn frame(&self, address: u64) -> Option<Frame> {
        let (start, (size, name)) = self.functions.range(..=address).next_back()?;
        (address - start < *size).then(|| frame_of(name))
    }
}

/// Opens the perf map of a process, which names its compiled code. The file's name contains the ID of the process in
/// its own PID namespace. The map's owner must be the owner of the process or root, because anybody may write to /tmp.
fn open(pid: u32) -> Option<File> {
    let status = status(Path::new(&format!("/proc/{pid}")))?;
    let (inner, uid) = (words_after(&status, "NSpid:")?.next_back()?, words_after(&status, "Uid:")?.nth(1)?);
    let path = format!("/tmp/perf-{inner}.map");
    let file = open_inside(Path::new(&format!("/proc/{pid}/root")), Path::new(&path))?;
    let owner = file.metadata().ok()?.uid();
    (owner == 0 || owner.to_string() == uid).then_some(file)
}

/// Parses lines of start, size and name. A function in a later line replaces earlier functions at the same addresses.
fn parse(text: &str) -> BTreeMap<u64, (u64, Arc<str>)> {
    let mut functions: BTreeMap<u64, (u64, Arc<str>)> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.splitn(3, ' ');
        let mut number = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
        let (Some(start), Some(size)) = (number(), number()) else { continue };
        let (Some(name), Some(end)) = (words.next(), start.checked_add(size)) else { continue };
        let first = functions.range(..start).next_back().filter(|(at, (size, _))| *at + size > start);
        let first = first.map_or(start, |(at, _)| *at);
        let replaced: Vec<u64> = functions.range(first..end).map(|(at, _)| *at).collect();
        replaced.iter().for_each(|at| drop(functions.remove(at)));
        functions.insert(start, (size, printable(name)));
    }
    functions
}

/// Splits a name that node wrote, such as "JS:*handler /srv/app.js:12:3", into function, file and line.
fn frame_of(name: &str) -> Frame {
    let script = ["JS:", "LazyCompile:", "Function:", "Script:"].iter().find_map(|p| name.strip_prefix(p));
    let native = Frame { function: Some(name.into()), module: MODULE.into(), file: None, line: None };
    let Some(script) = script.map(|s| s.trim_start_matches(['~', '*', '^', '+'])) else { return native };
    let Some((function, place)) = script.rsplit_once(' ') else { return native };
    let mut parts = place.rsplitn(3, ':');
    let (_column, line, file) = (parts.next(), parts.next(), parts.next());
    let function = if function.is_empty() { "(anonymous)" } else { function };
    Frame {
        function: Some(function.into()),
        module: MODULE.into(),
        file: file.map(Arc::from),
        line: line.and_then(|line| line.parse().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_functions_replace_earlier_ones_at_their_addresses() {
        let text = "1000 100 old\n0x1080 0x100 JS:*handler /srv/app.js:12:3\nbad\n2000 10 JS:~ node:fs:1:1\n";
        let map = PerfMap { functions: parse(text), read_bytes: 0 };
        assert_eq!(map.frame(0x1000), None);
        let frame = map.frame(0x1100).unwrap();
        assert_eq!((frame.label().as_str(), frame.place().as_deref()), ("handler", Some("app.js:12")));
        assert_eq!(map.frame(0x2005).unwrap().label(), "(anonymous)");
        assert_eq!(map.frame(0x2010), None);
    }

    #[test]
    fn a_map_in_a_container_has_the_container_s_process_id() {
        if let Some(why) = testkit::no_namespaces() {
            return testkit::skip("a_map_in_a_container_has_the_container_s_process_id", why);
        }
        let script = "mount -t tmpfs tmpfs /tmp && echo '1000 100 handler' >/tmp/perf-$$.map && echo $$ && read line";
        let mut command = testkit::in_namespaces();
        command.args(["sh", "-c", script]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut unshare = testkit::ChildProcess(command.spawn().unwrap());
        let own_id = testkit::first_line(&mut unshare.0);
        assert_eq!(own_id, "1", "the shell is the first process of its namespace");
        let mut map = PerfMap::default();
        map.refresh(testkit::children(unshare.0.id())[0]);
        assert_eq!(map.frame(0x1000).unwrap().label(), "handler");
        drop(unshare.0.stdin.take());
    }
}
