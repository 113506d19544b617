//! The texts that responses must hold, looked for in bodies whose pieces come mixed: one search a request in flight.

use memchr::memmem::Finder;

use crate::search::Search;

/// By the name of the request, which is one of few: a name is given again once its request has ended. The memory is kept.
#[derive(Debug, Default)]
pub(super) struct Looking(Vec<Search>);

impl Looking {
    /// A request is sent whose response must hold a text.
    pub(super) fn begin(&mut self, id: u16) {
        let id = usize::from(id);
        if self.0.len() <= id {
            self.0.resize_with(id + 1, Search::default);
        }
        self.0[id].clear();
    }

    /// A piece of the response.
    pub(super) fn look(&mut self, id: u16, text: &Finder<'_>, piece: &[u8]) {
        self.0.get_mut(usize::from(id)).into_iter().for_each(|search| search.look(text, piece));
    }

    /// Whether it was there.
    pub(super) fn found(&self, id: u16) -> bool {
        self.0.get(usize::from(id)).is_some_and(Search::found)
    }
}
