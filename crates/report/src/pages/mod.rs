//! Pages of a report, with one file per page. A page builds sections from a run, or no sections if the run has no data
//! for the page.
//!
//! To add a page, write a file with `fn sections(&Run) -> Vec<Section>`, and add a row to [`PAGES`], which is in
//! reading order.

mod addresses;
mod answer;
mod answered;
mod argument;
mod behind;
mod by_load;
mod capacity;
mod chart_marks;
mod checks;
mod class_costs;
mod classes;
mod costs;
mod counters;
mod course;
mod cpus;
mod databases;
mod double;
mod figures;
mod first_failures;
mod fits;
mod hosts;
mod latency;
mod limited;
mod load;
mod next_command;
mod over_time;
mod parts;
mod pick;
mod plan;
mod proof;
mod quic;
mod rate;
mod repeats;
mod server_acts;
mod spans;
mod spread;
mod stacks;
mod statuses;
mod streams;
mod sweep;
mod times;
mod tls;
mod traces;
mod trials;
mod trust;
mod utilisation;
mod verdict;
mod waits;
mod warned;

pub(crate) use answer::so_far;
pub(crate) use databases::blocks as database_blocks;
pub(crate) use stacks::blocks as stack_blocks;
pub(crate) use waits::blocks as wait_blocks;

pub use times::short_time;
pub use trials::busiest_device;

use run::{Capacity, Certainty, Run};

use crate::{Block, Doc, Section, Unit};
use run::number::{number, prose::counted, quantity, span};

/// A page, as listed in [`PAGES`].
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Name of the page.
    pub name: &'static str,
    /// Contents of the page, as a phrase.
    pub help: &'static str,
    /// Function that builds the sections of the page, or no sections if the run has no data for the page.
    pub sections: fn(&Run) -> Vec<Section>,
}

/// All pages, in reading order.
pub const PAGES: &[Page] = &[
    Page { name: "warnings", help: "reasons to trust the figures less", sections: warned::sections },
    Page {
        name: "answer",
        help: "the rate or the response times, what limits the server, the experiment, and what to do",
        sections: answer::sections,
    },
    Page {
        name: "by-load",
        help: "response time against load, with the objective and the capacity",
        sections: by_load::sections,
    },
    Page {
        name: "over-time",
        help: "rate and response times of one fixed load over time",
        sections: over_time::sections,
    },
    Page { name: "answer-end", help: "stages of the load, the next command, and warnings", sections: answer::end },
    Page { name: "load", help: "counts of requests and connections of one fixed load", sections: load::sections },
    Page {
        name: "verdict",
        help: "knee, reasons, further advice, and the next bottleneck",
        sections: verdict::sections,
    },
    Page { name: "proof", help: "the experiment on the verdict", sections: proof::sections },
    Page { name: "checks", help: "the claims of an experiment, each held or failed", sections: checks::sections },
    Page {
        name: "figures",
        help: "the figures of an experiment, with the published numbers beside ours",
        sections: figures::sections,
    },
    Page {
        name: "counters-say",
        help: "the verdict of an experiment, after its own conclusions",
        sections: verdict::of_experiment,
    },
    Page {
        name: "sweep",
        help: "throughput and response time against concurrency, with bounds and knee",
        sections: sweep::sections,
    },
    Page {
        name: "capacity",
        help: "response time and completed rate against offered rate",
        sections: capacity::sections,
    },
    Page { name: "repeats", help: "the result of each repeat", sections: repeats::sections },
    Page { name: "classes", help: "the classes of a request mix, side by side", sections: classes::sections },
    Page { name: "addresses", help: "the addresses of the server, side by side", sections: addresses::sections },
    Page { name: "hosts", help: "the generator hosts, side by side", sections: hosts::sections },
    Page { name: "trials", help: "one row per operating point", sections: trials::sections },
    Page { name: "costs", help: "the cost of one request on both sides", sections: costs::sections },
    Page { name: "tls", help: "the cost of TLS: CPU time of a handshake, bytes on the wire", sections: tls::sections },
    Page {
        name: "quic",
        help: "round-trip time, congestion window and lost packets of HTTP/3",
        sections: quic::sections,
    },
    Page { name: "double", help: "the resources needed to double the capacity", sections: double::sections },
    Page { name: "behind", help: "upstreams of the server, and how busy they were", sections: behind::sections },
    Page { name: "waits", help: "threads of the server, and what they wait for", sections: waits::sections },
    Page { name: "spans", help: "self time of the server's spans", sections: spans::sections },
    Page { name: "utilisation", help: "how busy each device was at saturation", sections: utilisation::sections },
    Page { name: "stacks", help: "functions of the server by CPU time and by waiting", sections: stacks::sections },
    Page { name: "latency", help: "the percentile curve and the figures behind it", sections: latency::sections },
    Page { name: "traces", help: "the slowest requests with a trace context", sections: traces::sections },
    Page { name: "fits", help: "fitted curves with the intervals of their coefficients", sections: fits::sections },
    Page { name: "argument", help: "the reasoning of the verdict, step by step", sections: argument::sections },
    Page { name: "trust", help: "how far you can rely on the figures", sections: trust::sections },
    Page {
        name: "counters",
        help: "counters over time, and all of them over the window",
        sections: counters::sections,
    },
    Page { name: "plan", help: "the plan and the hosts", sections: plan::sections },
];

/// Returns the document, which consists of the sections of all pages.
pub(crate) fn document(run: &Run) -> Doc {
    let mut sections: Vec<Section> = PAGES.iter().flat_map(|page| (page.sections)(run)).collect();
    remove_dead_links(&mut sections);
    Doc {
        title: title(run),
        subtitle: subtitle(run),
        sections,
        title_in_answer: died(run).is_none() && answered::has_title(run),
    }
}

/// Removes links from summary lines to sections that the document does not have.
fn remove_dead_links(sections: &mut [Section]) {
    let ids: Vec<String> = sections.iter().map(|section| section.id.clone()).collect();
    let is_dead = |to: &str| !ids.iter().any(|id| id == to);
    for block in sections.iter_mut().flat_map(|section| &mut section.blocks) {
        if let Block::Answer(lines) = block {
            lines.iter_mut().filter(|line| is_dead(line.to)).for_each(|line| line.to = "");
        }
    }
}

/// Returns the title: the result in one line.
fn title(run: &Run) -> String {
    if run.trials.is_empty() {
        return "Nothing was measured".into();
    }
    if let Some(died) = died(run) {
        return died;
    }
    if let Some(name) = run.plan.experiment() {
        return title_of_experiment(run, name);
    }
    if let Some(title) = load::headline::title(run) {
        return format!("{title}{}", limited_by(run));
    }
    if let Some(capacity) = &run.findings.capacity {
        return title_of_capacity(run, capacity);
    }
    match run.trials.as_slice() {
        [one] if one.kind == run::TrialKind::Watched => {
            format!("Watched for {}, without a load of its own", span(one.measured.length_s))
        }
        [one] if one.latency_us.count == 0 && one.tally.completed > 0 => "Nothing completed in the window".into(),
        [one] if one.latency_us.count == 0 => "Nothing completed".into(),
        [one] => {
            let p99 = times::time_in_words(one.latency_us.figure(run::SummaryFigure::P99));
            format!("{} {} completed, p99 {p99}", number(one.rates.completed_rate), rate::unit(run))
        }
        many if run.plan.command.is_empty() => format!("{}: {} trials", command(run), many.len()),
        many => format!("{}: {} trials", run.plan.command, many.len()),
    }
}

/// Returns the title of an experiment: the bottleneck, and the number of checks that held.
fn title_of_experiment(run: &Run, name: &str) -> String {
    let found = &run.findings;
    let stops = match found.bottleneck.id.as_str() {
        "unknown" | "not-saturated" | "" => String::new(),
        _ if figures::judged_by_row(run) => String::new(),
        // The headline of an experiment names a bottleneck only if the verdict is at least likely.
        id if found.bottleneck.sureness >= Certainty::Likely => format!("limited by {id}; "),
        _ => String::new(),
    };
    match found.checks.len() {
        0 => format!("{name}: {stops}{}", counted(run.trials.len() as f64, "trial")),
        all => format!("{name}: {stops}{} of {all} checks held", found.checks.iter().filter(|c| c.pass).count()),
    }
}

/// Returns the title of a capacity search: the capacity and the bottleneck.
fn title_of_capacity(run: &Run, capacity: &Capacity) -> String {
    let found = &run.findings;
    let rate = format!("{} {}", rate::rate(capacity), rate::unit(run));
    let rate = match found.users.as_ref().and_then(|users| users.held) {
        Some(users) => format!("{} held ({rate})", counted(f64::from(users), streams::user_word(run))),
        None if rate::source(capacity).is_some() => format!("{rate} in a closed loop"),
        None => rate,
    };
    match found.bottleneck.id.as_str() {
        _ if !capacity.held && capacity.rate <= 0.0 => "No answer was good".into(),
        _ if capacity.at_least && capacity.rate <= 0.0 => "The rate is not known: too few answers came".into(),
        _ if !capacity.held => format!("The objective fails even at {rate}"),
        "not-saturated" => format!("At least {rate}: nothing was full"),
        "unknown" | "" if capacity.at_least => format!("At least {rate}; the bottleneck is unknown"),
        "unknown" | "" => format!("{rate}; the bottleneck is unknown"),
        id if capacity.at_least => format!("At least {rate}, {}limited by {id}", hedge(found.bottleneck.sureness)),
        id => format!("{rate}, {}limited by {id}", hedge(found.bottleneck.sureness)),
    }
}

/// Returns the end of a headline, which names the bottleneck; empty if no bottleneck is known.
fn limited_by(run: &Run) -> String {
    let found = &run.findings.bottleneck;
    match found.id.as_str() {
        "not-saturated" | "unknown" | "" => String::new(),
        id => format!("; {}limited by {id}", hedge(found.sureness)),
    }
}

/// Returns the word that precedes an uncertain verdict in a headline.
fn hedge(sureness: Certainty) -> &'static str {
    match sureness {
        Certainty::Sure | Certainty::Likely => "",
        Certainty::Possible => "probably ",
        Certainty::Guess | Certainty::Undecided => "perhaps ",
    }
}

/// Describes the failure that ended a run early, and the capacity measured until then.
fn died(run: &Run) -> Option<String> {
    let (trial, incident) = run.ended_by()?;
    let mut text = incident.text.clone();
    text.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
    let of = if run.trials.len() > 1 { format!(" ({})", trial.label) } else { String::new() };
    let before = run.findings.capacity.as_ref().filter(|c| c.held);
    let before = before.map_or(String::new(), |c| format!("; before that {} {}", number(c.rate), rate::unit(run)));
    Some(format!("{text}{of}{before}"))
}

fn subtitle(run: &Run) -> String {
    let mut parts = vec![command(run)];
    if !run.trials.is_empty() {
        let trials = if run.trials.len() == 1 { "trial" } else { "trials" };
        // A run that loadline made from another tool's counters has no duration to show.
        let took =
            if run.elapsed_s > 0.0 { format!(" in {}", quantity(run.elapsed_s, Unit::Seconds)) } else { String::new() };
        parts.push(format!("{} {trials}{took}", run.trials.len()));
    }
    if !run.started.is_empty() {
        parts.push(crate::words::minute(&run.started));
    }
    parts.join(" · ")
}

fn command(run: &Run) -> String {
    if run.command.is_empty() { "loadline".into() } else { run.command.clone() }
}
