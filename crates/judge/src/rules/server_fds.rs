//! Rule for a server without free file descriptors: one of its processes has reached its limit on open files.

use run::{FigureUnit, Trial};

use super::rule::{PLAIN, Rule, Tier, Verdict, server};
use super::signs::is_beyond;
use crate::Facts;
use crate::context::evidence::measured;
use crate::context::single::server_of;
use crate::context::sweep::{Plateau, plateau, top};
use crate::context::view::View;
use crate::number::{counted, figure};
use crate::signals::Signal;
use crate::thresholds::{ONE_SIGN, SPARE_FDS, SUREST};

pub(super) const RULE: Rule = Rule {
    id: "server-fds",
    needs: &["process.fds", "process.fd_limit"],
    tier: Tier::Broken,
    is_counted: |_| true,
    signals,
    judge,
    advice: &[
        "Raise the server's limit of file descriptors: LimitNOFILE= of its systemd unit, `ulimit -n`, or nginx's worker_rlimit_nofile.",
        "Shorten the server's keep-alive time if most connections are idle.",
    ],
    explain: "accept() fails with EMFILE once a process holds as many file descriptors as its limit allows. Connections then \
              stay in the accept queue, so the queue seems too short. The limit is per process: one full worker among \
              many is enough.",
    ..PLAIN
};

/// Finds the process that used the largest share of its file descriptors in one of the trials. Returns the server's
/// side of this trial, and the process's name, number of open descriptors, and limit. If throughput stopped growing
/// while descriptors were free, leaves out open loops beyond the server's highest rate, in which waiting requests use
/// up any number of descriptors. Otherwise also uses the sweep's last step, which may have failed because the
/// descriptors ran out.
fn most<'a>(facts: &Facts<'a>) -> Option<(View<'a>, (String, f64, f64))> {
    let was_flat = was_flat_before(facts);
    let focus = facts.focus().into_iter().filter(|trial| !(was_flat && is_beyond(facts, trial)));
    let last = facts.sweep.last().copied().filter(|_| !was_flat);
    let views = focus.chain(last).filter_map(server_of);
    views.filter_map(|v| fullest(&v).map(|f| (v, f))).max_by(|a, b| share(&a.1).total_cmp(&share(&b.1)))
}

/// Returns true if throughput stopped growing in the steps of the sweep in which the server had free descriptors.
fn was_flat_before(facts: &Facts<'_>) -> bool {
    let is_free = |trial: &&Trial| {
        server_of(trial).and_then(|view| fullest(&view)).is_none_or(|(_, held, limit)| !is_full(held, limit))
    };
    let free: Vec<&Trial> = facts.sweep.iter().copied().filter(is_free).collect();
    matches!(plateau(&free, &[], top(&free).first().copied()), Plateau::Flat { .. })
}

/// Returns true if a process has hardly any free descriptor. Many servers keep one or two descriptors in reserve, so
/// their processes are full slightly below the limit.
fn is_full(held: f64, limit: f64) -> bool {
    held + SPARE_FDS >= limit
}

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    let signal = |(_, (_, held, limit))| Signal::new("file descriptors in use", held, (limit - SPARE_FDS, 1.0));
    most(facts).map(signal).into_iter().collect()
}

fn judge(facts: &Facts<'_>) -> Verdict {
    if let Err(verdict) = server(facts) {
        return verdict;
    }
    let Some((view, (name, held, limit))) = most(facts) else {
        return Verdict::CannotSay(vec!["process.fds and process.fd_limit of the server's processes".into()]);
    };
    if !is_full(held, limit) {
        return Verdict::RuledOut(format!("{name} held {} of {} file descriptors", figure(held), figure(limit)));
    }
    let text = format!("{name} held {} file descriptors (limit {})", figure(held), figure(limit));
    let mut evidence = vec![measured(&view, ("process.fds", &name), (held, FigureUnit::Plain), Some(limit), text)];
    let waiting = view.max("listen.queue").filter(|q| *q >= 1.0);
    if let Some(q) = waiting {
        let text = format!("{} waited to be accepted", counted(q, "connection"));
        evidence.push(measured(&view, ("listen.queue", ""), (q, FigureUnit::Plain), view.value("listen.limit"), text));
    }
    let refused = view.trial.tally.error_count() > 0 || view.trial.tally.unanswered > 0;
    let confidence = if waiting.is_some() || refused { SUREST } else { ONE_SIGN };
    let sentence = format!("the server ran out of file descriptors: {} of {} in use", figure(held), figure(limit));
    Verdict::Binds { confidence, sentence, evidence }
}

fn share(f: &(String, f64, f64)) -> f64 {
    f.1 / f.2
}

fn fullest(view: &View<'_>) -> Option<(String, f64, f64)> {
    let ours = view.side.instance_filter();
    let own = view.instances("process.fds").into_iter().filter(|(name, _)| ours.has(name));
    let [limits, levels] = ["process.fd_limit", "process.fds"].map(|id| view.side.recording.instances(id));
    let both = own.filter_map(|(name, mean)| {
        let limit = limits.value(&name, view.window)?;
        let held = levels.max(&name, view.window).unwrap_or(mean);
        (limit >= 1.0 && limit.is_finite() && held.is_finite()).then_some((name, held, limit))
    });
    both.max_by(|a, b| share(a).total_cmp(&share(b)))
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};

    /// The figures of this test were seen with nginx and `worker_rlimit_nofile 40`. A request whose file cannot be
    /// opened gets status 500 at once.
    #[test]
    fn answers_of_a_server_without_descriptors_are_no_limit_on_purpose() {
        let refuse = |t: &mut run::Trial, _: &crate::planted::Point| {
            let good = (0.98 * t.measured.tally.completed as f64) as u64;
            t.measured.tally.unexpected_status = t.measured.tally.completed - good;
            t.measured.tally.status.insert("5xx".into(), t.measured.tally.unexpected_status);
            t.tally.unanswered = 60;
        };
        let mut run = PlantedRun::new(500.0, 30_000.0)
            .steps(&[100])
            .rates(&[])
            .per_s(Who::Server, "process.fds", "srv:100", |_| 40.0)
            .level(Who::Server, "process.fd_limit", "srv:100", 40.0)
            .change(refuse)
            .run();
        crate::judge(&mut run);
        let b = &run.findings.bottleneck;
        assert_eq!(b.id, "server-fds", "{b:#?}");
        assert!(b.ruled_out.iter().any(|r| r.id == "server-rate-limit"), "it saw its signs: {b:#?}");
    }

    /// In this observed case, a proxy had a limit of 64 descriptors. From 50 clients on, the proxy had no descriptor
    /// left for connections to its upstream, and answered 502 at once. The rate of good answers was therefore the same
    /// as with 10 clients. An earlier version of loadline concluded that throughput stopped growing at 10 clients. That
    /// version took the load that used up the descriptors for an overload.
    #[test]
    fn a_step_that_fails_for_lack_of_descriptors_is_no_plateau_before_the_lack() {
        let fails = |t: &mut run::Trial, p: &crate::planted::Point| {
            if p.n.max(p.offered / 50.0) <= 20.0 {
                return;
            }
            let refused = 18_000;
            t.measured.tally.unexpected_status = refused;
            t.measured.tally.unexpected_statuses = [("502".to_string(), refused)].into();
            t.measured.tally.completed += refused;
            t.rates.completed_rate += refused as f64 / 2.0;
        };
        let held = |p: &crate::planted::Point| if p.n.max(p.offered / 50.0) > 20.0 { 65.0 } else { 9.0 + 2.0 * p.n };
        let verdict = |held: fn(&crate::planted::Point) -> f64| {
            let planted = PlantedRun::new(20_000.0, 500.0).steps(&[1, 2, 10, 50]).rates(&[0.7, 3.7]);
            let planted = planted.per_s(Who::Server, "process.fds", "srv:100", held).change(fails);
            planted.level(Who::Server, "process.fd_limit", "srv:100", 64.0).verdict()
        };
        let b = verdict(held);
        assert!(b.id == "server-fds" && b.sentence.contains("65 of 64"), "{b:#?}");
        assert_ne!(verdict(|_| 40.0).id, "server-fds", "free descriptors");
    }

    /// An event loop is full at 5,000 requests per second. Beyond this rate, requests pile up until the loop holds all
    /// descriptors that it may hold.
    #[test]
    fn descriptors_that_only_an_overload_fills_are_not_the_limit() {
        let used = |p: &crate::planted::Point| p.x / 5000.0 * 0.99e6;
        let held = |p: &crate::planted::Point| if p.offered > 5000.0 { 1024.0 } else { 20.0 };
        let verdict = PlantedRun::new(200.0, 5000.0)
            .per_s(Who::Server, "process.cpu", "srv:100", used)
            .per_s(Who::Server, "thread.cpu", "srv:100/101", used)
            .per_s(Who::Server, "process.fds", "srv:100", held)
            .level(Who::Server, "process.fd_limit", "srv:100", 1024.0)
            .change(|t, p| t.tally.unanswered = if p.offered > 5000.0 { 60 } else { 0 })
            .verdict();
        assert_eq!(verdict.id, "server-single-thread", "{verdict:#?}");
    }
}
