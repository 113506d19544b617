//! Addresses to which short connections of unknown programs lead, and the choice of the addresses to search.

use std::collections::HashMap;

use run::Address;

/// Maximum number of addresses that are searched in one sample.
const MAX_SEARCHED: usize = 8;
/// Maximum number of samples in which an address is searched. Other programs may open short connections, too, and
/// searches for their addresses never succeed.
const MAX_SAMPLES: u32 = 32;

/// Addresses to which short connections of unknown programs lead.
#[derive(Default)]
pub(super) struct ShortConnections {
    /// Number of samples in which each address was searched.
    samples: HashMap<Address, u32>,
}

impl ShortConnections {
    /// Returns the addresses to search in this sample: the most frequent ones in `seen`.
    pub(super) fn next_search(&mut self, seen: impl Iterator<Item = Address>) -> Vec<Address> {
        let mut counts: HashMap<Address, usize> = HashMap::new();
        seen.for_each(|address| *counts.entry(address).or_default() += 1);
        counts.retain(|address, _| self.samples.get(address).is_none_or(|samples| *samples < MAX_SAMPLES));
        let mut found: Vec<(usize, Address)> = counts.into_iter().map(|(address, count)| (count, address)).collect();
        found.sort_by(|a, b| b.cmp(a));
        found.truncate(MAX_SEARCHED);
        for (_, address) in &found {
            *self.samples.entry(address.clone()).or_default() += 1;
        }
        found.into_iter().map(|(_, address)| address).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_searched_in_a_limited_number_of_samples() {
        let mut short = ShortConnections::default();
        let [often, rare] = ["127.0.0.1:1", "127.0.0.1:2"].map(|at| at.parse::<Address>().unwrap());
        let seen = [&rare, &often, &often].map(Clone::clone);
        for _ in 0..MAX_SAMPLES {
            assert_eq!(short.next_search(seen.clone().into_iter()), [often.clone(), rare.clone()]);
        }
        assert!(short.next_search(seen.into_iter()).is_empty());
    }
}
