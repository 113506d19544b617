//! Processes of the server that each use one CPU, although other CPUs are idle and no thread is full. Under an
//! interpreter lock such as that of CPython or Ruby, only one thread of a process runs at a time. By the utilization
//! law, more threads do not help a process with a full interpreter lock, but more processes do. Unlike `serial.rs`,
//! this module allows requests that wait outside the interpreter lock, for example for a database.

use run::InstanceFilter;

use crate::Facts;
use crate::context::sweep::Plateau;
use crate::context::view::{Task, View, busy, program};
use crate::number::ratio;
use crate::thresholds::{LIKELY, NEARLY_FULL, ONE_CPU, ONE_THREAD, SEVERAL_CPUS};

/// Processes of which each uses about one CPU, divided among several threads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OneCpuEach {
    /// Program of the processes.
    program: String,
    /// Number of the processes.
    count: usize,
}

impl OneCpuEach {
    /// Returns the server's working processes if each of them uses about one CPU at the plateau of throughput. Returns
    /// `None` if any process uses more or less, if no further CPU is allowed, or if the server's CPU quota is used up.
    pub(crate) fn of(facts: &Facts<'_>) -> Option<Self> {
        let is_flat = matches!(facts.plateau, Plateau::Flat { .. });
        let view = facts.crowded_server().filter(|_| is_flat)?;
        let processes = busy(&view.processes());
        let first = program(&processes.first()?.name).to_string();
        let has_free_cpus = view.cpu_allowed()? >= SEVERAL_CPUS * processes.len() as f64;
        let takes_turns = has_free_cpus && processes.iter().all(|process| divides_one_cpu(&view, process));
        let is_found = takes_turns && crate::context::quota::used_up(facts, &view) < LIKELY;
        is_found.then_some(Self { program: first, count: processes.len() })
    }

    /// Returns the last words of the verdict's sentence. Returns an empty text for a single process, which may use one
    /// CPU by chance.
    pub(crate) fn words(&self) -> String {
        match self.count {
            0 | 1 => String::new(),
            count => format!("; each of its {count} processes uses one CPU, as if its threads took turns"),
        }
    }

    /// Returns the advice to start more processes.
    pub(crate) fn advice(&self) -> String {
        let Self { program, count } = self;
        format!(
            "Start more processes of {program} (now {count}): the threads of a process share one CPU, as under an \
             interpreter lock (CPython, Ruby), so more threads bring hardly anything. If the rate stays, look for what the \
             threads wait for."
        )
    }
}

/// Returns true if a process uses about one CPU, and no thread does nearly all of its work.
fn divides_one_cpu(view: &View<'_>, process: &Task) -> bool {
    let threads = view.threads_of(&InstanceFilter::new(std::iter::once(&process.name)));
    let busiest = threads.first().and_then(|thread| ratio(thread.busy, process.busy));
    (NEARLY_FULL * view.given()..ONE_CPU).contains(&process.busy) && busiest.is_some_and(|share| share < ONE_THREAD)
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};
    use run::Bottleneck;

    /// Returns the verdict on a server on 16 CPUs with `processes` processes of four threads. At the highest rate, each
    /// process uses `used` CPUs, and handles three requests at a time, of which two wait for a database.
    fn python(processes: u32, used: f64) -> Bottleneck {
        let rate = 250.0 * f64::from(processes);
        let all = used * f64::from(processes);
        let share = move |of: f64| move |p: &crate::planted::Point| p.x / p.capacity * of * 1e6;
        let mut planted = PlantedRun::new(12_000.0, rate)
            .none(Who::Server, "thread.cpu")
            .none(Who::Server, "process.cpu")
            .none(Who::Server, "process.cpus_allowed")
            .level(Who::Server, "cpu.online", "", 16.0)
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .per_s(Who::Server, "cpu.user", "total", share(all))
            .per_s(Who::Server, "cpu.idle", "total", move |p| 15.9e6 - share(all)(p));
        for pid in 1..=processes {
            let name = format!("python3:{}", 100 * pid);
            let thread = |tid: u32| format!("python3:{}/{}", 100 * pid, 100 * pid + tid);
            planted = planted.per_s(Who::Server, "process.cpu", &name, share(used));
            planted = (1..=4).fold(planted, |planted, tid| {
                planted.per_s(Who::Server, "thread.cpu", &thread(tid), share(used / 4.0))
            });
        }
        let names: Vec<String> = (1..=processes).map(|pid| format!("python3:{}", 100 * pid)).collect();
        planted.change(move |t, _| t.server.iter_mut().for_each(|s| s.processes = names.clone())).verdict()
    }

    /// An earlier version of loadline said "more workers will not help" about four gunicorn processes, and advised more
    /// threads for one Puma process.
    #[test]
    fn threads_that_share_one_cpu_per_process_need_more_processes() {
        for processes in [1, 4] {
            let verdict = python(processes, 0.97);
            assert_eq!(verdict.id, "server-concurrency", "{verdict:#?}");
            assert!(verdict.advice[0].contains("Start more processes of python3"), "{verdict:#?}");
            assert!(!verdict.advice.iter().any(|advice| advice.contains("will not help")), "{verdict:#?}");
            assert_eq!(verdict.sentence.contains("uses one CPU"), processes > 1, "{verdict:#?}");
        }
    }

    /// If threads leave the CPU of their process idle for half of the time, they do not wait for an interpreter lock.
    #[test]
    fn threads_that_mostly_wait_need_no_more_processes() {
        let verdict = python(4, 0.5);
        assert_eq!(verdict.id, "server-concurrency", "{verdict:#?}");
        assert!(!verdict.advice.iter().any(|advice| advice.contains("interpreter")), "{verdict:#?}");
    }
}
