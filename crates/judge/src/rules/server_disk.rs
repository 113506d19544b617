//! The server waits for its disk.

use super::{Rule, Verdict, measured, server};
use crate::Facts;
use crate::number::{figure, percent, ratio};

pub(super) const RULE: Rule = Rule {
    id: "server-disk",
    needs: &["disk.busy", "process.read_bytes", "process.write_bytes"],
    judge,
    advice: &[
        "Serve from memory (a warmer or larger page cache), write less often (group commits, no fsync a request), or use a faster disk.",
    ],
    explain: "A disk is what binds when it has a request out nearly all the time and the server's own processes read from it or \
              write to it: somebody else's backup on the same disk is not the server's demand. On a disk that serves many \
              requests at once, busy all the time is not yet full; then the pressure counter (threads that stall for I/O) \
              decides.",
};

/// Share of the time with a request out from which a disk counts as full.
const BUSY: f64 = 0.85;

fn judge(facts: &Facts<'_>) -> Verdict {
    let view = match server(facts) {
        Ok(view) => view,
        Err(verdict) => return verdict,
    };
    let span_us = view.span_s.unwrap_or(0.0) * 1e6;
    let disks = view.instances("disk.busy").into_iter().filter_map(|(name, us)| Some((name, ratio(us, span_us)?)));
    let Some((disk, busy)) = disks.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Verdict::CannotSay(vec!["disk.busy of the server's host".into()]);
    };
    let stalled = view.share_of_time("pressure.io_some");
    let own = [view.per_request("process.read_bytes"), view.per_request("process.write_bytes")];
    let waits = stalled.is_some_and(|s| s >= 0.5);
    if busy < BUSY || own.iter().flatten().sum::<f64>() < 1.0 && own.iter().any(Option::is_some) {
        let own = own.iter().flatten().sum::<f64>();
        return Verdict::RuledOut(format!(
            "{disk} was busy {} of the time, {} B of it a request by the server",
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
        (busy, ""),
        Some(1.0),
        format!("{disk} had a request out {} of the time", percent(busy)),
    )];
    for (id, bytes, what) in
        [("process.read_bytes", own[0], "fetches from"), ("process.write_bytes", own[1], "sends to")]
    {
        if let Some(b) = bytes.filter(|b| *b >= 1.0) {
            evidence.push(measured(
                &view,
                (id, ""),
                (b, "B a request"),
                None,
                format!("a request {what} it {} B", figure(b)),
            ));
        }
    }
    if let Some(s) = stalled {
        let text = format!("a thread of the host waited for a disk {} of the time", percent(s));
        evidence.push(measured(&view, ("pressure.io_some", ""), (s, ""), None, text));
    }
    Verdict::Binds {
        confidence: if waits { 0.9 } else { 0.75 },
        sentence: format!("the server waits for its disk {disk}, which was busy {} of the time", percent(busy)),
        evidence,
    }
}
