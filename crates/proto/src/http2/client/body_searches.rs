//! Searches for the texts that responses must contain. Pieces of several bodies arrive in turn, so that each request in
//! flight has its own search.

use memchr::memmem::Finder;

use crate::search::Search;

/// Searches, by the IDs of requests. The table has few IDs, because an ID is used again when its request has ended. The
/// memory is kept.
#[derive(Debug, Default)]
pub(super) struct BodySearches(Vec<Search>);

impl BodySearches {
    /// Starts the search for a request whose response must contain a text.
    pub(super) fn begin(&mut self, id: u16) {
        let id = usize::from(id);
        if self.0.len() <= id {
            self.0.resize_with(id + 1, Search::default);
        }
        self.0[id].clear();
    }

    /// Searches a piece of the response.
    pub(super) fn look(&mut self, id: u16, text: &Finder<'_>, piece: &[u8]) {
        self.0.get_mut(usize::from(id)).into_iter().for_each(|search| search.look(text, piece));
    }

    /// Returns true if the text was found.
    pub(super) fn found(&self, id: u16) -> bool {
        self.0.get(usize::from(id)).is_some_and(Search::found)
    }
}
