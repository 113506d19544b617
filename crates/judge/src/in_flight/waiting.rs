//! Shares of the messages of a closed loop that wait unread: as requests at the server, or as answers at the generator.
//! Messages queue at the slower side (client or server). If client and server are both busy, the side at which messages
//! queue is the limit.

use run::{Evidence, FigureUnit, Intensity};

use crate::Facts;
use crate::context::evidence::measured;
use crate::context::view::View;
use crate::number::{counted, percent, positive, ratio};
use crate::thresholds::{QUEUE_IN_FLIGHT, QUEUE_RATIO, QUEUE_SHARE};

/// Shares of the requests in flight that wait unread at either side, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Waiting {
    /// Share of the requests whose answer has arrived but has not been read by the generator yet.
    pub(crate) client: f64,
    /// Share of the requests that have arrived at the server but have not been read by the server yet.
    pub(crate) server: f64,
}

impl Waiting {
    /// Computes the shares of requests that wait unread. Returns `None` unless both ends of a closed loop's connections
    /// were sampled, and the load had enough requests in flight.
    pub(crate) fn of(facts: &Facts<'_>) -> Option<Self> {
        let (client, server) = (facts.client()?, facts.server()?);
        let trial = client.trial;
        let Intensity::Closed { connections, .. } = trial.intensity else { return None };
        let under_way = positive(trial.rates.concurrency).filter(|n| *n >= QUEUE_IN_FLIGHT)?;
        let each = ratio(under_way, f64::from(connections))?;
        let tally = &trial.measured.tally;
        let share = |view: &View<'_>, bytes: u64, messages: u64| {
            let message_bytes = positive(ratio(bytes as f64, messages as f64)?)?;
            ratio(view.value("connection.receive_queue")? / message_bytes, each)
        };
        let answers = share(&client, tally.bytes_received, tally.completed)?;
        let requests = share(&server, tally.bytes_sent, tally.sent)?;
        Some(Self { client: answers.min(1.0), server: requests.min(1.0) })
    }

    /// Returns true if many messages wait unread at the generator, and far more than at the server.
    pub(crate) fn at_client(&self) -> bool {
        self.client >= QUEUE_SHARE && self.client >= QUEUE_RATIO * self.server
    }

    /// Returns true if many messages wait unread at the server, and far more than at the generator.
    pub(crate) fn at_server(&self) -> bool {
        self.server >= QUEUE_SHARE && self.server >= QUEUE_RATIO * self.client
    }

    /// Returns the shares of waiting requests as a line of evidence.
    pub(crate) fn line(&self, facts: &Facts<'_>) -> Option<Evidence> {
        let view = if self.client > self.server { facts.client()? } else { facts.server()? };
        let bytes = view.value("connection.receive_queue")?;
        let text = format!(
            "of {} in flight, {} waited as unread answers at the generator and {} as unread requests at the server",
            counted(view.trial.rates.concurrency, "request"),
            percent(self.client),
            percent(self.server)
        );
        Some(measured(&view, ("connection.receive_queue", ""), (bytes, FigureUnit::Bytes), None, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{PlantedRun, Who};

    /// Returns the shares of unread messages for 64 connections with messages of 4,096 bytes in each direction.
    /// `client` and `server` are the mean unread bytes per connection at the generator and at the server.
    fn unread(client: f64, server: f64) -> Option<Waiting> {
        let planted_run = PlantedRun::new(1000.0, 4000.0)
            .steps(&[64])
            .rates(&[])
            .level(Who::Client, "connection.receive_queue", "", client)
            .level(Who::Server, "connection.receive_queue", "", server)
            .change(|trial, _| {
                let tally = &mut trial.measured.tally;
                (tally.bytes_sent, tally.bytes_received) = (tally.sent * 4096, tally.completed * 4096);
            });
        let mut run = planted_run.run();
        crate::judge(&mut run);
        Waiting::of(&Facts::of(&run))
    }

    #[test]
    fn messages_wait_before_the_slower_side() {
        let sides = |client, server| unread(client, server).map(|w| (w.at_client(), w.at_server()));
        assert_eq!(sides(3900.0, 40.0), Some((true, false)));
        assert_eq!(sides(0.0, 3800.0), Some((false, true)));
        assert_eq!(sides(2200.0, 1600.0), Some((false, false)), "both");
        assert_eq!(sides(300.0, 10.0), Some((false, false)), "neither: it is on its way, or being worked at");
        assert_eq!(unread(2048.0, 1024.0), Some(Waiting { client: 0.5, server: 0.25 }));
    }

    /// Returns the verdict on a load of 64 connections. Client and server have one CPU and one thread each. The array
    /// `client` describes the client, and the array `server` the server. The first two numbers of an array are shares
    /// of the time: the share for which the thread runs, and the share for which it waits for a CPU. The third number
    /// is the number of received bytes per connection that the thread has not read.
    fn verdict(client: [f64; 3], server: [f64; 3]) -> run::Bottleneck {
        let mut planted_run = PlantedRun::new(1000.0, 4000.0).steps(&[64]).rates(&[]).none(Who::Server, "thread.cpu");
        let sides =
            [(Who::Client, "loadline:50", "shard0:50/51", client), (Who::Server, "srv:100", "srv:100/101", server)];
        for (at, (who, process, thread, [busy, wait, unread])) in sides.into_iter().enumerate() {
            let idle = (1.0 - busy - wait).max(0.0);
            planted_run = planted_run
                .per_s(who, "process.cpu", process, move |_| busy * 1e6)
                .per_s(who, "thread.cpu", thread, move |_| busy * 1e6)
                .per_s(who, "thread.run_delay", thread, move |_| wait * 1e6)
                .level(who, "process.cpu_mask", process, [1.0, 2.0][at])
                .level(who, "process.cpus_allowed", process, 1.0)
                .level(who, "cpu.online", "", 2.0)
                .per_s(who, "cpu.idle", ["0", "1"][at], move |_| idle * 1e6)
                .per_s(who, "cpu.idle", "total", move |_| idle * 1e6)
                .per_s(who, "cpu.user", "total", move |_| busy * 1e6)
                .per_s(who, "cpu.system", "total", |_| 0.0)
                .per_s(who, "cpu.softirq", "total", |_| 0.0)
                .level(who, "connection.receive_queue", "", unread);
        }
        let planted_run = planted_run.change(|trial, _| {
            let tally = &mut trial.measured.tally;
            (tally.bytes_sent, tally.bytes_received) = (tally.sent * 4096, tally.completed * 4096);
        });
        let mut run = planted_run.run();
        crate::judge(&mut run);
        run.findings.bottleneck
    }

    #[test]
    fn a_generator_that_never_rests_is_at_its_limit_however_little_it_waits_for_its_processor() {
        let b = verdict([0.94, 0.06, 3900.0], [0.55, 0.09, 40.0]);
        assert!(b.id == "client-cpu" && b.confidence >= 0.9 && b.sentence.contains("waited for it"), "{b:#?}");
        let b = verdict([0.94, 0.06, 0.0], [0.55, 0.09, 0.0]);
        assert!(b.id == "client-cpu" && b.confidence >= 0.8, "{b:#?}");
    }

    #[test]
    fn of_two_full_sides_the_one_before_which_messages_wait_is_it() {
        let b = verdict([0.90, 0.098, 4000.0], [0.93, 0.07, 0.0]);
        assert!(b.id == "client-cpu" && b.confidence >= 0.8 && !b.sentence.contains("too ("), "{b:#?}");
        let b = verdict([0.90, 0.098, 2000.0], [0.96, 0.03, 1600.0]);
        assert!(b.id == "client-cpu" && b.confidence < 0.75 && b.sentence.contains("full too (0.96"), "{b:#?}");
        let b = verdict([0.80, 0.1, 2400.0], [0.96, 0.03, 1300.0]);
        assert!(
            b.id == "server-cpu" && b.confidence < 0.8 && b.sentence.contains("waited for the generator"),
            "{b:#?}"
        );
        let b = verdict([0.80, 0.1, 0.0], [0.96, 0.03, 3700.0]);
        assert!(b.id == "server-cpu" && b.confidence >= 0.9, "{b:#?}");
    }

    #[test]
    fn a_waiting_generator_with_idle_time_is_no_limit_beside_a_full_server() {
        let b = verdict([0.27, 0.37, 800.0], [0.96, 0.04, 1800.0]);
        assert!(b.id == "server-cpu" && b.confidence >= 0.9, "{b:#?}");
        let b = verdict([0.27, 0.37, 800.0], [0.3, 0.04, 1800.0]);
        assert_ne!(b.id, "client-cpu", "few answers wait for it: {b:#?}");
    }

    #[test]
    fn the_busy_side_with_the_queue_limits_and_a_side_without_does_not() {
        let b = verdict([0.83, 0.05, 3500.0], [0.55, 0.09, 40.0]);
        assert!(b.id == "client-cpu" && b.confidence < 0.8, "{b:#?}");
        let b = verdict([0.6, 0.05, 100.0], [0.8, 0.1, 3500.0]);
        assert!(b.id == "server-cpu" && b.sentence.contains("too little CPU"), "{b:#?}");
        let b = verdict([0.6, 0.05, 1000.0], [0.8, 0.1, 1500.0]);
        assert!(b.id == "server-cpu" && b.confidence < 0.7, "{b:#?}");
    }

    #[test]
    fn queues_are_unknown_without_the_size_of_a_message() {
        let mut run = PlantedRun::new(1000.0, 4000.0).run();
        crate::judge(&mut run);
        assert_eq!(Waiting::of(&Facts::of(&run)), None);
    }
}
