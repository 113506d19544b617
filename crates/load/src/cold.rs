//! The client that adds idle connections ("cold" connections), as in the paper of Banga, Mogul and Druschel (USENIX
//! 1999). The client opens connections at a given rate. When all connections are open, the client keeps them idle, or
//! slowly sends single bytes of a request that never ends.
//!
//! The client watches every connection, and counts each connection that the server closes as lost. A connection that
//! counts as held and not as lost was therefore open until the end of the load. The client handles all connections in
//! one thread. If one process has too few descriptors for a load, the conductor (the process that controls the run)
//! divides the connections among several processes.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, TryRecvError};

use run::{Address, AgentCommand, AgentReport, ColdPart, ColdPlan};
use sys::epoll::{Epoll, Events, Interest};
use sys::peer::Peer;
use sys::{Errno, clock, limits, socket};

use crate::{LoadError, share};

/// Maximum interval between two checks for commands of the conductor (controlling process).
const COMMAND_POLL_NS: u64 = 20_000_000;
/// Time after the last planned connect at which all connects that are not yet established count as failed.
const CONNECT_TIMEOUT_NS: u64 = 10_000_000_000;
/// Beginning of a request whose head never ends. The bytes of this request are sent one by one.
const ENDLESS_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: cold\r\nX: ";

struct ColdConnection {
    fd: OwnedFd,
    up: bool,
    sent: u32,
}

struct ColdClient<'a> {
    plan: &'a ColdPlan,
    addr: Peer,
    epoll: Epoll,
    events: Events,
    list: Vec<Option<ColdConnection>>,
    up: u64,
    holding: bool,
    part: ColdPart,
    refused: Option<Errno>,
}

/// Opens the cold (idle) connections. Sends `Ready` to the conductor (controlling process) once each connection is
/// established or has failed. The conductor may also end the wait for the connects early. Afterwards, holds the
/// connections until the conductor ends or sends `Stop`. Returns the counts of the connections.
pub fn hold(
    plan: &ColdPlan,
    addr: &Address,
    commands: Receiver<AgentCommand>,
    report: &mut dyn FnMut(AgentReport),
) -> Result<ColdPart, LoadError> {
    let system = |what| move |errno| LoadError::System { what, errno, advice: "use fewer cold connections" };
    let mut notes = Vec::new();
    if let Err(e) = limits::raise_descriptors() {
        notes.push(format!("the limit of open descriptors could not be raised: {e}"));
    }
    let mut holder = ColdClient {
        plan,
        addr: share::peer(addr)?,
        epoll: Epoll::new().map_err(system("making an epoll instance"))?,
        events: Events::with_capacity(1024),
        list: Vec::with_capacity(plan.connections as usize),
        up: 0,
        holding: false,
        part: ColdPart { asked: u64::from(plan.connections), ..ColdPart::default() },
        refused: None,
    };
    let open = holder.open_all(&commands).map_err(system("waiting for connections"))?;
    holder.part.held = holder.up;
    holder.holding = true;
    if let Some(why) = holder.refused {
        let (up, asked) = (holder.up, plan.connections);
        notes.push(format!("only {up} of {asked} cold connections are up: {why}; {}", advice(why)));
    }
    report(AgentReport::Ready { pid: std::process::id(), listening: None, io: "epoll".into(), notes });
    if open {
        holder.hold(&commands).map_err(system("watching connections"))?;
    }
    Ok(holder.part)
}

fn advice(why: Errno) -> &'static str {
    match why {
        Errno::MFILE | Errno::NFILE => "raise the limit of open descriptors (ulimit -n)",
        Errno::ADDRNOTAVAIL => "give more source addresses (--source 127.0.0.2-127.0.0.9)",
        Errno::TIMEDOUT => "the server's accept queue was full: open them more slowly (--cold-rate)",
        _ => "does the server allow so many?",
    }
}

/// Returns true if the conductor (controlling process) has sent `Stop` or has ended.
fn stop(commands: &Receiver<AgentCommand>) -> bool {
    loop {
        match commands.try_recv() {
            Ok(AgentCommand::Stop) | Err(TryRecvError::Disconnected) => return true,
            Ok(_) => {}
            Err(TryRecvError::Empty) => return false,
        }
    }
}

impl ColdClient<'_> {
    /// Starts connects at the planned rate, and waits until each has succeeded or failed. Returns false if the
    /// conductor (controlling process) ends the wait early.
    fn open_all(&mut self, commands: &Receiver<AgentCommand>) -> sys::Result<bool> {
        let begin = clock::monotonic_ns();
        let gap_ns = 1e9 / self.plan.rate;
        let last_ns = begin + (gap_ns * f64::from(self.plan.connections)) as u64;
        while !stop(commands) {
            let now = clock::monotonic_ns();
            let due = (((now - begin) as f64 / gap_ns) as usize + 1).min(self.plan.connections as usize);
            while self.list.len() < due {
                let cold = self.open();
                self.list.push(cold);
            }
            let settled = self.up + self.part.failed + self.part.lost;
            if settled >= self.part.asked {
                return Ok(true);
            }
            if now > last_ns + CONNECT_TIMEOUT_NS {
                self.give_up();
                return Ok(true);
            }
            self.watch((gap_ns as u64).clamp(100_000, COMMAND_POLL_NS))?;
        }
        Ok(false)
    }

    fn open(&mut self) -> Option<ColdConnection> {
        match self.connect() {
            Ok(fd) => Some(ColdConnection { fd, up: false, sent: 0 }),
            Err(e) => {
                self.part.failed += 1;
                self.refused = Some(e);
                None
            }
        }
    }

    fn connect(&self) -> sys::Result<OwnedFd> {
        let fd = self.addr.socket()?;
        if !self.plan.sources.is_empty() {
            let source: IpAddr = self.plan.sources[self.list.len() % self.plan.sources.len()];
            socket::bind_address_no_port(&fd)?;
            socket::bind(&fd, SocketAddr::new(source, 0))?;
        }
        self.addr.connect(&fd)?;
        let interest = Interest::OUT | Interest::RDHUP | Interest::ET;
        self.epoll.add(&fd, self.list.len() as u64, interest)?;
        Ok(fd)
    }

    /// Counts as failed all connects that are not yet established.
    fn give_up(&mut self) {
        for place in &mut self.list {
            if place.as_ref().is_some_and(|cold| !cold.up) {
                *place = None;
                self.part.failed += 1;
                self.refused.get_or_insert(Errno::TIMEDOUT);
            }
        }
    }

    /// Waits up to `wait_ns` for events of connections, and handles them.
    fn watch(&mut self, wait_ns: u64) -> sys::Result<()> {
        self.epoll.wait(&mut self.events, Some(wait_ns))?;
        for at in 0..self.events.len() {
            let Some(event) = self.events.get(at) else { continue };
            let Some(place) = self.list.get_mut(event.token as usize) else { continue };
            let Some(cold) = place else { continue };
            if event.flags.intersects(Interest::RDHUP | Interest::HUP | Interest::ERR) {
                let (was_up, why) = (cold.up, socket::take_error(&cold.fd).err());
                *place = None;
                if was_up {
                    self.part.lost += 1;
                    self.up -= 1;
                } else {
                    self.part.failed += 1;
                }
                if !self.holding {
                    self.refused = Some(why.unwrap_or(Errno::CONNRESET));
                }
            } else if !cold.up && event.flags.contains(Interest::OUT) {
                cold.up = true;
                self.up += 1;
            }
        }
        Ok(())
    }

    fn hold(&mut self, commands: &Receiver<AgentCommand>) -> sys::Result<()> {
        let trickle_ns = (self.plan.trickle_ms * 1e6) as u64;
        let mut due = clock::monotonic_ns() + trickle_ns;
        while !stop(commands) {
            self.watch(COMMAND_POLL_NS)?;
            if trickle_ns > 0 && clock::monotonic_ns() >= due {
                due += trickle_ns;
                self.trickle();
            }
        }
        self.watch(0)
    }

    /// Sends one byte on each open connection.
    fn trickle(&mut self) {
        for cold in self.list.iter_mut().flatten() {
            let byte = ENDLESS_REQUEST.get(cold.sent as usize).copied().unwrap_or(b'x');
            if socket::send(&cold.fd, &[byte]) == Ok(1) {
                cold.sent += 1;
                self.part.bytes_sent += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::channel;

    /// Opens the connections of a load plan and keeps them open. `server` takes the accepted connections, and returns
    /// the connections that stay open. Returns the client's counts.
    fn held(plan: ColdPlan, server: impl FnOnce(Vec<TcpStream>) -> Vec<TcpStream>) -> ColdPart {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (sender, commands) = channel();
        let (ready, is_ready) = channel();
        let wanted = plan.connections;
        let holder = std::thread::spawn(move || {
            hold(&plan, &addr.into(), commands, &mut |report| {
                if matches!(report, AgentReport::Ready { .. }) {
                    ready.send(()).unwrap();
                }
            })
            .unwrap()
        });
        let accepted = (0..wanted).map(|_| listener.accept().unwrap().0).collect();
        is_ready.recv().unwrap();
        let kept = server(accepted);
        std::thread::sleep(std::time::Duration::from_millis(100));
        sender.send(AgentCommand::Stop).unwrap();
        let part = holder.join().unwrap();
        drop(kept);
        part
    }

    #[test]
    fn cold_connections_stay_open_and_silent() {
        let plan = ColdPlan { connections: 50, rate: 5000.0, ..ColdPlan::default() };
        let part = held(plan, |streams| {
            for stream in &streams {
                stream.set_nonblocking(true).unwrap();
                assert!((&*stream).read(&mut [0]).is_err(), "silent and open");
            }
            streams
        });
        assert_eq!(part, ColdPart { asked: 50, held: 50, ..ColdPart::default() });
    }

    #[test]
    fn connections_that_the_server_closes_are_lost_and_trickled_bytes_counted() {
        let sources = vec!["127.0.0.5".parse().unwrap(), "127.0.0.6".parse().unwrap()];
        let plan = ColdPlan { connections: 20, rate: 5000.0, trickle_ms: 10.0, sources, ..ColdPlan::default() };
        let part = held(plan, |mut streams| {
            assert!(streams.iter().any(|s| s.peer_addr().unwrap().ip().to_string() == "127.0.0.6"));
            // Reading two bytes from each connection succeeds only if the client has sent both bytes.
            streams.iter_mut().for_each(|stream| stream.read_exact(&mut [0; 2]).unwrap());
            streams.split_off(7)
        });
        assert_eq!((part.held, part.lost, part.failed), (20, 7, 0));
        assert!(part.bytes_sent >= 20, "{part:?}");
    }

    #[test]
    fn a_refused_connect_is_failed_and_said() {
        let (_bound, addr) = testkit::refusing();
        let plan = ColdPlan { connections: 3, ..ColdPlan::default() };
        let (sender, commands) = channel();
        sender.send(AgentCommand::Enter { phase: run::Phase::Measure, at_ns: None }).unwrap();
        let mut said = Vec::new();
        let mut last = Some(sender);
        let part = hold(&plan, &addr.into(), commands, &mut |report| {
            if let AgentReport::Ready { notes, .. } = report {
                said = notes;
                last = None;
            }
        });
        assert_eq!(part.unwrap().failed, 3);
        assert!(said[0].contains("only 0 of 3"), "{said:?}");
    }
}
