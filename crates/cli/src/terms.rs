//! The words that loadline uses, each with its one meaning: docs/terms.md is made from this table, `loadline explain`
//! looks them up.

/// One word.
pub(crate) struct Term {
    /// The word.
    pub(crate) name: &'static str,
    /// What it means here.
    pub(crate) meaning: &'static str,
    /// Other names that people look it up by.
    pub(crate) also: &'static [&'static str],
}

const fn term(name: &'static str, meaning: &'static str) -> Term {
    Term { name, meaning, also: &[] }
}

const fn also(name: &'static str, meaning: &'static str, also: &'static [&'static str]) -> Term {
    Term { name, meaning, also }
}

/// The table, in reading order.
pub(crate) const TERMS: &[Term] = &[
    term("offered rate", "what the plan wanted: requests a second (S-Clients: connection attempts a second)"),
    term("sent rate", "what actually left"),
    also("completed rate", "what came back complete and well-formed, of any status", &["throughput"]),
    term("goodput", "completed within the limit asked for, with an expected status"),
    term("intended start", "when a request should have left by the plan"),
    also(
        "response time",
        "from the intended start to the last byte; in a closed loop the intended start is the send",
        &["latency"],
    ),
    term("service time", "from the actual send to the last byte"),
    also(
        "percentile",
        "p99 is the time that 99 of 100 requests took at most; p50, the median, that half of them took at most",
        &["p50", "p90", "p99", "p99.9", "median"],
    ),
    term("blocked", "time in which the generator wanted to send and could not"),
    term("start error", "how much later than its intended start a request left because of the generator itself"),
    term("connect time", "from connect() to an established connection"),
    also(
        "handshake",
        "what an established connection needs before its first request (TLS): full, or resumed from an earlier session; not counted as a request",
        &["TLS", "resumption", "resumed"],
    ),
    term("stream", "one request and its response on a connection of HTTP/2, which carries many at once (--streams)"),
    term("generator", "the program that makes the load: loadline itself, in processes of its own"),
    term(
        "objective",
        "what counts as good: limits on the response time (--p50, --p99, --mean) and on the share of errors (--errors)",
    ),
    term("trial", "one operating point: one intensity, warmed up, measured, drained; a step of a sweep or a search"),
    term("run", "a directory of trials with what was concluded"),
    term("experiment", "a run that makes and checks claims of its own"),
    also("closed loop", "a fixed number of clients, each waits for its answer before it asks again", &["connections"]),
    also("open loop", "requests start when the arrival process says so, whatever the server does", &["rate"]),
    also("sweep", "closed-loop trials at 1, 2, 4, … connections", &["closed-loop sweep"]),
    also("pool", "the connections that an open loop may use; it grows as requests need them", &["max-connections"]),
    term("simple client", "connect, one request, response, close, repeat"),
    also("S-Client", "keeps D descriptors connecting, each for at most T; see `docs/method.md`", &["S-Clients"]),
    term("descriptor", "one socket of an S-Client that is trying to connect"),
    term("T", "the connect timeout of an S-Client"),
    term("phantom", "a connection that is established for the client and unknown to the server"),
    also(
        "idle connection",
        "one that is open and silent; one that carries requests is active (in source 2: cold and hot)",
        &["cold connection", "cold", "hot", "hot connection"],
    ),
    term("medium", "what joins hosts: a shared wire, a switch, a long line"),
    also("knee", "N* = R1 · Xmax: the concurrency at which the ideal server would be full", &["N*"]),
    term("R1", "the response time with one connection, while nothing else is served"),
    also("Xmax", "the highest completed rate of the closed-loop sweep", &["peak"]),
    term("capacity", "the highest completed rate that holds the objective"),
    also("demand", "time of one device that one request uses", &["service demand"]),
    term("bottleneck", "the device or limit with the largest demand; `loadline list bottlenecks` names all"),
    term("saturated", "at the bottleneck's limit: more load brings no more completed requests"),
    term("lever", "what an experiment switches on and off under a steady load; `loadline list levers` names all"),
    term("dose", "the share of a resource that a lever took away, as it was measured"),
    term("elasticity", "d ln(throughput) / d ln(speed) of a resource: near 1 it is the bottleneck, near 0 it is not"),
    term("remainder", "1 less the sum of the elasticities: the share of what no lever touched, a sleep or a lock"),
    term("headroom", "how far a device is from its limit at the capacity"),
    term("perspective", "whose view a figure is: the client's or the server's; always named"),
    term("at rest", "before any load; rates at rest are measured and named beside the rates under load"),
    term("absent", "a reading that could not be taken, with its reason; never 0"),
];

/// The page docs/terms.md, without its first lines.
pub(crate) fn page() -> String {
    let mut text = "# Terms\n\nOne word a thing. Code, reports and pages use these words in these meanings only. \
                    `loadline explain WORD` prints one.\n\n| term | meaning |\n|---|---|\n"
        .to_string();
    TERMS.iter().for_each(|t| text.push_str(&format!("| {} | {} |\n", t.name, t.meaning)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_stands_once() {
        let mut names: Vec<String> =
            TERMS.iter().flat_map(|t| std::iter::once(&t.name).chain(t.also)).map(|n| n.to_lowercase()).collect();
        names.sort();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
