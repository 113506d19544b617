//! Rows about generators and observers on other hosts.

use crate::row::Goal::AtMost;
use crate::row::{Row, long};
use crate::rows::{hosts, hosts_ready};

pub(super) const ROWS: &[Row] = &[
    long("hosts-apart-0", "windows of two agents apart at no delay, us", AtMost(1000.0), 20, hosts::apart_0),
    long("hosts-apart-20", "the same with one of them 20 ms away", AtMost(1000.0), 25, hosts::apart_20),
    long("hosts-apart-100", "the same with one of them 100 ms away", AtMost(1000.0), 30, hosts::apart_100),
    long("hosts-ready-local", "s until 12 agents begin a load, started here", AtMost(0.5), 15, hosts_ready::local),
    long("hosts-ready-ssh", "the same by ssh over a connection that is up", AtMost(1.5), 25, hosts_ready::ssh),
    long("hosts-ready-ssh-cold", "the same with a connection of its own each", AtMost(8.0), 50, hosts_ready::ssh_cold),
    long("hosts-ready-podman", "the same by podman, in an empty container", AtMost(1.5), 40, hosts_ready::podman),
    long("hosts-ready-runc", "the same by runc exec", AtMost(1.5), 25, hosts_ready::runc),
    long("hosts-ready-crun", "the same by crun exec", AtMost(1.5), 25, hosts_ready::crun),
    long("hosts-ready-slurm", "the same by srun, on a node", AtMost(1.0), 60, hosts_ready::slurm),
    long(
        "hosts-ready-own",
        "the same by an engine of one's own (BENCH_VIA, BENCH_HOST)",
        AtMost(1.5),
        25,
        hosts_ready::own,
    ),
    long("hosts-twelve", "what 12 agents add to a run of one, s", AtMost(1.0), 30, hosts::twelve),
    long("hosts-sample", "CPU of a sample by a remote observer, us", AtMost(2000.0), 25, hosts::sample),
];
