//! Probability that an upstream waits for a disk of its host.

use run::InstanceFilter;

use crate::context::disks::{self, fullest, is_own};
use crate::context::view::View;
use crate::number::ratio;

/// Returns the confidence that a disk of the host limits the upstream whose processes are `these`: see
/// [`disks::limits`]. Returns 0 unless the upstream's processes keep the disk busy, and read and write more bytes than
/// the server does.
pub(super) fn chance_of(view: &View<'_>, these: &InstanceFilter<'_>) -> f64 {
    let disk = view.span_s.and_then(|span_s| fullest(view, span_s * 1e6));
    let own = disk.filter(|load| moves_more(view, these) && is_own(view, these, &load.disk).unwrap_or(true));
    own.map_or(0.0, |load| disks::limits(view, these, &load))
}

/// Returns true if the processes `these` read and write at least one byte per request, and more bytes than the server
/// does.
fn moves_more(view: &View<'_>, these: &InstanceFilter<'_>) -> bool {
    let moved = |own: &InstanceFilter<'_>| -> f64 {
        let of = |id| view.side.recording.sum(id, view.window, |name| own.has(name)).value().unwrap_or(0.0);
        of("process.read_bytes") + of("process.write_bytes")
    };
    let a_request = ratio(moved(these), view.trial.measured.tally.completed as f64).is_some_and(|bytes| bytes >= 1.0);
    a_request && moved(these) > moved(&view.side.instance_filter())
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};
    use run::{Bottleneck, Upstream};

    /// Makes a run of a server with a pool of four connections to PostgreSQL, whose processes read from an NVMe disk. A
    /// disk request is in progress for the share `busy` of the time, and some thread of PostgreSQL waits for a disk for
    /// the share `stalled`.
    fn reads(busy: f64, stalled: f64) -> Bottleneck {
        let address = "127.0.0.1:5432";
        let share = |p: &crate::planted::Point| (p.x / 200.0).min(1.0);
        PlantedRun::new(20_000.0, 200.0)
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .level(Who::Server, "behind.connections", address, 4.0)
            .per_s(Who::Server, "behind.busy", address, |p| p.n.min(4.0))
            .per_s(Who::Server, "process.cpu", "postgres:200", |p| p.x * 1000.0)
            .per_s(Who::Server, "process.read_bytes", "postgres:200", |p| p.x * 60.0 * 8192.0)
            .per_s(Who::Server, "process.disk_wait", "postgres:200", move |p| share(p) * stalled)
            .per_s(Who::Server, "disk.busy", "vda", |_| 0.0)
            .per_s(Who::Server, "disk.busy", "nvme0n1", move |p| share(p) * busy * 1e6)
            .per_s(Who::Server, "pressure.io_some", "", move |p| share(p) * stalled * 1e6)
            .change(move |trial, _| {
                let processes = vec!["postgres:200".to_string()];
                let upstream = Upstream { address: address.into(), depth: 1, processes, ..Upstream::default() };
                trial.server.iter_mut().for_each(|side| side.behind = vec![upstream.clone()]);
            })
            .verdict()
    }

    /// As with databases on NVMe disks, the disk of the upstream is busy nearly all the time. An NVMe disk serves many
    /// requests at once, so it is busy nearly all the time long before it is full. The server's pool of four
    /// connections may be the limit instead of the disk.
    #[test]
    fn a_busy_disk_of_an_upstream_is_as_doubtful_as_the_server_s_own() {
        let doubtful = reads(0.87, 0.55);
        assert!(doubtful.id == "server-concurrency" && doubtful.confidence <= 0.6, "{doubtful:#?}");
        assert!(doubtful.sentence.contains("or the server handles only about 4 requests at a time"), "{doubtful:#?}");
        let seldom = reads(0.8, 0.3);
        assert!(seldom.waits_for.is_none() && seldom.sentence.contains("about 4 requests"), "{seldom:#?}");
        let awaited = reads(0.99, 0.8);
        assert!(awaited.sentence.contains("the full disk of its host"), "{awaited:#?}");
        assert!((0.8..0.9).contains(&awaited.confidence), "{awaited:#?}");
    }
}
