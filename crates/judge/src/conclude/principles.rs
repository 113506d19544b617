//! The ten rules of R. Blake, *Optimizing Windows NT* (1993), in our own words. `loadline explain rule-1` to `loadline
//! explain rule-10` print one rule each, and say how loadline follows this rule.
//!
//! In our copy of the book, the boxes with the wording of the rules are missing. The content of the rules therefore
//! comes from the book's text around each box. The content of rule 4 is unknown, and the page of rule 4 says so.

/// One principle of the method: a rule of Blake, in our words.
#[derive(Clone, Copy, Debug)]
pub struct Principle {
    /// Identifier, from `rule-1` to `rule-10`.
    pub id: &'static str,
    /// The principle in a few words.
    pub title: &'static str,
    /// Meaning of the principle.
    pub text: &'static str,
    /// Behaviour of loadline that follows from the principle.
    pub does: &'static str,
}

/// All principles of the method.
pub const PRINCIPLES: &[Principle] = &[
    Principle {
        id: "rule-1",
        title: "Change one thing at a time",
        text: "If two things changed between two measurements, nobody can say which of them made the difference.",
        does: "A sweep changes the number of clients and nothing else; a search changes the offered rate and nothing else. \
               The plan is kept with the run, so two runs can be compared setting by setting. Experiments name the one axis \
               that they vary (`key` of a trial).",
    },
    Principle {
        id: "rule-2",
        title: "Behind every bottleneck there is another",
        text: "Taking one bottleneck away raises the rate only as far as the next one allows, and that may be very near.",
        does: "Each verdict names the next bottleneck with the rate at which it would bind: the device with the largest \
               demand after it, at one over that demand.",
    },
    Principle {
        id: "rule-3",
        title: "The bottleneck can move during a run",
        text: "A device that is full now may be idle a moment later. The demand over the whole work decides, not a \
               single moment.",
        does: "Costs and demands are taken over the whole measured window, and the window begins only when the rate is \
               steady. The series stay in the run, so that a bottleneck that moved can be seen.",
    },
    Principle {
        id: "rule-4",
        title: "(not known to us)",
        text: "Our copy of the text does not have this rule, and we did not invent one. At this point the chapter \
               itself insists that the bottleneck is the device with the largest demand a \
               request, even if it is far from 100 % busy, because with few clients the devices take turns and each is idle \
               while another works.",
        does: "Demands are listed by size in the argument of every verdict, with the share of the time that each device was \
               in use beside it.",
    },
    Principle {
        id: "rule-5",
        title: "Measuring disturbs what is measured",
        text: "Reading counters takes CPU time, logging takes disk and network, and both are part of the load.",
        does: "The probe measures its own CPU time (`probe.cpu`) and its late samples; the report says its share, and \
               warns above 1 % of a CPU. Counters are read on their own host, and nothing is sent while a \
               window is measured. The rates at rest are measured first.",
    },
    Principle {
        id: "rule-6",
        title: "Behind a busy CPU, count who wants it",
        text: "If one thread wants a full CPU, a faster CPU helps; if many do, more CPUs help.",
        does: "`server-single-thread` and `server-cpu` are different verdicts. Both list the busiest threads with their share \
               of a CPU and the time that each was ready and had none.",
    },
    Principle {
        id: "rule-7",
        title: "Use ratios of counters, not raw rates",
        text: "A thousand interrupts per second mean nothing by themselves; four per request do. Ratios can be compared between \
               loads, machines and years.",
        does: "Everything in the table of costs is a counter divided by completed requests, on each side by itself. Raw rates \
               stay in the run for whoever wants them.",
    },
    Principle {
        id: "rule-8",
        title: "The queue depends on the pattern of arrivals, not only on utilization",
        text: "With constant arrivals and constant service a device can be nearly 100 % busy without a queue. With random \
               arrivals and service there are two in the system at 66.7 % already (rho / (1 - rho)). If service times have \
               two very different lengths, a queue forms even earlier.",
        does: "Arrivals are constant or Poisson as asked for, and the run says which. Utilization alone \
               never counts as saturation: a rule also wants a rate that has stopped growing. A wire counts as full from 90 % on, or from \
               66.7 % on while retransmissions or deferrals rise.",
    },
    Principle {
        id: "rule-9",
        title: "Ignore differences that are smaller than the error of reading",
        text: "Counters are read one object after the other while the system runs, so two that should be equal differ a \
               little: 60.194 interrupts against 60.204 transfers is the same number.",
        does: "Two figures of the same thing agree within 0.5 %. `loadline judge counters.csv` marks what differs by more. \
               Where both ends count the same thing, the report compares the counts.",
    },
    Principle {
        id: "rule-10",
        title: "Averages show the outline and hide the detail",
        text: "A mean write of 46,080 bytes may be many writes of 40 KB and a few of 64 KB, and the few may be the trouble.",
        does: "No mean is kept alone: beside it stand the series over the window and the histogram (p50, p90, p99, p99.9 and \
               the longest), and histograms are merged, never averaged.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_principles_each_say_what_is_done() {
        assert_eq!(PRINCIPLES.len(), 10);
        for (i, p) in PRINCIPLES.iter().enumerate() {
            assert_eq!(p.id, format!("rule-{}", i + 1));
            assert!(!p.title.is_empty() && p.text.len() > 60 && p.does.len() > 60);
        }
    }
}
