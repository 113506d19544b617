//! Tests of processes in captured trees: threads, children, a process that vanishes, invalid numbers.

mod bytes;

use crate::sources::open_files::{descriptors, open_files_limit};
use crate::testing::{Sampled, Tree};

/// Adds the files of a process, in the format of Linux 6, and those of its first thread. The file `stat` says that the
/// process has `threads` threads.
fn add(tree: &Tree, pid: u32, comm: &str, threads: u32) {
    let fields = format!("S 1 {pid} {pid} 0 -1 4194560 10 0 3 0 5 7 0 0 20 0 {threads} 0 900 0 0");
    tree.write(&format!("proc/{pid}/stat"), &format!("{pid} ({comm}) {fields}\n"));
    add_thread(tree, pid, pid, comm, "S (sleeping)", 1_000_000);
    tree.write(&format!("proc/{pid}/task/{pid}/children"), "");
    tree.write(&format!("proc/{pid}/status"), &status(comm, "S (sleeping)", 4, 6));
}

fn status(name: &str, state: &str, voluntary: u64, involuntary: u64) -> String {
    format!(
        "Name:\t{name}\nState:\t{state}\nVmLck:\t       0 kB\nVmPin:\t   8 kB\nVmRSS:\t    1764 kB\nVmPTE:\t      48 kB\n\
         Threads:\t2\nCpus_allowed:\t2\nvoluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n"
    )
}

fn add_thread(tree: &Tree, pid: u32, tid: u32, name: &str, state: &str, run_ns: u64) {
    tree.write(&format!("proc/{pid}/task/{tid}/schedstat"), &format!("{run_ns} 2000 7\n"));
    tree.write(&format!("proc/{pid}/task/{tid}/status"), &status(name, state, 4, 6));
}

#[test]
fn a_process_with_its_threads_and_children_is_read() {
    let tree = Tree::new(&[
        ("proc/12/io", "rchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n"),
        ("proc/12/limits", "Limit  Soft Hard Units\nMax open files            1024      20000      files\n"),
        ("proc/12/smaps_rollup", "5569 ---p [rollup]\nRss: 9 kB\nPss:                 295 kB\nPss_Dirty: 1 kB\n"),
        ("proc/12/fd/0", ""),
        ("proc/12/fd/1", ""),
    ])
    .with_processes(&[12]);
    add(&tree, 12, "my (odd) srv", 2);
    add_thread(&tree, 12, 13, "iou-wrk-12", "R (running)", 500_000);
    tree.write("proc/12/task/12/children", "20 ");
    add(&tree, 20, "worker", 1);
    let r = tree.sample("process");
    let last = |id: &str| r.last(&format!("process.{id}"), "my (odd) srv:12");
    let tick = crate::units::ticks_us(1);
    assert_eq!((last("user"), last("system")), (Some(5.0 * tick), Some(7.0 * tick)));
    assert_eq!((last("minor_faults"), last("major_faults")), (Some(10.0), Some(3.0)));
    assert_eq!((last("cpu"), last("run_delay")), (Some(1500.0), Some(4.0)));
    assert_eq!((last("voluntary_switches"), last("involuntary_switches")), (Some(8.0), Some(12.0)));
    assert_eq!((last("running"), last("sleeping"), last("io_workers")), (Some(1.0), Some(1.0), Some(1.0)));
    assert_eq!(
        (last("rss"), last("pinned"), last("page_tables")),
        (Some(1764.0 * 1024.0), Some(8192.0), Some(49152.0))
    );
    assert_eq!((last("cpus_allowed"), last("cpu_mask"), last("threads")), (Some(1.0), Some(2.0), Some(2.0)));
    assert_eq!((last("read_bytes"), last("write_bytes")), (Some(4096.0), Some(8192.0)));
    assert_eq!((last("fds"), last("fd_limit"), last("pss")), (Some(2.0), Some(1024.0), Some(295.0 * 1024.0)));
    assert_eq!(r.last("thread.cpu", "my (odd) srv:12/13"), Some(500.0));
    assert_eq!(r.last("process.cpu", "worker:20"), Some(1000.0), "the child is followed");
    assert!(r.0.absent.iter().any(|a| a.counter.as_str() == "process.read_bytes" && a.instance == "worker:20"));
}

#[test]
fn loadline_does_not_count_as_a_child_of_the_server_that_started_it() {
    let tree = Tree::new(&[]).with_processes(&[12]);
    add(&tree, 12, "pytest", 1);
    tree.write("proc/12/task/12/children", &format!("{} 20 ", std::process::id()));
    add(&tree, std::process::id(), "loadline", 1);
    add(&tree, 20, "worker", 1);
    let r = tree.sample("process");
    let instances: Vec<&str> = r.0.columns_of("process.cpu").map(|column| column.instance.as_str()).collect();
    assert_eq!(instances, ["pytest:12", "worker:20"]);
}

#[test]
fn ended_threads_stay_in_the_sums() {
    let tree = Tree::new(&[]).with_processes(&[12]);
    add(&tree, 12, "srv", 2);
    add_thread(&tree, 12, 13, "srv", "S (sleeping)", 500_000);
    let mut probe = tree.probe("process");
    probe.sample(0.0);
    tree.remove("proc/12/task/13");
    add_thread(&tree, 12, 14, "srv", "D (disk sleep)", 300_000);
    probe.sample_series(1.0);
    let r = Sampled(probe.take());
    let column = |id: &str, instance: &str| r.0.column(id, instance).unwrap().values.clone();
    assert_eq!(column("process.cpu", "srv:12"), [Some(1500.0), Some(1800.0)]);
    assert_eq!(column("process.voluntary_switches", "srv:12"), [Some(8.0), Some(12.0)]);
    assert_eq!(column("process.disk_wait", "srv:12"), [Some(0.0), Some(1.0)]);
    assert_eq!(column("thread.cpu", "srv:12/13"), [Some(500.0), None]);
    assert_eq!(column("thread.cpu", "srv:12/14"), [None, Some(300.0)]);
}

#[test]
fn a_missing_or_vanished_process_gives_a_reason() {
    let tree = Tree::new(&[("proc/5/stat", "odd\n")]).with_processes(&[4, 5]);
    let r = tree.sample("process");
    assert!(r.0.columns.is_empty());
    let reason = |pid: &str| r.0.absent.iter().find(|a| a.instance == pid).map(|a| a.reason.clone()).unwrap();
    assert_eq!(reason("4"), "process 4 does not exist");
    assert!(reason("5").contains("not understood"));
    assert!(r.reason("process.rss").contains("--server-pid"));
}

#[test]
fn a_process_that_ends_keeps_its_last_values() {
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let scope = crate::Scope { processes: vec![child.id()], sources: Some(vec!["process"]), ..Default::default() };
    let mut probe = crate::Probe::new(scope);
    probe.sample(0.0);
    child.kill().unwrap();
    child.wait().unwrap();
    probe.sample(1.0);
    let r = probe.take();
    let instance = &probe.processes()[0];
    assert_eq!(r.column("process.cpu", instance).unwrap().values.len(), 2);
    assert_eq!(r.column("process.cpu", instance).unwrap().values[1], None);
    assert!(r.absent.iter().any(|a| a.instance == *instance && a.reason.ends_with("ended")), "{:?}", r.absent);
}

#[test]
fn many_threads_are_read_at_edges_and_only_some_between_them() {
    let tree = Tree::new(&[]).with_processes(&[12]);
    add(&tree, 12, "srv", 101);
    for tid in 100..200 {
        add_thread(&tree, 12, tid, "srv", "S (sleeping)", 1000);
    }
    let mut probe = tree.probe("process");
    probe.sample(0.0);
    probe.sample_series(1.0);
    // The busiest thread is one of the threads that are read only at phase starts and ends.
    add_thread(&tree, 12, 199, "srv", "R (running)", 901_000);
    probe.sample(2.0);
    let r = probe.take();
    let sums = &r.column("process.voluntary_switches", "srv:12").unwrap().values;
    assert_eq!(*sums, [Some(404.0), None, Some(404.0)]);
    assert_eq!(r.columns_of("thread.cpu").count(), 101);
    assert_eq!(r.columns_of("thread.cpu").filter(|column| column.values[1].is_some()).count(), 64);
    assert_eq!(r.column("thread.cpu", "srv:12/199").unwrap().values, [Some(1.0), None, Some(901.0)]);
    assert!(!r.absent.iter().any(|a| a.reason.ends_with("rows of their own")), "{:?}", r.absent);
}

#[test]
fn hundreds_of_threads_have_rows_and_others_a_reason() {
    let tree = Tree::new(&[]).with_processes(&[12]);
    add(&tree, 12, "srv", 301);
    for tid in 100..400 {
        add_thread(&tree, 12, tid, "srv", "S (sleeping)", 1000);
    }
    let r = tree.sample("process").0;
    assert_eq!(r.columns_of("thread.cpu").count(), 256);
    assert!(r.absent.iter().any(|a| a.reason == "256 of its 301 threads have rows of their own"), "{:?}", r.absent);
}

#[test]
fn a_process_with_thousands_of_threads_has_no_sums_but_a_reason() {
    let tree = Tree::new(&[]).with_processes(&[12]);
    add(&tree, 12, "srv", 2100);
    for tid in 100..2200 {
        std::fs::create_dir(tree.root().join(format!("proc/12/task/{tid}"))).unwrap();
    }
    let r = tree.sample("process");
    assert_eq!(r.last("process.voluntary_switches", "srv:12"), None);
    assert!(r.0.absent.iter().any(|a| a.reason.starts_with("it has more than 2048 threads")), "{:?}", r.0.absent);
    assert_eq!(r.last("process.user", "srv:12"), Some(5.0 * crate::units::ticks_us(1)));
}

#[test]
fn ended_threads_give_their_rows_to_new_ones_but_for_some() {
    let tree = Tree::new(&[]).with_processes(&[12]);
    add(&tree, 12, "srv", 2);
    let mut probe = tree.probe("process");
    for tid in 1000..1300 {
        add_thread(&tree, 12, tid, "srv", "S (sleeping)", 1000);
        probe.sample_series(f64::from(tid));
        tree.remove(&format!("proc/12/task/{tid}"));
    }
    let r = probe.take();
    let rows = r.columns_of("thread.cpu").count();
    assert!((32..=34).contains(&rows) && r.column("thread.cpu", "srv:12/1299").is_some(), "{rows}");
}

#[test]
fn descriptors_of_this_kernel_are_counted_without_listing_them() {
    // Concurrent tests open and close files, and listing the directory opens a descriptor, too.
    testkit::eventually(|| {
        let counted = descriptors("/proc/self/fd".as_ref(), true, true).unwrap().unwrap();
        let listed = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
        (counted > 2 && counted.abs_diff(listed) <= 2).then_some(())
    });
    assert_eq!(open_files_limit(b"Max open files unlimited unlimited files\n"), None);
}

/// A server starts a process with two threads for each of 600 jobs. One job uses 90 ms of CPU time, and every other job
/// 250 µs.
#[test]
fn a_process_per_job_takes_no_more_columns_and_loses_no_cpu_time() {
    let tree = Tree::new(&[]).with_processes(&[1]);
    add(&tree, 1, "server", 1);
    let mut probe = tree.probe("process");
    probe.sample(0.0);
    let (mut seen, job_us) = ([0; 2], |pid: u32| if pid == 500 { 90_000 } else { 250_u64 });
    for pid in 100..700_u32 {
        add(&tree, pid, "job", 2);
        add_thread(&tree, pid, pid + 10_000, "job", "S (sleeping)", 0);
        tree.write("proc/1/task/1/children", &format!("{pid} "));
        probe.sample(f64::from(pid));
        add_thread(&tree, pid, pid, "job", "S (sleeping)", 1_000_000 + 1_000 * job_us(pid));
        probe.sample(f64::from(pid) + 0.3);
        // A file of an ended process cannot be read any more.
        tree.write(&format!("proc/{pid}/stat"), "");
        tree.remove(&format!("proc/{pid}"));
        let columns = || probe.copy().columns.len();
        match pid {
            300 => seen[0] = columns(),
            699 => seen[1] = columns(),
            _ => {}
        }
    }
    probe.sample(1e6);
    let names = probe.processes();
    let r = probe.take();
    assert!(seen[0] > 0 && seen[1] <= seen[0] && names.len() < 40, "{seen:?} {}", names.len());
    assert!(r.absent.len() < 500, "{}", r.absent.len());
    let side = run::Side { processes: names, recording: r, ..run::Side::default() };
    let own = side.instance_filter();
    let used = side.recording.sum("process.cpu", run::Window::ALL, |name| own.has(name)).value();
    assert_eq!(used, Some(599.0 * 250.0 + 90_000.0));
    let busy = side.recording.reading("process.cpu", "job:500", run::Window::ALL).value();
    assert_eq!(busy, Some(90_000.0), "the busiest one keeps its columns");
}
