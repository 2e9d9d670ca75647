//! An ordered list of activity ids that is still fast with ten thousand entries.

use std::sync::Arc;

/// Activity ids in order, stored as text with one id per line, so that appending and searching need no allocation per
/// entry. Order and repeats are significant (FlowRun). An entry is any text without a line break.
#[derive(Debug, Clone, Default)]
pub struct IdList {
    /// The entries that were read together. Shared by all copies, because a state is copied several times during a
    /// commit.
    read: Arc<String>,
    /// The entries that were added since.
    added: String,
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
    /// If `id` contains a line break. Documents with such ids are refused before.
    pub fn push(&mut self, id: &str) {
        assert!(!id.contains('\n'), "BUG: a line break in an activity id");
        self.added.push_str(id);
        self.added.push('\n');
        self.len += 1;
    }

    /// Whether `id` is in the list.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        // Searching the text for a whole line is many times faster than comparing line by line.
        let line = format!("\n{id}\n");
        let is_in = |lines: &str| lines.starts_with(&line[1..]) || lines.contains(&line);
        // A text with a line break would be found across two entries.
        !id.contains('\n') && (is_in(&self.added) || is_in(&self.read))
    }

    /// The entries after those of `other`; `None` if the list does not begin with all of them.
    pub fn after<'a>(&'a self, other: &Self) -> Option<impl Iterator<Item = &'a str>> {
        // Copies of one state share what was read, and most questions are about them.
        let begins = if Arc::ptr_eq(&self.read, &other.read) {
            self.added.starts_with(&other.added)
        } else {
            other.iter().eq(self.iter().take(other.len))
        };
        if !begins {
            return None;
        }
        let len = other.read.len() + other.added.len();
        let (read, added) = match self.read.get(len..) {
            Some(rest) => (rest, self.added.as_str()),
            None => ("", &self.added[len - self.read.len()..]),
        };
        Some(read.split_terminator('\n').chain(added.split_terminator('\n')))
    }

    /// Makes a list from text with `len` entries, each followed by a line break.
    #[must_use]
    pub fn from_lines(lines: String, len: usize) -> Self {
        Self { read: Arc::new(lines), added: String::new(), len }
    }

    /// Removes every entry equal to `id`.
    pub fn remove(&mut self, id: &str) {
        // Most often it is not there, and a new list costs a copy of all entries.
        if self.contains(id) {
            *self = self.iter().filter(|entry| *entry != id).collect();
        }
    }

    /// The entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &str> {
        // Not `lines()`, which would also remove a trailing carriage return.
        self.read.split_terminator('\n').chain(self.added.split_terminator('\n'))
    }
}

impl PartialEq for IdList {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.after(other).is_some()
    }
}

impl Eq for IdList {}

impl<'a> FromIterator<&'a str> for IdList {
    fn from_iter<I: IntoIterator<Item = &'a str>>(ids: I) -> Self {
        let mut list = Self::default();
        for id in ids {
            list.push(id);
        }
        Self::from_lines(list.added, list.len)
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
        // The list is kept as lines.
        if ids.iter().any(|id| id.contains('\n')) {
            return Err(serde::de::Error::custom("an activity id contains a line break"));
        }
        Ok(ids.iter().map(String::as_str).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same entries, once read and once with some of them added.
    fn in_two_parts(ids: &[&str], read: usize) -> IdList {
        let mut list: IdList = ids[..read].iter().copied().collect();
        ids[read..].iter().for_each(|id| list.push(id));
        list
    }

    #[test]
    fn a_list_says_the_same_whichever_entries_were_read_and_which_added() {
        let ids = ["a", "b", "a", "", "c"];
        for (one, other) in (0..=5).flat_map(|one| (0..=5).map(move |other| (one, other))) {
            let (one, other) = (in_two_parts(&ids, one), in_two_parts(&ids, other));
            assert_eq!(one, other);
            assert_eq!(one.iter().collect::<Vec<_>>(), ids);
            for (id, known) in [("a", true), ("b", true), ("", true), ("c", true), ("d", false), ("a\nb", false)] {
                assert_eq!(one.contains(id), known, "{id:?}");
            }
            let mut fewer = one.clone();
            fewer.remove("a");
            assert_eq!(fewer, in_two_parts(&["b", "", "c"], 1));
        }
    }

    #[test]
    fn what_comes_after_another_list_is_told_only_when_it_begins_with_that_list() {
        let ids = ["a", "b", "c"];
        for (whole, part) in (0..=3).flat_map(|whole| (0..=2).map(move |part| (whole, part))) {
            let (list, begin) = (in_two_parts(&ids, whole), in_two_parts(&ids[..2], part));
            assert_eq!(list.after(&begin).unwrap().collect::<Vec<_>>(), ["c"]);
            assert!(begin.after(&list).is_none());
            assert!(list.after(&in_two_parts(&["a", "x"], part)).is_none());
        }
        let mut grown = in_two_parts(&ids, 3);
        let begin = grown.clone();
        grown.push("d");
        assert_eq!(grown.after(&begin).unwrap().collect::<Vec<_>>(), ["d"]);
        assert!(begin.after(&grown).is_none());
        assert_ne!(grown, begin);
    }
}
