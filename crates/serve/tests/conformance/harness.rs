//! Starts a server, uses it, stops it, and checks that it leaves no descriptors, threads or memory behind.

use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use loadline_serve as serve;
use run::ServePlan;
use serve::{MODELS, STRATEGIES, Server};

/// Lock for running these tests one after another, because the counts cover the whole process.
static ALONE: Mutex<()> = Mutex::new(());

#[global_allocator]
static LIVING: sys::alloc::LiveAllocator = sys::alloc::LiveAllocator;

/// Number of rounds in which a server is started, used and stopped. Memory that is allocated only once, such as a table
/// of the standard library, is allocated in the first round.
const ROUNDS: u32 = 3;

pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Resources that a server could leak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Left {
    descriptors: usize,
    /// Number of threads of servers and of io_uring. Threads of the test harness are not counted, because their number
    /// changes.
    threads: usize,
    /// Memory that is mapped for rings, bytes.
    ring_bytes: u64,
    /// Number of live allocations, and their total size in bytes.
    memory: (u64, u64),
}

impl Left {
    fn now() -> Self {
        // The memory is counted last, because counting the other resources allocates memory.
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count();
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.filter_map(|t| std::fs::read_to_string(t.unwrap().path().join("comm")).ok());
        let threads = names.filter(|name| name.starts_with("serve-") || name.starts_with("iou-")).count();
        Self { descriptors, threads, ring_bytes: sys::uring::mapped_bytes(), memory: sys::alloc::live() }
    }

    /// Waits for at most `patience` until the resources are equal to those in `before`, and returns the last counts.
    /// The wait is needed because a descriptor may be closed a moment after its thread has ended.
    fn settled(before: Self, patience: Duration, same: impl Fn(Self, Self) -> bool) -> Self {
        let deadline = Instant::now() + patience;
        loop {
            let now = Self::now();
            if same(now, before) || Instant::now() >= deadline {
                return now;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// An I/O model, possibly with an option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    pub(crate) model: &'static str,
    option: Option<&'static str>,
}

const VARIANTS: [Variant; 3] = [
    Variant { model: "select-array", option: Some("accept_all") },
    Variant { model: "event-groups", option: Some("fair") },
    Variant { model: "uring-groups", option: Some("literal") },
];

impl Variant {
    pub(crate) fn plan(&self, service: &str, strategy: &str, options: &[(&str, &str)]) -> ServePlan {
        let mut options: std::collections::BTreeMap<String, String> =
            options.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        self.option.iter().for_each(|name| drop(options.insert((*name).into(), "1".into())));
        ServePlan {
            service: service.into(),
            model: self.model.into(),
            strategy: strategy.into(),
            threads: 2,
            options,
            ..ServePlan::default()
        }
    }
}

/// Calls `check` for every I/O model with every strategy that the model supports.
pub(crate) fn each(mut check: impl FnMut(Variant, &'static str)) {
    let plain = MODELS.iter().map(|m| Variant { model: m.name, option: None });
    for variant in plain.chain(VARIANTS) {
        check(variant, "");
        let model = MODELS.iter().find(|m| m.name == variant.model).unwrap();
        for strategy in STRATEGIES.iter().filter(|s| model.strategies.contains(&s.name)) {
            check(variant, strategy.name);
        }
    }
}

/// In each round, starts a server, uses it, stops it, and checks that no resources are left. Memory counts as leaked
/// only if it grows in every round.
pub(crate) fn with_server(plan: &ServePlan, use_it: impl Fn(&Server)) -> serve::Stats {
    let mut grown = Vec::with_capacity(ROUNDS as usize);
    for _ in 0..ROUNDS {
        let before = Left::now();
        let mut stats = round(plan, &use_it);
        // The memory that contains the peers' addresses belongs to the test, so it does not count as leaked.
        drop(std::mem::take(&mut stats.closed_peers));
        let rest = |l: Left| (l.descriptors, l.threads, l.ring_bytes);
        let after = Left::settled(before, Duration::from_secs(30), |a, b| rest(a) == rest(b));
        assert_eq!(rest(after), rest(before), "descriptors, threads, bytes of rings after {plan:?}");
        let after = Left::settled(before, Duration::from_millis(500), |a, b| a == b);
        if after.memory == before.memory {
            return stats;
        }
        grown.push((after.memory.0 as i64 - before.memory.0 as i64, after.memory.1 as i64 - before.memory.1 as i64));
    }
    unreachable!("every round leaves memory, pieces and bytes: {grown:?} after {plan:?}");
}

fn round(plan: &ServePlan, use_it: &impl Fn(&Server)) -> serve::Stats {
    let server = serve::start(plan).unwrap();
    use_it(&server);
    assert_eq!(server.failures(), Vec::<String>::new(), "{} {}", plan.model, plan.strategy);
    server.stop();
    let stats = server.join();
    assert_eq!(stats.threads, 0, "{} {}", plan.model, plan.strategy);
    stats
}

pub(crate) fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.local_addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}
