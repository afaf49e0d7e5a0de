//! Callouts under way. They are few, and each type in a B-tree is 7 KB of the module.

/// What each was for, by its token.
#[derive(Debug)]
pub(crate) struct Calls<T>(Vec<(u32, T)>);

impl<T> Default for Calls<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Calls<T> {
    pub(crate) fn insert(&mut self, token: u32, call: T) {
        self.0.push((token, call));
    }

    /// Takes out what a callout was for that has ended; `None` where it was none of these.
    pub(crate) fn remove(&mut self, token: u32) -> Option<T> {
        let place = self.0.iter().position(|(own, _)| *own == token)?;
        Some(self.0.swap_remove(place).1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
