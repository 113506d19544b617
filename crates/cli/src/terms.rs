//! The terms of loadline, for docs/reference/terms.md and `loadline explain`. Each term has exactly one meaning.

/// A term and its meaning.
pub(crate) struct Term {
    /// Name of the term.
    pub(crate) name: &'static str,
    /// Meaning of the term.
    pub(crate) meaning: &'static str,
    /// Other names of the term.
    pub(crate) also: &'static [&'static str],
}

const fn term(name: &'static str, meaning: &'static str) -> Term {
    Term { name, meaning, also: &[] }
}

const fn also(name: &'static str, meaning: &'static str, also: &'static [&'static str]) -> Term {
    Term { name, meaning, also }
}

/// All terms, in the order in which a reader needs them.
pub(crate) const TERMS: &[Term] = &[
    term("offered rate", "requests per second that the plan asks for (S-Clients: connection attempts per second)"),
    term("sent rate", "requests per second that the generator really sent"),
    also(
        "completed rate",
        "responses per second that came back complete and well-formed, whatever their status",
        &["throughput"],
    ),
    term("goodput", "completed rate of the requests with an expected status and within the limit on the response time"),
    term("intended start", "moment at which the plan wanted a request to be sent"),
    also(
        "response time",
        "time from the intended start to the last byte; in a closed loop the intended start is the send, or the connect if the client must connect first",
        &["latency"],
    ),
    also(
        "right-censored time",
        "response time of which only a lower bound is known: the request failed or was still in flight at the end. Failed \
         requests count as longer than every answer, so a percentile can be \"at least 50 ms\"",
        &["lower bound"],
    ),
    term("service time", "time from the actual send to the last byte"),
    also(
        "event",
        "part of an answer that is a stream, such as a token of a language model; --stream gives its format",
        &["first event", "open stream"],
    ),
    also(
        "gap",
        "time between an event of a stream and the next one; a gap above --stall makes the stream a stalled one",
        &["stalled stream", "stream-stalls"],
    ),
    term(
        "broken stream",
        "stream that began and ended early: with its connection, by the timeout, or without --stream-end",
    ),
    term(
        "stream-buffered",
        "sign that something between server and client collects events: all of them arrive together",
    ),
    also(
        "percentile",
        "p99: 99 of 100 requests took at most this time; p50, the median: half of them did",
        &["p50", "p90", "p99", "p99.9", "median"],
    ),
    term("blocked", "time in which the generator wanted to send and the socket took nothing"),
    term("start error", "delay between intended start and send for which the generator itself is responsible"),
    term("schedule lag", "delay between intended start and send, whatever the reason"),
    term("connect time", "time from connect() to an established connection"),
    also(
        "handshake",
        "exchange that a connection needs before its first request (TLS): full, or resumed from an earlier session; not counted as a request",
        &["TLS", "resumption", "resumed"],
    ),
    term("stream", "one request and its response on an HTTP/2 connection, which carries many at once (--streams)"),
    term("generator", "process that sends the requests: loadline itself, in processes of its own"),
    term(
        "objective",
        "limits that a rate must keep: on the response time (--p50, --p99, --mean) and on the share of errors (--errors)",
    ),
    term("trial", "one load of one intensity: warmed up, measured, drained; a step of a sweep or of a search"),
    term("run", "a directory with all trials and the conclusions from them"),
    term("window", "measured part of a load, without its warm-up; a search repeats a rate in several windows"),
    term(
        "turn",
        "one load of an experiment or comparison in which loads of two kinds alternate, such as with and without a lever",
    ),
    term(
        "round",
        "one reading of all counters, or of the states of all threads, at one moment; in `arena`, one pass in which every server is loaded once",
    ),
    term(
        "instance",
        "thing that a counter belongs to, such as one CPU, disk or process; a counter may have many instances",
    ),
    term(
        "conductor",
        "process of the loadline command itself: it starts generators and observers and collects their results",
    ),
    term(
        "experiment",
        "a run that checks claims, such as the published ones (`loadline lab`); also the test of a verdict by levers (`loadline prove`)",
    ),
    also(
        "closed loop",
        "a fixed number of clients; each waits for its response before it sends the next request",
        &["connections"],
    ),
    also("open loop", "requests start at moments that do not depend on the server, such as a fixed rate", &["rate"]),
    also("sweep", "closed-loop trials at 1, 2, 4, … connections", &["closed-loop sweep"]),
    also("pool", "connections of an open loop; their number grows as requests need them", &["max-connections"]),
    term("simple client", "client that repeats: connect, one request, response, close"),
    also(
        "S-Client",
        "client that keeps D sockets connecting and gives each up after the time T, so that it offers D/T connects per second whatever the server does",
        &["S-Clients"],
    ),
    term("descriptor", "a connecting socket of an S-Client"),
    term("T", "the connect timeout of an S-Client"),
    term("phantom", "a connection that is established for the client but unknown to the server"),
    also(
        "idle connection",
        "open connection that carries no requests; one that does is active (source 2 calls them cold and hot)",
        &["cold connection", "cold", "hot", "hot connection"],
    ),
    term("medium", "network between the hosts of a testbed: a shared wire, a switch, a long line"),
    also("knee", "N* = R1 · Xmax: number of requests in flight at which an ideal server would be full", &["N*"]),
    term("R1", "response time with one connection and no other load"),
    also("Xmax", "highest completed rate of the closed-loop sweep", &["peak"]),
    term("capacity", "highest completed rate at which the objective holds"),
    term(
        "common rate",
        "rate at which `arena` compares all servers under a load: half of the smallest capacity, or the stated one",
    ),
    term(
        "group",
        "servers of an `arena` that cannot be told apart by their CPU time per request; servers of different groups differ",
    ),
    also("demand", "time that one request occupies a device, such as a CPU or a disk", &["service demand"]),
    term("bottleneck", "device or limit that stops the throughput from growing; `loadline list bottlenecks` names all"),
    term("saturated", "state in which more load brings no more completed requests"),
    term(
        "lever",
        "change that an experiment switches on and off under a steady load, such as slowing a CPU; `loadline list levers` names all",
    ),
    term("dose", "share of a resource that a lever took away, as measured"),
    term(
        "elasticity",
        "d ln(throughput) / d ln(speed) of a resource: near 1 the resource is the bottleneck, near 0 it is not",
    ),
    term(
        "remainder",
        "1 minus the sum of the elasticities: share of everything that no lever touched, such as a sleep or a lock",
    ),
    term(
        "proven",
        "outcome of an experiment: a lever slowed the resource that the verdict names, and throughput changed as predicted beforehand",
    ),
    term(
        "supported",
        "outcome of an experiment without a proof: levers exclude all other resources, and a counter shows the bottleneck directly",
    ),
    term("refuted", "outcome of an experiment: a lever acted, and throughput did not change as the verdict predicts"),
    term("label", "name of a run in a history (--label), such as the git commit of the server"),
    term("change point", "first run after a change of a figure's mean; `loadline history` finds them"),
    term("headroom", "unused share of a device when the server is at its capacity"),
    term("waiter", "thread that waits for a lock or for another thread"),
    term("holder", "thread that owns a lock while others wait for it"),
    term("idle thread", "thread that waits for work: for events, a request or a connection"),
    term("perspective", "side that a figure was measured on, client or server; always named"),
    term("at rest", "state before any load; rates at rest are measured and shown beside the rates under load"),
    term("absent", "not readable, for a stated reason; an absent value is never shown as 0"),
];

/// Returns the page docs/reference/terms.md, except its first line, which says that the page is generated.
pub(crate) fn page() -> String {
    let mut text = "# Terms\n\nCode, reports and pages use each of these words with this meaning only. \
                    `loadline explain WORD` prints one.\n\n| term | meaning |\n|---|---|\n"
        .to_string();
    TERMS.iter().for_each(|t| text.push_str(&format!("| {} | {} |\n", t.name, t.meaning)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_term_is_listed_once() {
        let mut names: Vec<String> =
            TERMS.iter().flat_map(|t| std::iter::once(&t.name).chain(t.also)).map(|n| n.to_lowercase()).collect();
        names.sort();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
