//! Counters of CPUs, the host, processes and threads.

use super::row::c;
use crate::recording::counter_spec::CounterSpec;
use crate::recording::counter_spec::Kind::{Cumulative, Gauge};
use crate::recording::counter_spec::Unit::{Bytes, Count, Cpus, Microseconds};

pub(super) const ROWS: &[CounterSpec] = &[
    // Counters of CPUs. The instances are `0`, `1`, … and `total`.
    c("cpu.user", "CPU", Microseconds, Cumulative, "/proc/stat user and nice: time in user mode"),
    c("cpu.system", "CPU", Microseconds, Cumulative, "/proc/stat system: time in the kernel, without interrupts"),
    c("cpu.irq", "CPU", Microseconds, Cumulative, "/proc/stat irq: time in hardware interrupts"),
    c(
        "cpu.softirq",
        "CPU",
        Microseconds,
        Cumulative,
        "/proc/stat softirq: time in soft interrupts, most of the network stack",
    ),
    c("cpu.iowait", "CPU", Microseconds, Cumulative, "/proc/stat iowait: idle time while a disk request was in flight"),
    c("cpu.steal", "CPU", Microseconds, Cumulative, "/proc/stat steal: time taken by the hypervisor"),
    c("cpu.idle", "CPU", Microseconds, Cumulative, "/proc/stat idle: idle time"),
    c("cpu.online", "System", Cpus, Gauge, "CPUs that are online"),
    // Counters of the whole host.
    c("system.interrupts", "System", Count, Cumulative, "/proc/stat intr: hardware interrupts"),
    c("system.context_switches", "System", Count, Cumulative, "/proc/stat ctxt: context switches of all CPUs"),
    c("system.forks", "System", Count, Cumulative, "/proc/stat processes: processes and threads created"),
    c("system.running", "System", Count, Gauge, "/proc/stat procs_running: threads that run or are ready to run"),
    c("system.blocked", "System", Count, Gauge, "/proc/stat procs_blocked: threads that wait for a disk"),
    c(
        "interrupt.count",
        "Interrupt",
        Count,
        Cumulative,
        "/proc/interrupts: hardware interrupts by line or kind, all CPUs",
    ),
    c(
        "softirq.count",
        "Softirq",
        Count,
        Cumulative,
        "/proc/softirqs: soft interrupts by kind (NET_RX, NET_TX, TIMER, …), all CPUs",
    ),
    // Counters of processes. The instance is `name:pid`.
    c("process.user", "Process", Microseconds, Cumulative, "/proc/PID/stat utime: time in user mode, all threads"),
    c("process.system", "Process", Microseconds, Cumulative, "/proc/PID/stat stime: time in the kernel, all threads"),
    c(
        "process.cpu",
        "Process",
        Microseconds,
        Cumulative,
        "CPU clock of the process (clock_getcpuclockid): time of all its threads, ended ones too, exact",
    ),
    c(
        "process.run_delay",
        "Process",
        Microseconds,
        Cumulative,
        "/proc/PID/task/*/schedstat field 2: time ready to run without a CPU; ended threads as last seen",
    ),
    c(
        "process.instructions",
        "Process",
        Count,
        Cumulative,
        "perf_event_open: instructions of all threads, without the kernel's where perf_event_paranoid is 2 or more",
    ),
    c("process.minor_faults", "Process", Count, Cumulative, "/proc/PID/stat minflt: page faults that read no disk"),
    c("process.major_faults", "Process", Count, Cumulative, "/proc/PID/stat majflt: page faults that read a disk"),
    c("process.rss", "Process", Bytes, Gauge, "/proc/PID/status VmRSS: resident memory"),
    c("process.pss", "Process", Bytes, Gauge, "/proc/PID/smaps_rollup Pss: resident memory, shared pages divided"),
    c("process.locked", "Process", Bytes, Gauge, "/proc/PID/status VmLck: locked memory"),
    c("process.pinned", "Process", Bytes, Gauge, "/proc/PID/status VmPin: pinned memory"),
    c("process.page_tables", "Process", Bytes, Gauge, "/proc/PID/status VmPTE: page tables"),
    c("process.threads", "Process", Count, Gauge, "/proc/PID/status Threads: threads of the process"),
    c("process.fds", "Process", Count, Gauge, "size of /proc/PID/fd (its entries before Linux 6.2): descriptors"),
    c(
        "process.io_workers",
        "Process",
        Count,
        Gauge,
        "threads named iou-wrk: workers that io_uring made, part of process.threads",
    ),
    c("process.fd_limit", "Process", Count, Gauge, "/proc/PID/limits: soft limit of open files").largest(),
    c(
        "process.voluntary_switches",
        "Process",
        Count,
        Cumulative,
        "/proc/PID/task/*/status voluntary_ctxt_switches: threads that waited; ended ones as last seen",
    ),
    c(
        "process.involuntary_switches",
        "Process",
        Count,
        Cumulative,
        "/proc/PID/task/*/status nonvoluntary_ctxt_switches: threads that were displaced; ended ones as last seen",
    ),
    c("process.read_bytes", "Process", Bytes, Cumulative, "/proc/PID/io read_bytes: bytes read from a disk"),
    c("process.write_bytes", "Process", Bytes, Cumulative, "/proc/PID/io write_bytes: bytes written to a disk"),
    c("process.cpus_allowed", "Process", Cpus, Gauge, "/proc/PID/status Cpus_allowed: CPUs that it may use").largest(),
    c(
        "process.cpu_mask",
        "Process",
        Count,
        Gauge,
        "/proc/PID/status Cpus_allowed as a number: bit 0 is CPU 0; absent if it may use one above 51",
    )
    .largest(),
    c("process.parent", "Process", Count, Gauge, "/proc/PID/stat ppid: number of the parent process").largest(),
    c("process.running", "Process", Count, Gauge, "threads of the process in state R (running or ready)"),
    c("process.sleeping", "Process", Count, Gauge, "threads of the process in state S (sleeping)"),
    c("process.disk_wait", "Process", Count, Gauge, "threads of the process in state D (waiting for a disk)"),
    c("process.stopped", "Process", Count, Gauge, "threads of the process in state T or t (stopped)"),
    // Counters of threads. The instance is `name:pid/tid`.
    c("thread.cpu", "Thread", Microseconds, Cumulative, "/proc/PID/task/TID/schedstat field 1: time on a CPU"),
    c(
        "thread.run_delay",
        "Thread",
        Microseconds,
        Cumulative,
        "/proc/PID/task/TID/schedstat field 2: time ready to run without a CPU",
    ),
    c("thread.cpus_allowed", "Thread", Cpus, Gauge, "/proc/PID/task/TID/status Cpus_allowed: CPUs that it may use")
        .largest(),
    c(
        "thread.cpu_mask",
        "Thread",
        Count,
        Gauge,
        "/proc/PID/task/TID/status Cpus_allowed as a number: bit 0 is CPU 0; absent if it may use one above 51",
    )
    .largest(),
];
