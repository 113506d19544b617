//! Searches for the texts that responses must contain. Pieces of several bodies arrive in mixed order, so each request
//! in flight has its own search.

use memchr::memmem::Finder;

use crate::search::Search;

/// Searches, indexed by request ID. The table of searches stays small, because new requests get the IDs of ended
/// requests. Searches are never freed.
#[derive(Debug, Default)]
pub(crate) struct BodySearches(Vec<Search>);

impl BodySearches {
    /// Starts the search for a request whose response must contain a text.
    pub(crate) fn begin(&mut self, id: u16) {
        let id = usize::from(id);
        if self.0.len() <= id {
            self.0.resize_with(id + 1, Search::default);
        }
        self.0[id].clear();
    }

    /// Searches a piece of the response for the text.
    pub(crate) fn look(&mut self, id: u16, text: &Finder<'_>, piece: &[u8]) {
        self.0.get_mut(usize::from(id)).into_iter().for_each(|search| search.look(text, piece));
    }

    /// Returns true if the text was found.
    pub(crate) fn found(&self, id: u16) -> bool {
        self.0.get(usize::from(id)).is_some_and(Search::found)
    }
}
