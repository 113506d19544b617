//! The processes whose threads the reader reads: those of the server, their children, and those of upstream services.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use run::Address;

use super::{MAX_PROCESSES, Reader};
use crate::find::who_answers;
use crate::process_tree::{children_of_main_thread, server_descendants};
use crate::socket_holders::is_manager;
use crate::waits::process::Process;

/// Maximum number of upstream addresses.
const MAX_UPSTREAMS: usize = 16;

impl Reader {
    /// Finds new children, new processes of upstreams, and the sockets and listeners of all processes.
    pub(in crate::waits) fn find_processes(&mut self) {
        self.find_upstreams();
        self.processes.values_mut().for_each(Process::look_for_epoll);
        let proc = Path::new("/proc");
        for (roots, behind) in [(self.roots.clone(), false), (self.behind.clone(), true)] {
            // A service manager may have the socket of an upstream open, but many of its children are not part of the
            // upstream.
            let parents: Vec<u32> = roots.iter().copied().filter(|pid| !behind || !is_manager(proc, *pid)).collect();
            for pid in roots.into_iter().chain(server_descendants(proc, &parents)) {
                if self.processes.len() < MAX_PROCESSES && !self.processes.contains_key(&pid) {
                    self.processes.extend(Process::open(pid, behind).map(|process| (pid, process)));
                }
            }
        }
        self.set_upstreams_apart();
        self.set_parents_apart();
        let of = |behind: bool| -> HashMap<u32, Arc<str>> {
            let processes = self.processes.values().filter(|p| p.behind == behind);
            processes.flat_map(Process::sockets).collect()
        };
        let (front, back) = (of(false), of(true));
        if let Err(error) = self.sockets.find_ports(&front, &back) {
            self.miss(format!("the listeners could not be read: {error}"));
        }
        self.held = front.into_iter().chain(back).collect();
    }

    /// Finds the processes that sampled processes have started since the last search, with their sockets. Database
    /// servers such as PostgreSQL start a process for each connection, so most of their processes begin with the load.
    ///
    /// Reads only the children of main threads, because a search through all processes takes milliseconds.
    /// [`Self::find_processes`] also finds the children that other threads started.
    pub(in crate::waits) fn find_children(&mut self) {
        let new = self.new_children();
        if new.is_empty() {
            return;
        }
        self.set_upstreams_apart();
        self.set_parents_apart();
        let found = new.iter().filter_map(|pid| self.processes.get(pid));
        self.held.extend(found.flat_map(Process::sockets));
    }

    /// Opens the children of the processes that may start others: the roots, and the parents of known processes.
    /// Returns the process IDs of the opened children.
    fn new_children(&mut self) -> Vec<u32> {
        let mut parents: Vec<(u32, bool)> = self.may_start_others();
        let mut new = Vec::new();
        while let Some((parent, behind)) = parents.pop() {
            for pid in children_of_main_thread(parent) {
                let is_new = !self.processes.contains_key(&pid) && !self.own_line.contains(&pid);
                if is_new
                    && self.processes.len() < MAX_PROCESSES
                    && let Some(process) = Process::open(pid, behind)
                {
                    self.processes.insert(pid, process);
                    parents.push((pid, behind));
                    new.push(pid);
                }
            }
        }
        new
    }

    /// Returns the sampled processes that may start others. The second value is true for an upstream. Leaves out
    /// service managers, whose children are not part of the upstream.
    fn may_start_others(&self) -> Vec<(u32, bool)> {
        let parents: HashSet<u32> = self.processes.values().map(Process::parent).collect();
        let is_root = |pid: &u32| self.roots.contains(pid) || self.behind.contains(pid);
        let may = self.processes.values().filter(|process| is_root(&process.pid) || parents.contains(&process.pid));
        let is_own = |process: &&Process| !process.behind || !process.is_manager;
        may.filter(is_own).map(|process| (process.pid, process.behind)).collect()
    }

    /// Gives a new name to each upstream process that has the same name as a process of the server.
    fn set_upstreams_apart(&mut self) {
        let front = self.processes.values().filter(|process| !process.behind);
        let names: HashSet<Arc<str>> = front.map(|process| process.name.clone()).collect();
        let same = self.processes.values_mut().filter(|process| process.behind && names.contains(&process.name));
        same.for_each(|process| process.set_apart("upstream"));
    }

    /// Renames each parent process that has an event loop (epoll), if its children run the same program without an
    /// event loop. The children handle the requests. The parent uses its event loop for other tasks: gunicorn, for
    /// example, for its control socket. With a different name, the parent's event loop is not attributed to the
    /// children.
    fn set_parents_apart(&mut self) {
        let mut parents: Vec<u32> = Vec::new();
        for parent in self.processes.values().filter(|process| process.epoll && !process.is_child) {
            let mut children = self.processes.values().filter(|child| parent.is_parent_of(child)).peekable();
            if children.peek().is_some() && children.all(|child| !child.epoll) {
                parents.push(parent.pid);
            }
        }
        for pid in parents {
            let Some(mut parent) = self.processes.remove(&pid) else { continue };
            let children = self.processes.values_mut().filter(|child| parent.is_parent_of(child));
            children.for_each(|child| child.is_child = true);
            if !parent.is_parent {
                parent.is_parent = true;
                parent.set_apart("parent");
            }
            self.processes.insert(pid, parent);
        }
    }

    /// Notes the address of an upstream service, for the next search.
    pub(super) fn note_upstream(&mut self, address: &Arc<str>) {
        if self.upstreams.len() < MAX_UPSTREAMS && self.upstreams.insert(address.clone()) {
            self.new_upstreams.push(address.clone());
        }
    }

    /// Finds the processes that listen at new upstream addresses.
    fn find_upstreams(&mut self) {
        for address in std::mem::take(&mut self.new_upstreams) {
            let Ok(to) = address.parse::<Address>() else { continue };
            let found = who_answers(&to, self.netns_pid);
            self.answers.extend(found.first().map(|pid| (address, *pid)));
            self.behind.extend(found.into_iter().filter(|pid| !self.processes.contains_key(pid)));
        }
    }

    /// Returns true if there are upstream addresses whose processes were not searched yet.
    pub(in crate::waits) fn has_new_upstreams(&self) -> bool {
        !self.new_upstreams.is_empty()
    }
}
