//! What `loadline agent` does: one task from standard input, reports to standard output, nothing else on either.
//!
//! When standard input ends the conductor is gone: a load agent stops and reports to nobody, a server stops.

use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use run::{AgentCommand, AgentReport, AgentSpec, ColdPlan, LoadPlan, ServePlan};

use crate::LabError;

/// An agent that was told to stop has this long to do it in order.
const GRACE: Duration = Duration::from_secs(3);

/// Works on the task that comes on standard input, to its end.
pub fn run() -> Result<(), LabError> {
    let mut line = String::new();
    let fail = |why: String| LabError::Agent { name: "started".into(), why };
    std::io::stdin().lock().read_line(&mut line).map_err(|e| fail(format!("reading its task failed: {e}")))?;
    let spec: AgentSpec = serde_json::from_str(&line).map_err(|e| fail(format!("its task is not understood: {e}")))?;
    let (sender, commands) = channel();
    std::thread::spawn(move || hear(&sender));
    let outcome = match spec {
        AgentSpec::Load { plan, addr, start_at_ns } => load(&plan, addr, start_at_ns, commands),
        AgentSpec::Serve(plan) => serve(&plan, &commands),
        AgentSpec::Cold { plan, addr } => cold(&plan, addr, commands),
    };
    if let Err(error) = outcome {
        say(&AgentReport::Failed { error });
    }
    Ok(())
}

/// Hands on the conductor's commands. When its end of the pipe closes, the sender is dropped, which is heard as a stop;
/// a process that does not manage to stop is ended.
fn hear(commands: &Sender<AgentCommand>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if let Ok(command) = serde_json::from_str(&line)
            && commands.send(command).is_err()
        {
            return;
        }
    }
    let _ = commands.send(AgentCommand::Stop);
    std::thread::spawn(|| {
        std::thread::sleep(GRACE);
        std::process::exit(0);
    });
}

fn say(report: &AgentReport) {
    let Ok(mut line) = serde_json::to_string(report) else { return };
    line.push('\n');
    // A conductor that is gone reads nothing; its closed pipe is heard on standard input.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}

fn load(
    plan: &LoadPlan,
    addr: std::net::SocketAddr,
    start_at_ns: u64,
    commands: Receiver<AgentCommand>,
) -> Result<(), String> {
    confine(&plan.cpus)?;
    let part = load::run(plan, addr, start_at_ns, commands, &mut |report| say(&report)).map_err(|e| e.to_string())?;
    say(&AgentReport::Part(Box::new(part)));
    Ok(())
}

fn cold(plan: &ColdPlan, addr: std::net::SocketAddr, commands: Receiver<AgentCommand>) -> Result<(), String> {
    confine(&plan.cpus)?;
    let part = load::hold(plan, addr, commands, &mut |report| say(&report)).map_err(|e| e.to_string())?;
    say(&AgentReport::Held(part));
    Ok(())
}

fn serve(plan: &ServePlan, commands: &Receiver<AgentCommand>) -> Result<(), String> {
    confine(&plan.cpus)?;
    let server = serve::start(plan).map_err(|e| e.to_string())?;
    let (listening, notes) = (Some(server.local_addr()), server.notes().to_vec());
    say(&AgentReport::Ready { pid: std::process::id(), listening, io: server.model().into(), notes });
    loop {
        match commands.recv() {
            Ok(AgentCommand::Stop) | Err(_) => break,
            Ok(AgentCommand::Count) => say(&counts(&server)),
            Ok(AgentCommand::Enter { .. }) => {}
        }
    }
    server.stop();
    Ok(())
}

fn counts(server: &serve::Server) -> AgentReport {
    let all = serde_json::to_value(server.stats()).unwrap_or_default();
    let counts = all.as_object().into_iter().flatten().filter_map(|(name, v)| Some((name.clone(), v.as_u64()?)));
    AgentReport::Counts { counts: counts.collect(), failures: server.failures().into_iter().take(3).collect() }
}

fn confine(cpus: &[u32]) -> Result<(), String> {
    if cpus.is_empty() {
        return Ok(());
    }
    sys::limits::confine_to_cpus(cpus)
        .map_err(|e| format!("it cannot run on processors {cpus:?}: {e}; see `nproc` and taskset"))
}
