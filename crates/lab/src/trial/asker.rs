//! Single requests to the server. The requests are sent from the host that generates the load: this host, or the first
//! client host. The conductor's machine may be unable to reach the server.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use run::{Address, AgentSpec, LoadPlan, ServerAnswer, ServerQuestion, Tally};

use crate::agents::{ask, ask_patiently, files};
use crate::trial::unless_stopped::unless_stopped;
use crate::{Host, Lab, preflight};

/// Reason why there is no answer, if the user stopped the run.
const STOPPED: &str = "the run was stopped before an answer came";
/// Time between a failed request and the next one, which checks if the server answers again.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// Host from which single requests are sent to the server.
pub(crate) struct Asker<'a> {
    host: &'a dyn Host,
    program: PathBuf,
}

impl<'a> Asker<'a> {
    /// Returns an asker on the host of the generators, or on the first of several hosts.
    pub(crate) fn new(generators: &'a dyn Host, program: &Path) -> Self {
        let host = generators.members().first().map_or(generators, |(host, _)| *host);
        Self { host, program: program.into() }
    }

    /// Lets the host answer a question about the server. If the host does not respond, or if the user stops the run,
    /// the returned answer contains the error.
    pub(crate) fn ask(&self, lab: &Lab<'_>, question: ServerQuestion, addr: &Address, plan: &LoadPlan) -> ServerAnswer {
        if !self.host.is_remote() {
            let (addr, plan) = (addr.clone(), plan.clone());
            let answer = unless_stopped(&|| lab.must_stop(), move || preflight::answer(question, &addr, &plan));
            let stopped = || ServerAnswer { error: Some(STOPPED.into()), ..ServerAnswer::default() };
            return answer.unwrap_or_else(stopped);
        }
        self.ask_there(question, addr, plan).unwrap_or_else(|why| {
            let error = Some(plan.secrets.scrub(&why));
            ServerAnswer { error, ..ServerAnswer::default() }
        })
    }

    fn ask_there(&self, question: ServerQuestion, addr: &Address, plan: &LoadPlan) -> Result<ServerAnswer, String> {
        let files = files::read_all(plan).map_err(|e| e.to_string())?;
        let spec = AgentSpec::Ask { question, plan: Box::new(plan.clone()), addr: addr.clone(), files };
        let time_s = (plan.connect_timeout_s + plan.timeout_s).clamp(0.0, 7200.0);
        let found = ask_patiently(self.host, &self.program, ("test request", &spec), Duration::from_secs_f64(time_s))?;
        let mut answer = found.answer.ok_or_else(|| format!("{} did not answer the question", self.host.name()))?;
        answer.error.iter_mut().for_each(|why| *why = format!("from {}: {why}", self.host.name()));
        answer.texts_mut().for_each(|text| *text = plan.secrets.scrub(text));
        Ok(answer)
    }

    /// Looks up the addresses of a server's name on the host that generates the load. Only the generator's host needs
    /// to know the server's name.
    pub(crate) fn look_up(&self, lab: &Lab<'_>, host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
        if !self.host.is_remote() || host.parse::<IpAddr>().is_ok() {
            let name = host.to_owned();
            let found = unless_stopped(&|| lab.must_stop(), move || preflight::look_up(&name, port));
            return found.unwrap_or_else(|| Err(STOPPED.into()));
        }
        let spec = AgentSpec::LookUp { host: host.into(), port };
        let found = ask(self.host, &self.program, "name look-up", &spec)?;
        let answer = found.answer.ok_or_else(|| format!("{} did not answer the question", self.host.name()))?;
        answer.error.map_or(Ok(answer.addresses), |why| Err(format!("from {}: {why}", self.host.name())))
    }

    /// Makes one request, after a load that got no answers. Returns the counts of the request, or the reason why no
    /// answer came within `wait_s` seconds. If the request fails earlier, asks again until the time is over: a server
    /// that is restarted, or that has no free place at this moment, refuses a request and answers a later one.
    pub(crate) fn still_answers(
        &self,
        lab: &Lab<'_>,
        wait_s: f64,
        addr: &Address,
        plan: &LoadPlan,
    ) -> Result<Tally, String> {
        let ask = |left_s: f64| {
            let connect_timeout_s = plan.connect_timeout_s.min(left_s);
            let plan = LoadPlan { timeout_s: left_s, connect_timeout_s, ..plan.clone() };
            let answer = self.ask(lab, ServerQuestion::StillAnswers, addr, &plan);
            let why = answer.error.unwrap_or_else(|| "no answer came".into());
            answer.response.as_ref().map(preflight::tally).ok_or(why)
        };
        repeated(wait_s, &|| lab.must_stop(), ask)
    }
}

/// Calls `ask` until it succeeds, until `stops` returns true, or until `wait_s` seconds have passed. The argument of
/// `ask` is the rest of the time, seconds. Returns the first success, or the first error.
fn repeated<T>(
    wait_s: f64,
    stops: &dyn Fn() -> bool,
    mut ask: impl FnMut(f64) -> Result<T, String>,
) -> Result<T, String> {
    let (begin, mut first_error) = (Instant::now(), None);
    loop {
        let why = match ask((wait_s - begin.elapsed().as_secs_f64()).max(0.0)) {
            Ok(found) => return Ok(found),
            Err(why) => why,
        };
        let first = first_error.get_or_insert(why);
        if (begin.elapsed() + ASK_AGAIN).as_secs_f64() >= wait_s || stops() {
            return Err(std::mem::take(first));
        }
        std::thread::sleep(ASK_AGAIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some comparisons of two equal servers on a busy machine ended because one single request was refused.
    #[test]
    fn a_server_that_refuses_one_request_is_asked_again() {
        let asked = |refusals: usize, wait_s: f64, stops: bool| {
            let mut asked = 0;
            let found = repeated(wait_s, &|| stops, |_| {
                asked += 1;
                if asked > refusals { Ok(()) } else { Err("connection refused".into()) }
            });
            (found.is_ok(), asked)
        };
        assert_eq!((asked(0, 0.0, false), asked(2, 60.0, false)), ((true, 1), (true, 3)));
        assert_eq!((asked(2, 60.0, true), asked(2, 0.0, false)), ((false, 1), (false, 1)));
    }
}
