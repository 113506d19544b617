//! Names and columns of the instances (such as disks or CPUs) of one source. Finding the columns of a known instance
//! allocates no memory.

use crate::column_writer::{ColumnWriter, Slots};
use crate::text;

/// Instances of one source, each with the counters in `ids`.
#[derive(Debug)]
pub(crate) struct Family {
    ids: &'static [&'static str],
    quiet: bool,
    most: usize,
    rows: Vec<(Vec<u8>, Slots)>,
    /// Index in `rows` of the instance that is expected next. A file lists its instances in the same order at each
    /// sample.
    next: usize,
}

impl Family {
    pub(crate) const fn new(ids: &'static [&'static str]) -> Self {
        Self { ids, quiet: false, most: 4096, rows: Vec::new(), next: 0 }
    }

    /// Makes the recording leave out instances whose columns contain only zeros.
    pub(crate) const fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Limits the number of instances. For each further instance, the recording has only the reason why the instance is
    /// absent.
    pub(crate) const fn at_most(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    pub(crate) const fn ids(&self) -> &'static [&'static str] {
        self.ids
    }

    /// Returns the columns of the instance `name`, and opens them if the name is new. Returns `None` for a new name
    /// beyond the limit.
    pub(crate) fn slots(&mut self, writer: &mut ColumnWriter, name: &[u8]) -> Option<Slots> {
        let holds = |row: &&(Vec<u8>, Slots)| row.0 == name;
        let at = match self.rows.get(self.next).filter(holds) {
            Some(_) => self.next,
            None => match self.rows.iter().position(|row| row.0 == name) {
                Some(at) => at,
                None if self.rows.len() < self.most => self.add(writer, name),
                None => return self.refuse(writer, name),
            },
        };
        self.next = at + 1;
        Some(self.rows[at].1)
    }

    fn refuse(&self, writer: &mut ColumnWriter, name: &[u8]) -> Option<Slots> {
        let reason = format_args!("only the first {} of its kind are recorded", self.most);
        writer.absent_all(self.ids, &text::name(name), reason);
        None
    }

    fn add(&mut self, writer: &mut ColumnWriter, name: &[u8]) -> usize {
        let text = text::name(name);
        let slots = if self.quiet { writer.open_quiet(self.ids, &text) } else { writer.open(self.ids, &text) };
        self.rows.push((name.to_vec(), slots));
        self.rows.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_keep_their_columns_in_any_order_up_to_the_limit() {
        let mut writer = ColumnWriter::default();
        let mut family = Family::new(&["disk.reads", "disk.writes"]).at_most(2);
        writer.begin(0.0);
        let a = family.slots(&mut writer, b"a").unwrap();
        let b = family.slots(&mut writer, b"b").unwrap();
        assert_ne!(a, b);
        assert_eq!(family.slots(&mut writer, b"b"), Some(b));
        assert_eq!(family.slots(&mut writer, b"a"), Some(a));
        assert_eq!(family.slots(&mut writer, b"c"), None);
        assert!(writer.take().absent.iter().any(|x| x.instance == "c"));
    }
}
