//! Runs built by hand: one run that resembles a real run of `loadline find`, and unusual runs.

#![allow(dead_code, unreachable_pub, unused_imports, clippy::unwrap_used)]

pub mod any;
mod experiment;
mod findings;
pub mod history;
mod odd;
mod trials;

use std::collections::BTreeMap;

use run::*;

pub use experiment::experiment;
use findings::findings;
pub use odd::{awkward, behind};
pub use trials::sweep;
use trials::{overload, search};

/// Adds the judge's decisions to a run, such as the important trials and the outcome of each trial. Keeps the sentences
/// that the run's findings already contain.
pub fn decided(mut run: Run) -> Run {
    let mut judged = run.clone();
    judge::judge(&mut judged);
    let Findings { limits, picks, outcomes, devices, cost_names, state, hosts, failure, trust, .. } = judged.findings;
    run.findings.trust.ceiling_used = trust.ceiling_used;
    run.findings = Findings { limits, picks, outcomes, devices, cost_names, state, hosts, failure, ..run.findings };
    run
}

/// Returns a run of `loadline find` on a server whose only thread is full. The run has sweep, search and overload
/// trials, with counters of both sides.
pub fn find() -> Run {
    let mut trials: Vec<Trial> = [1, 2, 4, 8, 16, 32, 64, 128].into_iter().map(sweep).collect();
    trials
        .extend([(12_000.0, 0.25), (24_000.0, 0.5), (36_000.0, 0.75), (44_000.0, 0.92), (46_500.0, 0.97)].map(search));
    trials.push(overload(96_000.0));
    decided(Run {
        format: FORMAT.into(),
        version: "0.1.0".into(),
        label: None,
        command: "loadline find http://127.0.0.1:8080/index.html --p99 20ms".into(),
        started: "2026-11-21T05:39:13Z".into(),
        elapsed_s: 29.4,
        plan: plan(),
        hosts: vec![host()],
        medium: None,
        at_rest: vec![],
        trials,
        findings: findings(),
        notes: vec![Note { text: "io_uring is not allowed here, epoll is used instead.".into(), ..Note::default() }],
        interrupted: false,
    })
}

fn plan() -> Plan {
    let mut plan = Plan { command: "find".into(), ..Plan::default() };
    plan.target.url = "http://127.0.0.1:8080/index.html".into();
    plan.objective.p99_us = Some(20_000.0);
    plan
}

fn host() -> HostInfo {
    HostInfo {
        name: "127.0.0.1".into(),
        role: "client and server".into(),
        kernel: "6.18.0".into(),
        cpus: 2,
        cpu_model: "Example 2.4 GHz".into(),
        memory_bytes: 8 << 30,
        facts: BTreeMap::from([("net.core.somaxconn".into(), "4096".into())]),
    }
}

/// Returns a server whose sampled threads had the stack `stack`.
pub fn with_stack(stack: &str) -> Side {
    let cpu = vec![run::StackSum { stack: stack.into(), weight: 1.0 }];
    let stacks = run::StackProfile { cpu_samples: 1, cpu, ..run::StackProfile::default() };
    let waits = run::WaitProfile { stacks: Some(stacks), ..run::WaitProfile::default() };
    Side { waits: Some(Box::new(waits)), ..Side::default() }
}

/// Returns a run of a load with one fixed intensity. In this run, the server was not observed.
pub fn load() -> Run {
    let mut trial = sweep(16);
    trial.kind = TrialKind::Fixed;
    trial.label = String::new();
    trial.server = None;
    trial.client.shared = false;
    decided(Run {
        command: "loadline load http://10.0.0.2/ --connections 16 --duration 2s".into(),
        started: "2026-11-21T06:00:00Z".into(),
        elapsed_s: 4.2,
        trials: vec![trial],
        findings: Findings::default(),
        notes: vec![],
        ..find()
    })
}

/// Returns a run that ended before its first trial.
pub fn nothing() -> Run {
    Run {
        format: FORMAT.into(),
        command: "loadline find http://127.0.0.1:1/".into(),
        interrupted: true,
        ..Run::default()
    }
}
