//! Counters collected by other tools, as a CSV file, and all figures that can be derived from them; printed by
//! `loadline judge counters.csv`.
//!
//! The file has one line per case (an operating point), in the order in which load was added:
//!
//! ```text
//! case,clients,reads_per_s,cpu_percent,process_percent,interrupts_per_s,interrupts_at_rest_per_s,printed.cpu_us
//! one client,1,195.55,7.95,3.55,795.779,106,406.5
//! two clients,2,364.41,26.78,15.755,1315.5,106,734
//! ```
//!
//! Each column is an input of at least one row of [`QUANTITIES`]. An empty cell means that the value is unknown. Lines
//! that begin with `#` are comments. A column `printed.NAME` contains the value that a book or paper prints for a
//! quantity. The report shows the recomputed value next to the printed value. The report marks the row if the
//! recomputed and the printed value differ by more than 0.5 % (`loadline explain rule-9`).

mod as_run;
mod cases;
mod quantities;

pub use as_run::as_run;
pub use cases::{Case, CsvError, MAX_BYTES, MAX_CASES, read};
pub use quantities::{QUANTITIES, Quantity, Values, columns};

use crate::number::{positive, ratio};

/// Maximum relative difference at which two values of one quantity agree.
pub const TOLERANCE: f64 = 0.005;

/// A figure derived from collected counters.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// Name of the case.
    pub case: String,
    /// Quantity that the figure belongs to: a row of [`QUANTITIES`].
    pub quantity: &'static Quantity,
    /// Value of the quantity, recomputed from the collected figures.
    pub value: f64,
    /// Value printed in the file, if any.
    pub printed: Option<f64>,
}

impl Derived {
    /// Returns true if the printed value agrees with the recomputed value. Returns `None` without a printed value.
    pub fn agrees(&self) -> Option<bool> {
        self.printed.map(|p| agree(self.value, p))
    }

    /// Returns an explanation if the book that printed this figure is known to contain an error here.
    pub fn source_error(&self) -> Option<&'static str> {
        let known = SOURCE_ERRORS.iter().find(|(id, p, _)| *id == self.quantity.id && self.printed == Some(*p));
        known.map(|(_, _, why)| *why)
    }
}

/// Figures printed in the source (R. Blake's book) that contradict its own inputs, even if the difference is within the
/// tolerance.
const SOURCE_ERRORS: &[(&str, f64, &str)] = &[
    ("packet_bytes", 1053.46, "the source's inputs give 1055.59"),
    ("interrupt_us_per_read", 260.0, "a product of a net and a gross mean; dividing directly gives 225.0"),
    ("rate_growth_percent", 20.0, "the source's inputs give 29.9 %"),
    ("response_growth_us", 1480.0, "the source's inputs give 1464 us"),
    ("response_growth_us", 360.0, "follows from a response time of 5.47 ms; its inputs give 5.488 ms"),
    ("response_ms", 5.47, "the source's inputs give 5.488 ms, and its formula is misprinted"),
    ("cpu_us", 460.5, "digits transposed: 406.5"),
    ("dropped_syn_us", 325.0, "the end points of the source's curve give 212.6 us"),
];

/// Returns true if two values of one quantity agree within [`TOLERANCE`].
pub fn agree(a: f64, b: f64) -> bool {
    a == b || ratio((a - b).abs(), a.abs().max(b.abs())).is_some_and(|d| d <= TOLERANCE)
}

/// Derives all figures from the cases, case by case, each in the order of [`QUANTITIES`]. Inputs named `before.…` are
/// taken from the preceding case. A derived figure can be the input of a later row.
pub fn derive(cases: &[Case]) -> Vec<Derived> {
    let mut out = Vec::new();
    let mut before: Values = Values::new();
    for case in cases {
        let mut known = case.values.clone();
        known.extend(before.iter().map(|(name, v)| (format!("before.{name}"), *v)));
        if let Some(rate) = rate(&case.values) {
            known.entry("reads_per_s".into()).or_insert(rate);
        }
        for quantity in QUANTITIES {
            if let Some(value) = quantity.of(&known) {
                let printed = case.printed.get(quantity.id).copied();
                known.entry(quantity.id.to_string()).or_insert(value);
                out.push(Derived { case: case.name.clone(), quantity, value, printed });
            }
        }
        before = known.into_iter().filter(|(name, _)| !name.starts_with("before.")).collect();
    }
    out
}

/// Returns the rate of a case: as collected, or N / R (clients divided by response time) if only a response time is
/// given.
fn rate(values: &Values) -> Option<f64> {
    let value = |name: &str| values.get(name).copied().and_then(positive);
    value("reads_per_s").or_else(|| ratio(1e3 * value("clients").unwrap_or(1.0), value("response_given_ms")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: &str = include_str!("../../data/adding_clients.csv");
    const VECTORS: &str = include_str!("../../data/vectors.csv");

    /// Each of the 53 test vectors has a number, a quantity, its inputs, the recomputed value, the printed value, and
    /// whether both agree.
    #[test]
    fn all_vectors_come_out_and_the_texts_own_errors_are_flagged() {
        let mut seen = Vec::new();
        for line in VECTORS.lines().skip(1).filter(|l| !l.is_empty()) {
            let cells: Vec<&str> = line.splitn(7, ',').collect();
            let [id, quantity, inputs, recomputed, printed, agrees, note] = cells[..] else { panic!("{line}") };
            let quantity = QUANTITIES.iter().find(|q| q.id == quantity).unwrap_or_else(|| panic!("{line}"));
            let inputs: Values = inputs
                .split(';')
                .map(|pair| pair.split_once('=').unwrap_or_else(|| panic!("{line}")))
                .map(|(name, value)| (name.to_string(), value.parse().unwrap()))
                .collect();
            let value = quantity.of(&inputs).unwrap_or_else(|| panic!("{line}"));
            let recomputed: f64 = recomputed.parse().unwrap();
            assert!((value / recomputed - 1.0).abs() < 2e-5, "{line}: {value}");
            let derived = Derived { case: id.into(), quantity, value, printed: printed.parse().ok() };
            assert_eq!(derived.agrees().map_or("", |a| if a { "yes" } else { "no" }), agrees, "{line}: {value}");
            let told = derived.source_error().is_some();
            assert_eq!(told, note.contains("of the source"), "{line}: {:?} {:?}", derived.quantity.id, derived.printed);
            seen.push(id.parse::<u32>().unwrap());
        }
        assert_eq!(seen, (1..=53).collect::<Vec<_>>());
    }

    #[test]
    fn one_to_five_clients_end_at_the_medium() {
        let cases = read(SEED).unwrap();
        let derived = derive(&cases);
        let of = |case: &str, id: &str| {
            derived
                .iter()
                .find(|d| d.case == case && d.quantity.id == id)
                .unwrap_or_else(|| panic!("{case} {id}"))
                .value
        };
        assert!((of("5 clients", "response_ms") - 9.722_86).abs() < 1e-4);
        assert!((of("2 clients", "rate_growth_percent") - 86.35).abs() < 0.01);
        assert!((of("2 clients", "cpu_us") - 734.887).abs() < 1e-2);
        assert!((of("4 clients", "response_growth_us") - 1464.36).abs() < 0.1);
        assert!((of("5 clients", "response_growth_us") - 1921.86).abs() < 0.1);
        let mut run = as_run(&cases);
        crate::judge(&mut run);
        let b = &run.findings.bottleneck;
        assert_eq!(b.id, "network-medium", "{b:#?}");
        assert_eq!(run.findings.capacity, None, "no response time was collected, and no failure");
        assert!(run.trials.iter().all(|t| t.latency_us == run::Summary::default()));
        assert!(!run.findings.trust.held.iter().any(|h| h.contains("Little")), "a law is not held against itself");
        assert!(run.findings.outcomes.iter().all(|o| o.failed_share.is_none()), "no failure was counted");
        let ruled = ["tcp-delayed-ack", "server-rate-limit"];
        assert!(b.ruled_out.iter().all(|r| !ruled.contains(&r.id.as_str())), "{:#?}", b.ruled_out);
        let knee = run.findings.knee.as_ref().unwrap();
        assert!((knee.concurrency - 2.6298).abs() < 1e-3);
    }

    #[test]
    fn agreement_is_half_a_per_cent() {
        assert!(agree(1000.0, 1004.9) && !agree(1000.0, 1005.1) && agree(0.0, 0.0) && !agree(0.0, 1.0));
    }
}
