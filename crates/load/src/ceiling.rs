//! Measures the maximum rate of the generator itself. The generator threads and the protocol run as in a real load, but
//! use the null driver, which answers every request without a network.

use std::sync::mpsc::channel;
use std::time::Duration;

use proto::{AnyClient, Request};
use run::{AgentCommand, Intensity, Io, LoadPlan, Phase};

use crate::LoadError;

/// Maximum rate and CPU cost of the generator without a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// Requests per second of all threads together.
    pub rate: f64,
    /// CPU time that the generator needs per request, microseconds. The kernel's network stack is not included.
    pub cpu_us_per_request: f64,
}

/// Length of the measurement.
const MEASURE: Duration = Duration::from_millis(200);
/// Length of the warm-up before the measurement.
const WARM_UP: Duration = Duration::from_millis(50);

/// Measures the maximum rate of the generator, with the load plan's protocol and number of threads. Measuring the
/// maximum rate takes about a quarter of a second.
pub fn ceiling(plan: &LoadPlan) -> Result<Ceiling, LoadError> {
    let mut plan = LoadPlan { io: Io::Null, drain_s: 0.0, sources: Vec::new(), ..plan.clone() };
    plan.new_connections = false;
    plan.intensity =
        Intensity::Closed { connections: plan.threads.max(1) * 64, pipeline: 1, think: run::ThinkTime::default() };
    let (control, commands) = channel();
    let conductor = move || {
        for (phase, length) in [(Phase::WarmUp, WARM_UP), (Phase::Measure, MEASURE), (Phase::Drain, Duration::ZERO)] {
            if control.send(AgentCommand::Enter { phase, at_ns: None }).is_err() {
                return;
            }
            std::thread::sleep(length);
        }
        // Closing the channel would stop the load, so the channel stays open during the drain.
        std::thread::sleep(MEASURE);
    };
    let conductor = std::thread::Builder::new()
        .spawn(conductor)
        .map_err(|e| LoadError::no_thread("starting the thread that times the generator", &e))?;
    let nowhere = std::net::SocketAddr::from(([127, 0, 0, 1], 9));
    let part = crate::run(&plan, nowhere, crate::Start::AtOnce, commands, &mut |_| {})?;
    drop(conductor);
    let completed = part.measured.completed.max(1) as f64;
    Ok(Ceiling {
        rate: completed / part.measured_s.max(1e-9),
        cpu_us_per_request: (part.cpu_us.0 + part.cpu_us.1) / completed,
    })
}

/// For the null driver: returns the size of a request in bytes, and an answer that the protocol's client accepts.
pub(crate) fn exchange(plan: &LoadPlan, client: &dyn AnyClient) -> (usize, Vec<u8>) {
    let mut sessions = client.sessions(1);
    let session = sessions.session(0);
    session.begin(Request::default());
    let (mut request, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
    while session.wants_transmit() && request.len() < 16 << 20 {
        let n = session.transmit(&mut piece);
        request.extend_from_slice(&piece[..n]);
    }
    let answer = (proto::spec(&plan.protocol).canned)(&plan.protocol, &request);
    (request.len(), answer)
}
