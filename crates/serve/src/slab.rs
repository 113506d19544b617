//! Connections of one thread under small numbers that pollers carry as tokens.

/// Values under numbers; the number of a removed one is used again.
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.places[at as usize] = Some(value);
            return at;
        }
        self.places.push(Some(value));
        (self.places.len() - 1) as u32
    }

    #[inline]
    pub(crate) fn get(&mut self, at: u32) -> Option<&mut T> {
        self.places.get_mut(at as usize).and_then(Option::as_mut)
    }

    pub(crate) fn remove(&mut self, at: u32) -> Option<T> {
        let value = self.places.get_mut(at as usize)?.take()?;
        self.free.push(at);
        Some(value)
    }

    /// All values with their numbers, lowest first.
    pub(crate) fn iter(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        self.places.iter_mut().enumerate().filter_map(|(at, v)| v.as_mut().map(|v| (at as u32, v)))
    }
}
