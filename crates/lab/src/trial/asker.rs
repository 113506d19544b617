//! Single requests to the server. The requests are sent from the host that generates the load: this host, or the first
//! client host. The conductor's machine may be unable to reach the server.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use run::{Address, AgentSpec, LoadPlan, ServerAnswer, ServerQuestion, Tally};

use crate::agents::{ask, ask_patiently, files};
use crate::{Host, preflight};

/// Minimum and maximum time to wait for an answer, seconds, when a request checks whether a server is alive. A queue
/// that a load left in the server takes about as long to drain as the load lasted, whatever the timeout was.
const ALIVE_TIMEOUT_S: (f64, f64) = (3.0, 10.0);

/// Returns the time to wait for an answer, seconds, when a request checks whether the server is alive after a load.
pub(crate) fn alive_timeout_s(plan: &LoadPlan) -> f64 {
    (plan.warmup_s + plan.duration_s).clamp(ALIVE_TIMEOUT_S.0, ALIVE_TIMEOUT_S.1)
}

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

    /// Lets the host answer a question about the server. If the host does not respond, the returned answer contains the
    /// error.
    pub(crate) fn ask(&self, question: ServerQuestion, addr: &Address, plan: &LoadPlan) -> ServerAnswer {
        if !self.host.is_remote() {
            return preflight::answer(question, addr, plan);
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
    pub(crate) fn look_up(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
        if !self.host.is_remote() || host.parse::<IpAddr>().is_ok() {
            return preflight::look_up(host, port);
        }
        let spec = AgentSpec::LookUp { host: host.into(), port };
        let found = ask(self.host, &self.program, "name look-up", &spec)?;
        let answer = found.answer.ok_or_else(|| format!("{} did not answer the question", self.host.name()))?;
        answer.error.map_or(Ok(answer.addresses), |why| Err(format!("from {}: {why}", self.host.name())))
    }

    /// Makes one request, after a load that got no answers. Returns the counts of the request, or the reason why no
    /// answer came.
    pub(crate) fn still_answers(&self, addr: &Address, plan: &LoadPlan) -> Result<Tally, String> {
        let mut plan = plan.clone();
        plan.timeout_s = alive_timeout_s(&plan);
        plan.connect_timeout_s = ALIVE_TIMEOUT_S.0;
        let answer = self.ask(ServerQuestion::StillAnswers, addr, &plan);
        let why = answer.error.unwrap_or_else(|| "no answer came".into());
        answer.response.as_ref().map(preflight::tally).ok_or(why)
    }
}
