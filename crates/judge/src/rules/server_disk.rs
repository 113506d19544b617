//! The server waits for its disk.

use run::FigureUnit;

use super::rule::{Rule, Verdict, server};
use crate::Facts;
use crate::disks::{Load, fullest, is_full, needed};
use crate::evidence::measured;
use crate::number::{figure, percent};
use crate::single::server_of;

pub(super) const RULE: Rule = Rule {
    id: "server-disk",
    needs: &["disk.busy", "process.read_bytes", "process.write_bytes"],
    waits: false,
    judge,
    advice: &[
        "Serve from memory (a warmer or larger page cache), write less often (group commits, no fsync per request), or use a faster disk.",
    ],
    explain: "A disk is what binds when it has a request out nearly all the time and the server's own processes read from it or \
              write to it: somebody else's backup on the same disk is not the server's demand. On a disk that serves many \
              requests at once, busy all the time is not yet full; then the pressure counter (threads that stall for I/O) \
              decides. It decides too where requests go to a disk one after another, with pauses between them: if some thread \
              waits for the disk nearly all the time, that is what the server waits for. The kernel counts flushes (fsync) apart from that time, so they are added to it. A server whose few \
              threads wait for a disk that is mostly idle is held by their number, not by the disk.",
};

fn judge(facts: &Facts<'_>) -> Verdict {
    let view = match server(facts) {
        Ok(view) => view,
        Err(verdict) => return verdict,
    };
    // One client and its server take turns with the disk: where it is slower for several, it is full only with more.
    let view = facts.focus().into_iter().filter_map(server_of).find(is_full).unwrap_or(view);
    let span_us = view.span_s.unwrap_or(0.0) * 1e6;
    let Some(Load { disk, out, flushing }) = fullest(&view, span_us) else {
        return Verdict::CannotSay(vec!["disk.busy of the server's host".into()]);
    };
    let busy = (out + flushing).min(1.0);
    let stalled = view.share_of_time("pressure.io_some");
    let own = [view.per_request("process.read_bytes"), view.per_request("process.write_bytes")];
    let waits = stalled.is_some_and(|s| s >= 0.5);
    if busy < needed(stalled) || own.iter().flatten().sum::<f64>() < 1.0 && own.iter().any(Option::is_some) {
        let own = own.iter().flatten().sum::<f64>();
        return Verdict::RuledOut(format!(
            "{disk} was busy {} of the time, of which the server moved {} B per request",
            percent(busy),
            figure(own)
        ));
    }
    if own.iter().all(Option::is_none) {
        return Verdict::CannotSay(vec![
            "process.read_bytes and process.write_bytes: whether the busy disk is busy for the server".into(),
        ]);
    }
    let mut evidence = vec![measured(
        &view,
        ("disk.busy", &disk),
        (busy, FigureUnit::Plain),
        Some(1.0),
        match flushing >= 0.01 {
            true => {
                format!("{disk} was busy with requests {} of the time and flushing {}", percent(out), percent(flushing))
            }
            false => format!("{disk} was busy with requests {} of the time", percent(out)),
        },
    )];
    for (id, bytes, what) in
        [("process.read_bytes", own[0], "fetches from"), ("process.write_bytes", own[1], "sends to")]
    {
        if let Some(b) = bytes.filter(|b| *b >= 1.0) {
            evidence.push(measured(
                &view,
                (id, ""),
                (b, FigureUnit::BytesPerRequest),
                None,
                format!("a request {what} it {} B", figure(b)),
            ));
        }
    }
    if let Some(s) = stalled {
        let text = format!("a thread of the host waited for a disk {} of the time", percent(s));
        evidence.push(measured(&view, ("pressure.io_some", ""), (s, FigureUnit::Plain), None, text));
    }
    Verdict::Binds {
        confidence: if waits { 0.9 } else { 0.75 },
        sentence: format!("the server waits for its disk {disk}, which was busy {} of the time", percent(busy)),
        evidence,
    }
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};

    /// One thread that writes a block and flushes it, a request: flushing is counted apart from requests that are out.
    fn flushed(out_us: f64, flush_us: f64) -> run::Bottleneck {
        let planted_run = PlantedRun::new(2000.0, 500.0)
            .per_s(Who::Server, "disk.busy", "vda", move |p| p.x * out_us)
            .per_s(Who::Server, "disk.flushing", "vda", move |p| p.x * flush_us)
            .per_s(Who::Server, "pressure.io_some", "", |p| p.x * 1600.0)
            .per_s(Who::Server, "process.write_bytes", "srv:100", |p| p.x * 4096.0);
        let mut run = planted_run.run();
        crate::judge(&mut run);
        run.findings.bottleneck
    }

    #[test]
    fn the_time_of_flushes_is_the_disk_s_too() {
        let b = flushed(400.0, 1500.0);
        assert!(b.id == "server-disk" && b.evidence[0].text.contains("flushing"), "{b:#?}");
    }

    /// Threads that write to one file, each behind the lock of the one before: the disk has pauses, the threads have none.
    #[test]
    fn a_disk_with_short_pauses_that_threads_always_wait_for_is_the_limit() {
        let b = flushed(1300.0, 240.0);
        assert_eq!(b.id, "server-disk", "{b:#?}");
    }

    /// A client on io_uring sleeps in it, which the kernel counts as waiting for I/O: 66 % with no disk at work.
    #[test]
    fn pressure_of_a_client_that_sleeps_in_io_uring_is_no_disk() {
        let mut run = PlantedRun::new(20_000.0, 200.0)
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .per_s(Who::Server, "pressure.io_some", "", |_| 0.66e6)
            .per_s(Who::Server, "process.write_bytes", "srv:100", |p| p.x * 100.0)
            .run();
        crate::judge(&mut run);
        let b = &run.findings.bottleneck;
        assert_eq!(b.id, "server-concurrency", "{b:#?}");
        assert!(!b.evidence.iter().any(|e| e.text.contains("disk")), "{b:#?}");
        assert!(b.ruled_out.iter().any(|r| r.id == "server-disk" && r.why.contains("busy")), "{b:#?}");
    }

    #[test]
    fn a_thread_that_waits_for_an_idle_disk_is_not_held_by_the_disk() {
        let b = flushed(360.0, 160.0);
        assert_eq!(b.id, "server-concurrency", "{b:#?}");
        assert!(b.evidence.iter().any(|e| e.text.contains("what its threads sleep for")), "{b:#?}");
    }
}
