//! The server has no descriptors left: one of its processes holds as many as it may.

use super::{Rule, Verdict, measured, server};
use crate::Facts;
use crate::facts::server_of;
use crate::number::figure;
use crate::view::View;

pub(super) const RULE: Rule = Rule {
    id: "server-fds",
    needs: &["process.fds", "process.fd_limit"],
    judge,
    advice: &[
        "Raise the server's descriptor limit: LimitNOFILE= of its unit, `ulimit -n`, worker_rlimit_nofile of nginx.",
        "If the connections are idle ones, shorten the server's keep-alive time.",
    ],
    explain: "accept() fails with EMFILE once a process holds as many descriptors as its limit allows. The connections stay in \
              the accept queue, so this is easily taken for a queue that is too short. The limit is of each process, so one \
              full worker among many is enough.",
};

fn judge(facts: &Facts<'_>) -> Verdict {
    if let Err(verdict) = server(facts) {
        return verdict;
    }
    let views = facts.focus().into_iter().filter_map(server_of);
    let fullest = views.filter_map(|v| fullest(&v).map(|f| (v, f))).max_by(|a, b| share(&a.1).total_cmp(&share(&b.1)));
    let Some((view, (name, held, limit))) = fullest else {
        return Verdict::CannotSay(vec!["process.fds and process.fd_limit of the server's processes".into()]);
    };
    // accept() itself needs one, and many servers keep one or two back.
    if held + 3.0 < limit {
        return Verdict::RuledOut(format!("{name} held {} descriptors of {}", figure(held), figure(limit)));
    }
    let text = format!("{name} held {} descriptors, its limit is {}", figure(held), figure(limit));
    let mut evidence = vec![measured(&view, ("process.fds", &name), (held, ""), Some(limit), text.clone())];
    let waiting = view.max("listen.queue").filter(|q| *q >= 1.0);
    if let Some(q) = waiting {
        let text = format!("{} connections waited to be accepted meanwhile", figure(q));
        evidence.push(measured(&view, ("listen.queue", ""), (q, ""), view.value("listen.limit"), text));
    }
    let refused = view.trial.tally.error_count() > 0 || view.trial.tally.unanswered > 0;
    let confidence = if waiting.is_some() || refused { 0.95 } else { 0.8 };
    Verdict::Binds { confidence, sentence: format!("the server has no descriptors left: {text}"), evidence }
}

fn share(f: &(String, f64, f64)) -> f64 {
    f.1 / f.2
}

fn fullest(view: &View<'_>) -> Option<(String, f64, f64)> {
    let own = view.instances("process.fds").into_iter().filter(|(name, _)| crate::sides::is_own(view.side, name));
    let both = own.filter_map(|(name, mean)| {
        let limit = view.side.recording.reading("process.fd_limit", &name, view.window).value()?;
        let held = view.side.recording.max("process.fds", &name, view.window).value().unwrap_or(mean);
        (limit >= 1.0 && limit.is_finite() && held.is_finite()).then_some((name, held, limit))
    });
    both.max_by(|a, b| share(a).total_cmp(&share(b)))
}
