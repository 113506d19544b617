//! Limits of the load generator itself. If the generator is at a limit, the figures do not describe the server. The
//! decisive trial of a run is the load that represents the run.

mod own_clock;

use run::{Evidence, FigureUnit};

use crate::Facts;
use crate::context::client_hosts;
use crate::context::evidence::{measured, quota_of_others, thread_line, throttled};
use crate::context::single::mostly_refused;
use crate::context::view::{Task, View};
use crate::in_flight::waiting::Waiting;
use crate::number::{figure, percent, positive, rate, ratio};
use crate::signals::cpu::ServerCpu;
use crate::signals::full::full;
use crate::signals::interrupts::ran;
use crate::signals::limit_evidence::{plateau, queue};
use crate::signals::{Signal, chance, spread};
use crate::thresholds::{
    AGENT_WORKS, CEILING_SAYS, CEILING_WIDTH, DELAY_SHARE, LIKELY, NEAR_CEILING, ONE_SIGN, QUOTA_SAYS, STARVED_SHARE,
    STARVED_WAIT, STARVED_WIDTH, THROTTLED, THROTTLED_WIDTH, TWO_SIGNS,
};

/// Limit that the generator may have reached.
pub(crate) struct ClientLimit {
    /// Probability that the described limit of the generator is real.
    pub(crate) chance: f64,
    pub(crate) sentence: String,
    pub(crate) evidence: Vec<Evidence>,
    /// Signals from which the probability is computed.
    pub(crate) signals: Vec<Signal>,
}

/// Returns the generator threads that make the load. These are the busiest threads of the generator, at most as many as
/// the plan sets for all working agents together.
pub(crate) fn load_threads(facts: &Facts<'_>, view: &View<'_>) -> Vec<Task> {
    let agents = view.processes().iter().filter(|p| p.busy > AGENT_WORKS).count().max(1);
    let wanted = (facts.run.plan.load.threads.max(1) as usize).saturating_mul(agents.max(1));
    let mut threads = view.workers();
    // Threads of idle agents are left out, but at least one thread remains.
    threads.truncate(wanted.min(threads.iter().filter(|t| t.wants() > AGENT_WORKS).count().max(1)));
    threads
}

/// Returns the limit that the generator most probably reached in the decisive trial (which represents the run).
pub(crate) fn client_limit(facts: &Facts<'_>) -> Option<ClientLimit> {
    let view = facts.client()?;
    let found = [by_threads(facts, &view), by_ceiling(facts, &view), by_quota(facts, &view), in_sum(facts)];
    let mut limit = found.into_iter().flatten().reduce(|a, b| if b.chance > a.chance { b } else { a })?;
    if let Some((on, others)) = client_hosts::among(facts) {
        limit.sentence = format!("{on}{}{others}", limit.sentence);
    }
    Some(limit)
}

/// Returns true if the generator was more likely than not at its limit. Returns false if the server refuses all
/// requests beyond some rate, because the server then determines the rate of good answers.
pub(crate) fn is_limited(facts: &Facts<'_>) -> bool {
    !refuses_the_rest(facts) && client_limit(facts).is_some_and(|limit| limit.chance >= LIKELY)
}

/// Returns true if the server determines the rate of good answers. The server determines this rate if it was equal at
/// several loads, or if the server refused most requests of the decisive trial as too many. If the server refuses many
/// requests, a faster generator would only get more refusals.
pub(crate) fn refuses_the_rest(facts: &Facts<'_>) -> bool {
    let by_status = facts.refusals.overload != Some(false) && facts.decisive.is_some_and(mostly_refused);
    facts.run.sent_requests() && (facts.refusals.keep_one_rate() || by_status)
}

/// Time that the generator's load threads ran or waited, as shares of the window.
struct Load {
    threads: Vec<Task>,
    ran: Signal,
    wants: Signal,
    /// Share of the time for which the threads waited for a CPU.
    waited: f64,
    /// Share of the response time that the threads' waits for a CPU explain, 0 to 1.
    delay: f64,
    /// True if the generator's own clock shows that the generator's delays make up most of the response time.
    is_late: bool,
}

impl Load {
    fn of(facts: &Facts<'_>, view: &View<'_>) -> Option<Self> {
        let threads = load_threads(facts, view);
        let n = positive(threads.len() as f64)?;
        let mean = |of: &dyn Fn(&Task) -> f64| threads.iter().map(of).sum::<f64>() / n;
        let (busy, waited) = (mean(&|t| ran(view, t)), mean(&|t| t.wait.unwrap_or(0.0)));
        let seen = spread(view, threads.first()?.counter, |part| client_busy(&load_threads(facts, part)));
        let ran = full("time that the generator's threads ran", view.given(), busy).within(seen);
        let wants = full("time that the generator's threads ran or waited for a CPU", view.given(), busy + waited);
        let by_clock = own_clock::delay_share(view.trial, n).unwrap_or(0.0);
        let delay = delay(facts, view, waited * n, n).max(by_clock);
        Some(Self { threads, ran, wants, waited, delay, is_late: by_clock >= DELAY_SHARE })
    }

    /// Returns the signal that shows the limit of the generator's threads. If the threads are probably full, the signal
    /// is the time that the threads ran. If the threads are full only together with their waits for a CPU, the signal
    /// is the sum of running and waiting. In all other cases, the signal is the share of the response time for which
    /// requests wait because the generator waits for a CPU.
    fn signals(&self, runs: f64, facts: &Facts<'_>) -> Vec<Signal> {
        let wants = self.wants.log_odds() + plateau(facts) - queue(facts);
        let name = "share of the response time that the generator waited for a CPU";
        match runs >= LIKELY {
            true => vec![self.ran],
            false if wants >= 0.0 => vec![self.wants],
            false => vec![Signal::new(name, self.delay, (DELAY_SHARE, STARVED_WIDTH))],
        }
    }

    /// Returns two probabilities: that the generator's threads cannot send at a higher rate, and that these
    /// threads lack CPU time. Threads
    /// lack CPU time if they are never idle, or wait too long for a CPU.
    fn chances(&self, facts: &Facts<'_>, view: &View<'_>) -> (f64, f64) {
        let shift = plateau(facts) - queue(facts);
        let (runs, wants) = (chance(self.ran.log_odds() + shift), chance(self.wants.log_odds() + shift));
        // A full link delivers segments one by one. Each segment wakes a thread, which then waits for a CPU. The full
        // link is therefore the cause of the thread's waits.
        let not_by_link =
            if crate::network::link_queue::shaper(facts, view.trial).is_some() { 1.0 - ONE_SIGN } else { 1.0 };
        let not_by_server = (1.0 - server_takes(facts)) * not_by_link;
        let long = chance((self.waited - STARVED_WAIT) / STARVED_WIDTH);
        let mostly = chance((self.waited / self.wants.value - STARVED_SHARE) / STARVED_WIDTH);
        let explains = chance((self.delay - DELAY_SHARE) / STARVED_WIDTH);
        (runs, (wants * not_by_server).max(long * mostly * explains * not_by_server * (1.0 - full_beside(facts))))
    }
}

/// Returns the share of the response time, 0 to 1, that the generator's waits for a CPU explain. The `n` load threads
/// together wait `waited` seconds per second. The result is the largest of three lower bounds, none of which needs an
/// open loop:
///
/// - Each wait delays at least one request, so `waited` requests are delayed on average (Little's law).
/// - An answer that arrives during a wait is read only when the wait ends. On average, at least half of a mean wait is
///   then still left (the residual time of a renewal process; Kleinrock, Queueing Systems 1, 1975, section 5.2). The
///   share `waited / n` of the answers arrives during a wait.
/// - The share of the requests in flight whose answer was seen unread at the generator.
fn delay(facts: &Facts<'_>, view: &View<'_>, waited: f64, n: f64) -> f64 {
    let trial = view.trial;
    let mean_s = trial.latency_us.mean / 1e6;
    let by_law = ratio(waited, trial.rates.completed_rate * mean_s);
    let until_read_s = mean_wait_s(view, waited).map(|wait_s| waited / n * wait_s / 2.0);
    let by_residual = until_read_s.and_then(|until_read_s| ratio(until_read_s, mean_s));
    let seen = Waiting::of(facts).map(|waiting| waiting.client);
    [by_law, by_residual, seen].into_iter().flatten().fold(0.0, f64::max).clamp(0.0, 1.0)
}

/// Returns the mean length of a wait for a CPU, in seconds, or a smaller value. A thread waits for a CPU after each
/// switch, and also idle threads switch. `waited` is the waiting time of the load threads, in seconds per second.
fn mean_wait_s(view: &View<'_>, waited: f64) -> Option<f64> {
    let switches = ["process.voluntary_switches", "process.involuntary_switches"].map(|id| view.per_s(id));
    ratio(waited, switches.into_iter().sum::<Option<f64>>()?)
}

/// Returns the server's share, 0 to 1, of the busy time of CPUs that both sides share. If the server's share is large,
/// the generator waits for a CPU because the server uses the CPUs.
fn server_takes(facts: &Facts<'_>) -> f64 {
    if !facts.shared() {
        return 0.0;
    }
    let chain = facts.server().and_then(|server| crate::in_flight::chain::Chain::of(&server));
    chain.and_then(|chain| ratio(chain.serving(), chain.busy)).unwrap_or(0.0).clamp(0.0, 1.0)
}

/// Returns the probability that server and generator have separate CPUs, and the server's CPUs are fully in use. With
/// separate and full CPUs, the server is the limit even if the generator waits for a CPU most of the time.
fn full_beside(facts: &Facts<'_>) -> f64 {
    if facts.shared() { 0.0 } else { ServerCpu::of(facts).map_or(0.0, |cpu| cpu.own()) }
}

/// Returns true if other programs keep the generator from the CPU, and its own clock shows that this delay is most of
/// the response time. The clock measures exactly the delay that other programs cause, so this sign remains valid on a
/// busy machine. Returns false if the server's threads also lack a CPU, because the server may then cause as much
/// delay.
pub(crate) fn is_starved_by_its_clock(facts: &Facts<'_>) -> bool {
    let server_waits = || facts.server().map_or(0.0, |v| v.workers().iter().filter_map(|t| t.wait).fold(0.0, f64::max));
    let Some(view) = facts.client() else { return false };
    Load::of(facts, &view).filter(|load| load.is_late).is_some_and(|load| {
        let (runs, starved) = load.chances(facts, &view);
        runs < starved && starved >= LIKELY && server_waits() < STARVED_WAIT
    })
}

fn by_threads(facts: &Facts<'_>, view: &View<'_>) -> Option<ClientLimit> {
    let load = Load::of(facts, view)?;
    let (runs, starved) = load.chances(facts, view);
    // Two signs show that the generator starves: the threads' waits for a CPU, and the generator's clock.
    let starved = if load.is_late { starved.min(TWO_SIGNS) } else { starved };
    let piled_up = Waiting::of(facts).filter(|w| w.at_client() && !facts.shared());
    let mut evidence: Vec<Evidence> = load.threads.iter().take(4).map(|t| thread_line(view, t)).collect();
    let completed = view.trial.rates.completed_rate;
    let with_that = format!("{} completed", rate(completed));
    evidence.push(measured(view, ("completed_rate", ""), (completed, FigureUnit::PerSecond), None, with_that));
    evidence.extend(piled_up.and_then(|w| w.line(facts)));
    let sentence = sentence(&load, runs >= starved.min(LIKELY), piled_up);
    let signals = load.signals(runs, facts);
    Some(ClientLimit { chance: runs.max(starved), sentence, evidence, signals })
}

fn sentence(load: &Load, full: bool, piled_up: Option<Waiting>) -> String {
    let busy = client_busy(&load.threads).unwrap_or(0.0);
    let ran = format!("its threads ran {} of the time and waited {} for a CPU", percent(busy), percent(load.waited));
    match (piled_up, full) {
        (Some(waiting), _) => {
            format!("the generator is too slow: {ran}, and {} of the answers waited for it", percent(waiting.client))
        }
        (None, true) => format!(
            "the generator's CPU is full: its threads were {} busy, so the server's limit was not reached",
            percent(busy)
        ),
        (None, false) => format!("the generator gets too little CPU: {ran}"),
    }
}

/// Returns the rate of the decisive trial, as a share of the rate that the generator reaches without a network.
pub(crate) fn ceiling_used(facts: &Facts<'_>) -> Option<f64> {
    ratio(facts.decisive?.rates.completed_rate, positive(facts.run.findings.trust.generator_ceiling?)?)
}

fn by_ceiling(facts: &Facts<'_>, view: &View<'_>) -> Option<ClientLimit> {
    let ceiling = facts.run.findings.trust.generator_ceiling.and_then(positive)?;
    let (reached, share) = (facts.decisive?.rates.completed_rate, ceiling_used(facts)?);
    let signal = Signal::new("rate over the generator's rate without a network", share, (NEAR_CEILING, CEILING_WIDTH));
    let evidence = vec![measured(
        view,
        ("completed_rate", ""),
        (reached, FigureUnit::PerSecond),
        Some(ceiling),
        format!("{} of the {} that the generator reaches without a network", percent(share), rate(ceiling)),
    )];
    let sentence = format!(
        "the generator is near its own limit: {} of the rate that it reaches without a network",
        percent(share)
    );
    Some(ClientLimit { chance: CEILING_SAYS * chance(signal.log_odds()), sentence, evidence, signals: vec![signal] })
}

/// Returns the limit that the CPU quota of the generator's control group sets. Returns `None` if other programs use up
/// the quota while no load shows a limit.
fn by_quota(facts: &Facts<'_>, view: &View<'_>) -> Option<ClientLimit> {
    let throttled = throttled(view)?;
    if !facts.limited() && quota_of_others(view, "generator").is_some() {
        return None;
    }
    let name = "throttled share of the periods of the generator's control group";
    let signal = Signal::new(name, throttled.share, (THROTTLED, THROTTLED_WIDTH));
    let sentence = "the generator's CPU quota is used up".to_string();
    let chance = QUOTA_SAYS * chance(signal.log_odds()) * crate::context::quota::stops_explain(view);
    Some(ClientLimit { chance, sentence, evidence: vec![throttled.evidence], signals: vec![signal] })
}

/// Returns the limit of a generator that shares its CPUs with the server, if only both programs together use these CPUs
/// fully. The larger the generator's share of the CPU time is, the more probably the generator is the limit.
fn in_sum(facts: &Facts<'_>) -> Option<ClientLimit> {
    let cpu = ServerCpu::of(facts)?;
    let chain = cpu.chain.as_ref().filter(|chain| chain.generator() > 0.0)?;
    let (text, cpus) = (chain.text(), figure(chain.cpus));
    let line = measured(&cpu.view, ("cpu.idle", ""), (chain.busy, FigureUnit::Cpus), Some(chain.cpus), text.clone());
    let sentence = format!("the CPUs are full, mostly with the generator's work: {text} of {cpus}");
    let signals = cpu.cpus.into_iter().collect();
    Some(ClientLimit { chance: cpu.in_sum(true), sentence, evidence: vec![line], signals })
}

fn client_busy(threads: &[Task]) -> Option<f64> {
    ratio(threads.iter().map(|t| t.busy).sum(), threads.len() as f64)
}

/// Returns the mean CPU use of the generator's load threads, in CPUs per thread.
pub(crate) fn client_limit_threads(facts: &Facts<'_>) -> Option<f64> {
    client_busy(&load_threads(facts, &facts.client()?))
}

#[cfg(test)]
mod tests {
    use crate::planted::PLANTED;

    /// A server that refuses most requests answers them as fast as the generator sends them.
    #[test]
    fn a_generator_that_is_mostly_refused_is_not_at_its_limit() {
        let warned = |status: &str, share: u64| {
            let planted = PLANTED.iter().find(|planted| planted.id == "client-cpu").unwrap();
            let mut run = (planted.plant)().run();
            for trial in &mut run.trials {
                for tally in [&mut trial.tally, &mut trial.measured.tally] {
                    tally.unexpected_status = tally.completed / 100 * share;
                    tally.unexpected_statuses = [(status.to_owned(), tally.unexpected_status)].into();
                }
            }
            crate::judge(&mut run);
            let trust = run.findings.trust;
            let told = trust.warnings.iter().any(|w| w.contains("generator"));
            assert_eq!(told, trust.generator_limited, "{:?}", trust.warnings);
            told
        };
        assert!(!warned("429", 90) && !warned("503", 90));
        assert!(warned("429", 0) && warned("500", 90));
    }
}
