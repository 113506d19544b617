//! Memory per connection. The trial with all connections is compared with a trial that has few connections, but equally
//! many processes. The difference between the memory of the two trials is divided by the difference between their
//! numbers of connections. The difference in memory does not include the memory that processes use without any
//! connection.

use run::{Side, Trial, Window};

use super::values::CLIENT_MEMORY_PER_CONNECTION_BYTES;
use crate::values::{CONNECTIONS, KERNEL_MEMORY_PER_CONNECTION_BYTES, MEMORY_PER_CONNECTION_BYTES};

/// Size of a page of socket memory, bytes.
const PAGE_BYTES: f64 = 4096.0;

/// Adds the memory per connection to the results of `trial`, which is compared with the trial with few connections
/// (`few`).
pub(super) fn put(mut trial: Trial, few: &Trial) -> Trial {
    let more = f64::from(trial.key.get(CONNECTIONS).unwrap_or(0)) - f64::from(few.key.get(CONNECTIONS).unwrap_or(0));
    let each = |of: &dyn Fn(&Trial) -> Option<f64>| {
        let grown = of(&trial)? - of(few)?;
        (more > 0.0).then(|| grown / more)
    };
    let server = each(&|t| resident(t.server.as_ref()?, t.measured.window));
    let client = each(&|t| resident(&t.client, t.measured.window));
    let kernel = each(&kernel);
    let results = &mut trial.results;
    results.put(MEMORY_PER_CONNECTION_BYTES, server);
    results.put(CLIENT_MEMORY_PER_CONNECTION_BYTES, client);
    results.put(KERNEL_MEMORY_PER_CONNECTION_BYTES, kernel);
    trial
}

/// Returns the resident memory of all processes of one side (generator or server), bytes.
fn resident(side: &Side, window: Window) -> Option<f64> {
    let own = |instance: &str| side.processes.iter().any(|p| p == instance);
    side.recording.sum("process.rss", window, own).value()
}

/// Returns how much memory this machine's kernel uses for its slab caches and socket buffers, bytes. Every connection
/// uses slab caches and socket buffers.
fn kernel(trial: &Trial) -> Option<f64> {
    let recording = &trial.server.as_ref()?.recording;
    let of = |id: &str| recording.sum(id, trial.measured.window, |_| true).value();
    Some(of("memory.slab")? + of("socket.tcp_memory")? * PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Column, CounterId, Key, Recording};

    fn trial(connections: u32, client: f64, server: f64, slab: f64) -> Trial {
        let column = |id: &'static str, instance: &str, value: f64| Column {
            counter: CounterId::new(id),
            instance: instance.into(),
            values: vec![Some(value)],
        };
        let side = |rss: f64| Side {
            processes: vec!["loadline:7".into()],
            recording: Recording {
                t_s: vec![0.5],
                columns: vec![
                    column("process.rss", "loadline:7", rss),
                    column("memory.slab", "", slab),
                    column("socket.tcp_memory", "", 2.0),
                ],
                ..Recording::default()
            },
            ..Side::default()
        };
        let mut trial = Trial {
            key: Key::default().with(CONNECTIONS, connections),
            client: side(client),
            server: Some(side(server)),
            ..Trial::default()
        };
        trial.measured.window = Window { begin_s: 0.0, end_s: 1.0 };
        trial
    }

    #[test]
    fn memory_used_without_connections_is_not_counted() {
        let (few, many) = (trial(100, 1e6, 2e6, 5e7), trial(1100, 1e6 + 150e3, 2e6 + 120e3, 5e7 + 6e6));
        let results = put(many, &few).results;
        assert_eq!(results.get(CLIENT_MEMORY_PER_CONNECTION_BYTES), Some(150.0));
        assert_eq!(results.get(MEMORY_PER_CONNECTION_BYTES), Some(120.0));
        assert_eq!(results.get(KERNEL_MEMORY_PER_CONNECTION_BYTES), Some(6000.0));
        assert_eq!(put(few.clone(), &few).results.get(MEMORY_PER_CONNECTION_BYTES), None, "nothing to divide by");
    }
}
