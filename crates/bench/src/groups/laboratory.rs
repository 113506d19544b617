//! Rows about the costs of measuring, of stored runs (`run.json`), and of the experiments (`loadline lab`).

use crate::row::Goal::{AtLeast, AtMost};
use crate::row::{Row, long, row};
use crate::rows::{experiments, kept_run, probe, waits};

pub(super) const ROWS: &[Row] = &[
    row(
        "laboratory-cpu",
        "CPU share of conductor and probe during a measured window, % of one CPU",
        AtMost(2.0),
        45,
        probe::laboratory,
    ),
    long("probe-cpu", "CPU share of the probe at 2 samples per second, %", AtMost(0.5), 30, probe::share),
    row("run-size", "kB of run.json of a `find` of 30 s", AtMost(500.0), 40, kept_run::size),
    row("run-reading", "CPU ms to read it", AtMost(10.0), 1, kept_run::reading),
    row("run-judging", "CPU ms to judge it", AtMost(50.0), 1, kept_run::judging),
    long("waits-rate", "rate of nginx with sampled threads over that without", AtLeast(0.99), 190, waits::throughput),
    long(
        "waits-rate-threads",
        "the same of a server with a thread per connection, without root",
        AtLeast(0.99),
        190,
        waits::throughput_of_threads,
    ),
    long(
        "quick-experiments",
        "longest `lab NAME --quick` of all experiments, s",
        AtMost(60.0),
        450,
        experiments::quick,
    ),
    long("event-api-time", "`lab event-api`, s", AtMost(120.0), 120, experiments::event_api),
];
