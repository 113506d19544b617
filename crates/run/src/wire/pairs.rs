//! Writes maps with numeric keys as lists of pairs. A JSON key must be a string, and inside a tagged enum, serde cannot
//! turn such a string back into a number.

use std::collections::BTreeMap;

use serde::{Deserialize as _, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(map: &BTreeMap<u16, u64>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(map)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<u16, u64>, D::Error> {
    Ok(Vec::deserialize(from)?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use crate::{AgentReport, Tick, TickDetail};

    #[test]
    #[allow(clippy::unwrap_used)]
    fn statuses_of_a_tick_can_be_read_back() {
        let detail = TickDetail { unexpected_statuses: [(404, 2), (429, 7)].into(), ..TickDetail::default() };
        let tick = Tick { detail: Some(Box::new(detail)), ..Tick::default() };
        let line = serde_json::to_string(&AgentReport::Tick(tick.clone())).unwrap();
        assert_eq!(serde_json::from_str::<AgentReport>(&line).unwrap(), AgentReport::Tick(tick));
    }
}
