//! Table of a thread's connections. Event loops use the indices as tokens.

/// Table of values that are found by their index. The index of a removed value is used again.
pub(crate) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.slots[at as usize] = Some(value);
            return at;
        }
        self.slots.push(Some(value));
        (self.slots.len() - 1) as u32
    }

    #[inline]
    pub(crate) fn get(&mut self, at: u32) -> Option<&mut T> {
        self.slots.get_mut(at as usize).and_then(Option::as_mut)
    }

    pub(crate) fn remove(&mut self, at: u32) -> Option<T> {
        let value = self.slots.get_mut(at as usize)?.take()?;
        self.free.push(at);
        Some(value)
    }

    /// Returns all values with their indices, in the order of the indices.
    pub(crate) fn iter(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        self.slots.iter_mut().enumerate().filter_map(|(at, v)| v.as_mut().map(|v| (at as u32, v)))
    }
}
