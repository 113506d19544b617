//! Rule for a server that waits for its disk.

use run::{Evidence, FigureUnit, InstanceFilter};

use super::rule::{PLAIN, Rule, Verdict, server};
use crate::Facts;
use crate::context::disks::{self, Load, Waits, fullest, is_full, is_own, without_queue};
use crate::context::evidence::measured;
use crate::context::single::server_of;
use crate::context::view::View;
use crate::number::{figure, percent};
use crate::signals::Signal;
use crate::thresholds::{DISK_PRESSURE, HINT, REFUSED};

pub(super) const RULE: Rule = Rule {
    id: "server-disk",
    needs: &["disk.busy", "process.read_bytes", "process.write_bytes"],
    explains: &["accept-queue"],
    shared: &[(
        &["disk.busy", "disk.flushing", "pressure.io_some"],
        "most bytes of the disk are the server's, or its own threads wait for a disk",
    )],
    signals,
    judge,
    advice: &[
        "Serve from memory (a larger page cache), write less often (group commits, no fsync per request), or use a faster disk.",
    ],
    explain: "A disk is the bottleneck when it works nearly all the time, the server's own processes read or write it, and \
              some thread of the server waits for it nearly always (state D). If no thread waits, the kernel writes pages \
              back later, and no request waits for that. If the states of the threads are not known, the pressure counter \
              of the host (threads that stall for I/O) decides. Another program's backup on the same disk is not the \
              server's demand. A disk that serves many requests at once can be busy all the time without being full. It \
              has no queue if it serves more requests at a time than under the lightest load, each of them as fast. The \
              kernel counts flushes (fsync) separately, so loadline adds them. A server whose few threads wait for a mostly \
              idle disk is limited by their number, not by the disk.",
    ..PLAIN
};

fn judge(facts: &Facts<'_>) -> Verdict {
    bind(facts).unwrap_or_else(|verdict| verdict)
}

/// Returns the server's side of a trial, and the use of the server's fullest disk. Prefers a trial in which a disk is
/// full. With one client, the server and the disk work alternately, so a disk can be full only with several clients.
fn look<'a>(facts: &Facts<'a>) -> Result<(View<'a>, Load), Verdict> {
    let view = server(facts)?;
    let view = facts.focus().into_iter().filter_map(server_of).find(is_full).unwrap_or(view);
    let load = fullest(&view, view.span_s.unwrap_or(0.0) * 1e6);
    Ok((view, load.ok_or_else(|| Verdict::CannotSay(vec!["disk.busy of the server's host".into()]))?))
}

fn full(view: &View<'_>, load: &Load) -> Signal {
    disks::full(load, view.share_of_time("pressure.io_some"))
}

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    look(facts).map_or(Vec::new(), |(view, load)| vec![full(&view, &load)])
}

/// Returns the verdict with the name of the disk. Returns [`Verdict::RuledOut`] or [`Verdict::CannotSay`] as an error.
fn bind(facts: &Facts<'_>) -> Result<Verdict, Verdict> {
    let (view, load) = look(facts)?;
    let (busy, full, own) = (load.busy(), full(&view, &load).chance(), view.side.instance_filter());
    let mut evidence = vec![disk_line(&view, &load, busy)];
    evidence.extend(moved(&view, &load.disk, busy, full >= HINT)?);
    if !is_own(&view, &own, &load.disk).unwrap_or_else(|| facts.limited()) {
        return Err(Verdict::RuledOut(format!(
            "other programs kept {} busy: no thread of the server waited for it",
            load.disk
        )));
    }
    if let Some(why) = facts.unloaded.and_then(server_of).and_then(|light| without_queue(&view, &light, &load)) {
        return Err(Verdict::RuledOut(why));
    }
    let confidence = disks::limits(&view, &own, &load);
    if confidence < HINT {
        return Err(Verdict::RuledOut(unawaited(&view, &own, &load)));
    }
    evidence.extend(awaited(&view, &own));
    Ok(Verdict::Binds {
        confidence,
        sentence: format!("the server waits for its disk: {} was busy {} of the time", load.disk, percent(busy)),
        evidence,
    })
}

/// Returns a sentence about a busy disk for which hardly any thread waits.
fn unawaited(view: &View<'_>, own: &InstanceFilter<'_>, load: &Load) -> String {
    let waited = disks::waits(view, own).map_or("?".into(), |waits| percent(waits.share));
    format!(
        "{} was busy {} of the time, but threads waited for a disk only {waited} of it: the kernel may write pages back \
         that no request waits for",
        load.disk,
        percent(load.busy())
    )
}

/// Returns evidence of the threads that waited for a disk.
fn awaited(view: &View<'_>, own: &InstanceFilter<'_>) -> Option<Evidence> {
    let Waits { counter, whose, share } = disks::waits(view, own)?;
    let text = format!("a thread of the {whose} waited for a disk {} of the time", percent(share));
    Some(measured(view, (counter, ""), (share, FigureUnit::Plain), Some(DISK_PRESSURE), text))
}

/// Returns a line of evidence about the disk's busy time.
fn disk_line(view: &View<'_>, load: &Load, busy: f64) -> Evidence {
    let Load { disk, out, flushing } = load;
    let flushes = if *flushing >= REFUSED { format!(", flushes {}", percent(*flushing)) } else { String::new() };
    let text = format!("requests to {disk}: in progress {} of the time{flushes}", percent(*out));
    measured(view, ("disk.busy", disk), (busy, FigureUnit::Plain), Some(1.0), text)
}

/// Returns evidence of the bytes that a request reads from and writes to the server's disk, one line per direction.
/// Returns the verdict as an error if the disk is not full, or if the server moves no bytes or an unknown number of
/// bytes.
fn moved(view: &View<'_>, disk: &str, busy: f64, full: bool) -> Result<Vec<Evidence>, Verdict> {
    let own = [("process.read_bytes", "reads"), ("process.write_bytes", "writes")]
        .map(|(id, does)| (id, does, view.per_request(id)));
    let known = own.iter().any(|(.., bytes)| bytes.is_some());
    let all = own.iter().filter_map(|(.., bytes)| *bytes).sum::<f64>();
    if !full || known && all < 1.0 {
        return Err(Verdict::RuledOut(format!(
            "{disk} was busy {} of the time, and the server moved {} B per request",
            percent(busy),
            figure(all)
        )));
    }
    if !known {
        return Err(Verdict::CannotSay(vec![
            "process.read_bytes and process.write_bytes: they show if the server keeps the disk busy".into(),
        ]));
    }
    let large = own.into_iter().filter_map(|(id, does, bytes)| Some((id, does, bytes.filter(|b| *b >= 1.0)?)));
    let line = |(id, does, bytes)| {
        let text = format!("a request {does} {} B", figure(bytes));
        measured(view, (id, ""), (bytes, FigureUnit::BytesPerRequest), None, text)
    };
    Ok(large.map(line).collect())
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};

    /// Returns the verdict on a server that writes and flushes a block per request. The disk writes for `out_us` and
    /// flushes for `flush_us` microseconds per request; the kernel counts the two separately.
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
        assert!(b.id == "server-disk" && b.evidence[0].text.contains("flushes"), "{b:#?}");
    }

    /// Threads write to one file, one at a time under the file's lock. The disk is idle for short times, but some
    /// thread always waits for the disk.
    #[test]
    fn a_disk_with_short_pauses_that_threads_always_wait_for_is_the_limit() {
        let b = flushed(1300.0, 240.0);
        assert_eq!(b.id, "server-disk", "{b:#?}");
    }

    /// A client that uses io_uring sleeps in the kernel's ring. The kernel counts this sleep as waiting for I/O, here
    /// for 66 % of the time, although the disk is idle.
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

    /// A server with `workers` synchronous workers, such as Gunicorn, reads a block of an NVMe drive per request. The
    /// drive serves `parallel` requests at a time in 200 µs each, and further requests wait in its queue.
    fn reads(workers: f64, parallel: f64) -> run::Bottleneck {
        let in_flight = move |p: &crate::planted::Point| 0.8 * workers.min(p.n);
        let each_us = 200.0 * (0.8 * workers / parallel).max(1.0);
        let busy = move |p: &crate::planted::Point| 1e6 * (1.0 - 0.2_f64.powf(workers.min(p.n)));
        PlantedRun::new(250.0, workers * 0.8e6 / each_us)
            .per_s(Who::Server, "disk.busy", "vda", busy)
            .per_s(Who::Server, "disk.in_flight", "vda", in_flight)
            .per_s(Who::Server, "disk.reads", "vda", |p| p.x)
            .per_s(Who::Server, "disk.writes", "vda", |_| 0.0)
            .per_s(Who::Server, "process.read_bytes", "srv:100", |p| p.x * 4096.0)
            .per_s(Who::Server, "pressure.io_some", "", busy)
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .verdict()
    }

    /// In this test, the disk is 99.8 % busy with the requests of four workers, and answers each as fast as with one
    /// client. An earlier version of loadline called this disk full, with a confidence of 90 %.
    #[test]
    fn a_busy_disk_without_a_queue_is_not_full() {
        let room = reads(4.0, 32.0);
        assert!(room.id == "server-concurrency" && room.confidence >= 0.9, "{room:#?}");
        let why = room.ruled_out.iter().find(|out| out.id == "server-disk").map(|out| out.why.as_str());
        assert!(why.is_some_and(|why| why.contains("it has no queue")), "{room:#?}");
        for (workers, parallel) in [(4.0, 1.0), (32.0, 8.0)] {
            let full = reads(workers, parallel);
            assert!(full.id == "server-disk" && full.confidence >= 0.8, "{workers} on {parallel}: {full:#?}");
        }
    }

    #[test]
    fn a_thread_that_waits_for_an_idle_disk_is_not_held_by_the_disk() {
        let b = flushed(360.0, 160.0);
        assert_eq!(b.id, "server-concurrency", "{b:#?}");
        assert!(b.evidence.iter().any(|e| e.text.contains("more threads would use the disk better")), "{b:#?}");
    }
}
