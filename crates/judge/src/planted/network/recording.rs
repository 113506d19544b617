//! Counters of one side of a simulated network, as `loadline probe` would record them.

use run::{Column, CounterId, Kind, Recording, Side, Upstream, counter};

use super::draw::UNLIMITED;
use super::sim::Load;
use super::window::{SAMPLES, Seen};
use super::world::{BACKEND, CLIENT, Program, SERVER, World};

/// Size of a request, bytes.
pub(super) const REQUEST_BYTES: f64 = 69.0;
/// Size of an answer, bytes.
pub(super) const ANSWER_BYTES: f64 = 126.0;
/// Share of the CPUs' busy time in soft interrupts.
const SOFTIRQ: f64 = 0.03;
/// Share of the CPUs' busy time in user code.
const USER: f64 = 0.6;
/// Delay after which the kernel sends an acknowledgement without data (delayed acknowledgement), seconds.
const DELAYED_ACK_S: f64 = 0.04;
/// Maximum number of connections whose state the probe samples.
const SAMPLED: f64 = 64.0;
/// Address of the server's upstream service.
const BACKEND_ADDRESS: &str = "10.0.0.3:5432";
/// Address on which the server listens.
const LISTENER: &str = "0.0.0.0:8080";

/// Name and first process ID of each program.
const NAMES: [(&str, u32); 3] = [("loadline", 50), ("srv", 100), ("db", 5000)];

/// Writer of the columns of one side's recording.
struct Writer<'a> {
    world: &'a World,
    seen: &'a Seen,
    random: fastrand::Rng,
    t_s: Vec<f64>,
    columns: Vec<Column>,
}

impl Writer<'_> {
    /// Adds a column to the recording. `value` is the value of a gauge, or the growth per second of a cumulative
    /// counter.
    fn put(&mut self, id: &'static str, instance: &str, value: f64) {
        let gauge = counter(id).is_none_or(|spec| spec.kind == Kind::Gauge);
        let at = |t_s: &f64| Some(if gauge { value } else { 5000.0 + value * t_s });
        let values = self.t_s.iter().map(at).collect();
        self.columns.push(Column { counter: CounterId::new(id), instance: instance.into(), values });
    }

    /// Adds a counter of dropped connects. The counter's growth from the first to the second sample includes the drops
    /// before the window.
    fn drops(&mut self, id: &'static str, instance: &str, counted: bool) {
        self.put(id, instance, if counted { self.seen.per_s.dropped } else { 0.0 });
        if let Some(first) = self.columns.last_mut().and_then(|column| column.values.get_mut(..2)).filter(|_| counted) {
            first[0] = first[1].map(|begin| begin - self.seen.dropped_before);
        }
    }

    /// Adds a counter of time, microseconds. `share` is the counter's growth in seconds per second. A random reading
    /// error is added.
    fn time(&mut self, id: &'static str, instance: &str, share: f64) {
        let error = 1.0 + 0.3 * self.world.noise * stats::normal(&mut self.random);
        self.put(id, instance, (share * error).max(0.0) * 1e6);
    }

    fn host(&mut self, host: usize) {
        let cpus = f64::from(self.world.hosts[host].cpus);
        let used: f64 = self.seen.groups[host].iter().map(|(work, _)| work).sum();
        let ready: f64 = self.seen.groups[host].iter().map(|(_, ready)| ready).sum();
        let busy = used.min(cpus);
        self.put("cpu.online", "", cpus);
        for cpu in 0..self.world.hosts[host].cpus {
            self.time("cpu.idle", &cpu.to_string(), (1.0 - busy / cpus).max(0.0));
        }
        let parts = [("cpu.user", USER), ("cpu.system", 1.0 - USER - SOFTIRQ), ("cpu.softirq", SOFTIRQ)];
        parts.iter().for_each(|(id, share)| self.time(id, "total", busy * share));
        self.time("cpu.idle", "total", cpus - busy);
        for id in ["cpu.irq", "cpu.iowait", "cpu.steal"] {
            self.put(id, "total", 0.0);
        }
        let x = self.seen.rate();
        self.put("system.context_switches", "", 200.0 + 4.0 * x);
        self.put("system.interrupts", "", 300.0 + x);
        self.put("system.running", "", ready.round());
        self.put("softirq.count", "NET_RX", x);
        for id in ["pressure.io_some", "pressure.memory_some", "memory.swap_out", "tcp.memory_pressures"] {
            self.put(id, "", 0.0);
        }
        self.put("disk.busy", "vda", 1000.0);
    }

    fn tcp(&mut self, server: bool) {
        let (x, shared) = (self.seen.rate(), self.world.shared);
        let both = if shared { 2.0 } else { 1.0 };
        for id in ["tcp.out_segs", "tcp.in_segs"] {
            self.put(id, "", x * 1.2 * both);
        }
        self.put("tcp.orig_data_sent", "", x * both);
        for id in ["tcp.retrans_segs", "tcp.syn_retrans", "tcp.timeouts"] {
            self.drops(id, "", shared || !server);
        }
        let delayed = if self.seen.latency_us().mean >= DELAYED_ACK_S * 1e6 && (server || shared) { x } else { 0.5 };
        self.put("tcp.delayed_acks", "", delayed);
        let opens = self.seen.per_s.accepted;
        let here = |of_server: bool, value: f64| if shared || of_server == server { value } else { 0.0 };
        self.put("tcp.active_opens", "", here(false, opens));
        self.put("tcp.passive_opens", "", here(true, opens));
        for id in ["tcp.listen_overflows", "tcp.listen_drops"] {
            self.drops(id, "", shared || server);
        }
        if !shared {
            self.put("interface.speed", "eth0", 1.25e9);
            for (id, each) in [("interface.tx_bytes", 400.0), ("interface.rx_bytes", 400.0)] {
                self.put(id, "eth0", x * each);
            }
            for id in ["interface.tx_packets", "interface.rx_packets"] {
                self.put(id, "eth0", x * 1.2);
            }
        }
    }

    /// Returns the number of connections with a request in flight.
    fn clients(&self) -> f64 {
        match self.seen.load {
            Load::Closed(n) => f64::from(n),
            Load::Open(..) => self.seen.per_s.in_flight.max(1.0),
        }
    }

    fn connections(&mut self, server: bool) {
        let n = self.clients();
        let (unread, bytes) = match server {
            true => (self.seen.per_s.unread, REQUEST_BYTES),
            false => (self.seen.per_s.answers_unread, ANSWER_BYTES),
        };
        let base_us = 2e6 * self.world.way_s + if self.world.shared { 30.0 } else { 120.0 };
        // The acknowledgement of a request travels with the answer, or alone when the delayed-acknowledgement timer
        // fires. The delay of the acknowledgement lengthens the round trips that the client measures.
        let waits_us = self.seen.latency_us().mean.min(DELAYED_ACK_S * 1e6);
        let rtt_us = base_us + if server { 20.0 } else { 0.2 * waits_us };
        self.put("connection.sampled", "", n.min(SAMPLED));
        self.put("connection.rtt", "", rtt_us);
        self.put("connection.min_rtt", "", base_us);
        self.put("connection.peer_window", "", 65_536.0);
        self.put("connection.receive_queue", "", unread / n * bytes);
        self.put("connection.send_queue", "", if server { 0.0 } else { unread.min(1.0) });
        self.put("connection.unacked", "", 0.1);
        self.put("connection.delivery_rate", "", 5e6);
        let stalls =
            ["connection.waiting", "connection.write_full", "connection.rwnd_limited", "connection.sndbuf_limited"];
        stalls.iter().for_each(|id| self.put(id, "", 0.0));
    }

    /// Adds the counters of a program, and returns the names of its processes.
    fn program(&mut self, at: usize) -> Vec<String> {
        let program = self.world.programs[at];
        let threads: Vec<(f64, f64)> =
            self.seen.threads.iter().zip(&self.seen.program).filter(|(_, of)| **of == at).map(|(t, _)| *t).collect();
        let (name, pid) = NAMES[at];
        let each = if program.processes { 1 } else { threads.len().max(1) };
        let mut processes = Vec::new();
        if program.processes {
            let master = format!("{name}:{}", pid - 1);
            self.process(&program, &master, 1, &[(0.0, 0.0)]);
            processes.push(master);
        }
        let parent = if program.processes { pid - 1 } else { 1 };
        for (number, threads) in threads.chunks(each).enumerate() {
            let process = format!("{name}:{}", pid as usize + if program.processes { number } else { 0 });
            self.process(&program, &process, parent, threads);
            processes.push(process);
        }
        processes
    }

    fn process(&mut self, program: &Program, process: &str, parent: u32, threads: &[(f64, f64)]) {
        let pid: usize = process.rsplit(':').next().and_then(|pid| pid.parse().ok()).unwrap_or(1);
        let cpus = self.world.hosts[program.host].cpus;
        let (used, waited): (f64, f64) = threads.iter().fold((0.0, 0.0), |sum, t| (sum.0 + t.0, sum.1 + t.1));
        self.time("process.cpu", process, used);
        self.time("process.user", process, used * USER);
        self.time("process.system", process, used * (1.0 - USER));
        self.time("process.run_delay", process, waited);
        for (number, (cpu, wait)) in threads.iter().enumerate() {
            let thread = format!("{process}/{}", pid + number + usize::from(threads.len() > 1));
            self.time("thread.cpu", &thread, *cpu);
            self.time("thread.run_delay", &thread, *wait);
            self.put("thread.cpus_allowed", &thread, f64::from(cpus));
            self.put("thread.cpu_mask", &thread, 2f64.powi(cpus as i32) - 1.0);
        }
        let gauges = [
            ("process.cpus_allowed", f64::from(cpus)),
            ("process.cpu_mask", 2f64.powi(cpus as i32) - 1.0),
            ("process.parent", f64::from(parent)),
            ("process.threads", threads.len() as f64),
            ("process.running", (used + waited).round()),
            ("process.sleeping", (threads.len() as f64 - used - waited).max(0.0).round()),
            ("process.fds", 20.0 + self.seen.per_s.in_flight),
            ("process.fd_limit", 20_000.0),
        ];
        gauges.iter().for_each(|(id, value)| self.put(id, process, *value));
        for id in ["process.read_bytes", "process.write_bytes", "process.major_faults"] {
            self.put(id, process, 0.0);
        }
    }

    fn quota(&mut self, at: usize, ids: [&'static str; 3], instance: &str) {
        let (periods, hit) = self.seen.quotas[at];
        let [quota, all, out] = ids;
        self.put(all, instance, periods / self.seen.length_s);
        self.put(out, instance, hit / self.seen.length_s);
        if let Some(cpus) = self.world.programs[at].quota {
            self.put(quota, instance, cpus);
        }
    }

    /// Adds the upstream service. If the service has its own host, only the connections to the service are recorded.
    fn backend(&mut self) -> Option<Upstream> {
        let program = self.world.programs.get(BACKEND)?;
        let (busy, x) = (self.seen.per_s.backend_connections, self.seen.rate());
        let pool = self.world.semaphores.last().copied().filter(|all| *all < UNLIMITED);
        let open = pool.map_or(busy.ceil() + 1.0, |all| (all as f64).min(self.clients()));
        let gauges = [
            ("behind.connections", open),
            ("behind.busy", busy),
            ("behind.queue", 0.0),
            ("behind.unread", self.seen.per_s.backend_unread * REQUEST_BYTES),
            ("behind.data_out", x),
            ("behind.data_in", x),
        ];
        gauges.iter().for_each(|(id, value)| self.put(id, BACKEND_ADDRESS, *value));
        let here = program.host == self.world.programs[SERVER].host;
        let processes = if here { self.program(BACKEND) } else { Vec::new() };
        let pids = processes.iter().filter_map(|p| p.rsplit(':').next()?.parse().ok()).collect();
        Some(Upstream { address: BACKEND_ADDRESS.into(), depth: 1, from: String::new(), processes, pids })
    }
}

/// IDs of the counters of a CPU quota.
const QUOTA: [&str; 3] = ["cgroup.cpu_quota", "cgroup.cpu_periods", "cgroup.cpu_throttled_periods"];

/// Returns the recording of the client's side.
pub(super) fn client(world: &World, seen: &Seen, seed: u64) -> Side {
    let mut writer = writer(world, seen, seed);
    writer.host(world.programs[CLIENT].host);
    writer.tcp(false);
    writer.connections(false);
    let processes = writer.program(CLIENT);
    writer.quota(CLIENT, QUOTA, "/client");
    side(writer, if world.shared { "beta" } else { "alpha" }, processes, None)
}

/// Returns the recording of the server's side.
pub(super) fn server(world: &World, seen: &Seen, seed: u64) -> Side {
    let mut writer = writer(world, seen, seed);
    writer.host(world.programs[SERVER].host);
    writer.tcp(true);
    writer.connections(true);
    let processes = writer.program(SERVER);
    writer.quota(SERVER, QUOTA, "/srv");
    let limit = world.listener.map_or(4096, |listener| listener.backlog);
    writer.put("listen.limit", LISTENER, limit as f64);
    writer.put("listen.queue", LISTENER, 0.0);
    if let Some(queue) = writer.columns.last_mut() {
        queue.values.iter_mut().skip(1).zip(&seen.backlog).for_each(|(at, waiting)| *at = Some(*waiting as f64));
    }
    writer.drops("listen.drops", LISTENER, true);
    let behind = writer.backend();
    side(writer, "beta", processes, behind)
}

fn writer<'a>(world: &'a World, seen: &'a Seen, seed: u64) -> Writer<'a> {
    let inside = (0..SAMPLES).map(|i| seen.length_s * i as f64 / (SAMPLES - 1) as f64);
    let t_s = std::iter::once(-seen.warmup_s).chain(inside).collect();
    Writer { world, seen, random: fastrand::Rng::with_seed(seed), t_s, columns: Vec::new() }
}

fn side(writer: Writer<'_>, host: &str, processes: Vec<String>, behind: Option<Upstream>) -> Side {
    Side {
        host: host.into(),
        machine: host.into(),
        processes,
        shared: writer.world.shared,
        behind: behind.into_iter().collect(),
        recording: Recording { t_s: writer.t_s, columns: writer.columns, ..Recording::default() },
        ..Side::default()
    }
}
