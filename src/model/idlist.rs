//! An ordered list of activity ids that stays cheap at ten thousand entries.

use std::sync::Arc;

/// Activity ids in order, kept as one text with a line each: appending and searching allocate nothing per entry.
/// Order and repeats are significant (seed 003). An entry is any text without a line break.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdList {
    /// Shared between copies until one of them changes: a state is copied several times on its way to the disk.
    lines: Arc<String>,
    len: usize,
}

impl IdList {
    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `id`.
    ///
    /// # Panics
    /// When `id` contains a line break: documents with such ids are refused before they get here.
    pub fn push(&mut self, id: &str) {
        assert!(!id.contains('\n'), "BUG: a line break in an activity id");
        let lines = Arc::make_mut(&mut self.lines);
        lines.push_str(id);
        lines.push('\n');
        self.len += 1;
    }

    /// Whether `id` is in the list.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        // Searching the text for the whole line is many times faster than looking at line after line.
        let line = format!("\n{id}\n");
        !id.contains('\n') && (self.lines.starts_with(&line[1..]) || self.lines.contains(&line))
    }

    /// Whether the list begins with all entries of `other`.
    #[must_use]
    pub fn starts_with(&self, other: &Self) -> bool {
        self.lines.starts_with(other.lines.as_str())
    }

    /// The entries behind those of `other`, with which the list begins.
    pub fn after<'a>(&'a self, other: &Self) -> impl Iterator<Item = &'a str> {
        self.lines.get(other.lines.len()..).unwrap_or_default().split_terminator('\n')
    }

    /// From `len` entries, each ended by a line break.
    #[must_use]
    pub fn from_lines(lines: String, len: usize) -> Self {
        Self { lines: Arc::new(lines), len }
    }

    /// Removes every entry equal to `id`.
    pub fn remove(&mut self, id: &str) {
        if self.contains(id) {
            *self = self.iter().filter(|entry| *entry != id).collect();
        }
    }

    /// The entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &str> {
        // Not `lines()`: it would also cut a trailing carriage return.
        self.lines.split_terminator('\n')
    }
}

impl<'a> FromIterator<&'a str> for IdList {
    fn from_iter<I: IntoIterator<Item = &'a str>>(ids: I) -> Self {
        let mut list = Self::default();
        ids.into_iter().for_each(|id| list.push(id));
        list
    }
}

impl serde::Serialize for IdList {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de> serde::Deserialize<'de> for IdList {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let ids = Option::<Vec<String>>::deserialize(from)?.unwrap_or_default();
        if ids.iter().any(|id| id.contains('\n')) {
            return Err(serde::de::Error::custom("an activity id contains a line break"));
        }
        Ok(ids.iter().map(String::as_str).collect())
    }
}
