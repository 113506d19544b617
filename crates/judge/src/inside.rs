//! Findings about a server that handles only a few requests at a time: the counts that explain this number, and advice.

use run::Counted;

use crate::Facts;
use crate::places::{self, Places};
use crate::serial;

/// Findings about the inside of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Inside {
    /// True if requests take turns on the CPU.
    pub(crate) serial: bool,
    /// Counts that match the number of requests at a time.
    pub(crate) counted: Vec<Counted>,
    /// Advice for these counts; `None` if nothing was found.
    pub(crate) advice: Option<Vec<String>>,
}

impl Inside {
    pub(crate) fn of(facts: &Facts<'_>) -> Self {
        let places = Places::of(facts);
        let serial = serial::is_serial(facts, places.as_ref());
        let counted: Vec<Counted> = places.iter().flat_map(Places::matching).cloned().collect();
        let many = places.as_ref().and_then(|p| Some(places::advice_too_many(p.too_many()?, p.places)));
        let advice = match (serial, counted.is_empty()) {
            (true, _) => Some(crate::serial_words::ADVICE.map(str::to_string).into()),
            (_, false) => Some(counted.iter().map(places::advice).collect()),
            _ => many.map(|many| vec![many]),
        };
        Self { serial, counted, advice }
    }
}
