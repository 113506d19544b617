//! Tests of the bytes that the processes of a family read and wrote.

use super::add;
use crate::testing::Tree;

/// A tree with the server 12 and its children, and samples of their bytes.
struct Family {
    tree: Tree,
    probe: crate::Probe,
    at_s: f64,
}

impl Family {
    /// Starts to follow the server, which has written 1000 bytes, and its children with the process IDs `children`.
    fn new(children: &[u32]) -> Self {
        let tree = Tree::new(&[]).with_processes(&[12]);
        add(&tree, 12, "srv", 1);
        let mut family = Self { probe: tree.probe("process"), tree, at_s: 0.0 };
        family.wrote(12, 1000);
        children.iter().for_each(|pid| family.start(12, *pid, 500));
        family.sample();
        family
    }

    fn start(&self, parent: u32, pid: u32, bytes: u32) {
        add(&self.tree, pid, "worker", 1);
        let stat = format!("{pid} (worker) S {parent} {pid} {pid} 0 -1 0 10 0 3 0 5 7 0 0 20 0 1 0 900 0 0\n");
        self.tree.write(&format!("proc/{pid}/stat"), &stat);
        self.tree.write(&format!("proc/{parent}/task/{parent}/children"), &format!("{pid} "));
        self.wrote(pid, bytes);
    }

    /// Sets the bytes that the kernel counts for a process and the ended children that it waited for.
    fn wrote(&self, pid: u32, bytes: u32) {
        self.tree.write(&format!("proc/{pid}/io"), &format!("read_bytes: {}\nwrite_bytes: {bytes}\n", 2 * bytes));
    }

    fn end(&self, pid: u32) {
        self.tree.write(&format!("proc/{pid}/stat"), "");
        self.tree.remove(&format!("proc/{pid}"));
    }

    fn sample(&mut self) {
        self.probe.sample(self.at_s);
        self.at_s += 1.0;
    }

    /// Returns the bytes that the server and its children wrote since the first sample.
    fn written(&mut self) -> f64 {
        self.sample();
        let (processes, recording) = (self.probe.processes(), self.probe.copy());
        let side = run::Side { processes, recording, ..run::Side::default() };
        let own = side.instance_filter();
        let [read, written] = ["process.read_bytes", "process.write_bytes"]
            .map(|id| side.recording.sum(id, run::Window::ALL, |name| own.has(name)).value().unwrap());
        assert_eq!(read, 2.0 * written);
        written
    }
}

/// The kernel adds the bytes of an ended child to those of the parent that waits for it. An earlier version of loadline
/// counted the bytes of ended children twice.
#[test]
fn bytes_of_a_child_that_ended_count_once() {
    let mut family = Family::new(&[20]);
    family.wrote(20, 4500);
    assert_eq!(family.written(), 4000.0);
    family.end(20);
    // The child wrote 100 more bytes after its last sample, and the server 50.
    family.wrote(12, 1000 + 4600 + 50);
    assert_eq!(family.written(), 4150.0);
    family.wrote(12, 1000 + 4600 + 80);
    assert_eq!(family.written(), 4180.0);
}

#[test]
fn bytes_of_a_child_before_its_first_sample_are_not_lost() {
    let mut family = Family::new(&[]);
    family.start(12, 20, 300);
    family.sample();
    family.wrote(20, 700);
    assert_eq!(family.written(), 400.0);
    family.end(20);
    family.wrote(12, 1000 + 700);
    assert_eq!(family.written(), 700.0);
}

/// A process that ignores the ends of its children does not get their bytes.
#[test]
fn bytes_of_a_child_that_nobody_waits_for_are_not_subtracted() {
    let mut family = Family::new(&[20]);
    family.wrote(20, 4500);
    family.sample();
    family.end(20);
    assert_eq!(family.written(), 4000.0);
    family.wrote(12, 1000 + 70);
    assert_eq!(family.written(), 4070.0);
}

#[test]
fn bytes_of_a_grandchild_count_once_if_it_ends_with_its_parent() {
    let mut family = Family::new(&[20]);
    family.start(20, 21, 0);
    family.sample();
    family.wrote(20, 600);
    family.wrote(21, 2000);
    assert_eq!(family.written(), 2100.0);
    [20, 21].into_iter().for_each(|pid| family.end(pid));
    family.wrote(12, 1000 + 600 + 2000);
    assert_eq!(family.written(), 2100.0);
}
