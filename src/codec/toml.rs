//! Looks into a TOML text that another program owns. flow writes no TOML.

use toml_edit::{Document, TableLike};

use crate::codec::place::Place;

/// A TOML text.
#[derive(Debug)]
pub(crate) struct TomlText(Document<String>);

impl TomlText {
    /// Reads `text`; `None` if it is not TOML.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(Self(Document::parse(text.to_owned()).ok()?))
    }

    /// The keys of the table at `path`, in order; empty if there is none.
    pub(crate) fn keys(&self, path: &[&str]) -> Vec<String> {
        let Some(table) = self.table(path) else { return Vec::new() };
        table.iter().map(|(key, _)| key.to_owned()).collect()
    }

    /// The yes or no at `path`.
    pub(crate) fn flag(&self, path: &[&str]) -> Option<bool> {
        let (key, tables) = path.split_last()?;
        self.table(tables)?.get(key)?.as_bool()
    }

    /// Where the key at `path` is.
    pub(crate) fn place(&self, path: &[&str]) -> Option<Place> {
        let (key, tables) = path.split_last()?;
        let (key, item) = self.table(tables)?.get_key_value(key)?;
        let at = key.span().or_else(|| item.span())?.start;
        Some(Place::of(self.0.raw(), at))
    }

    fn table(&self, path: &[&str]) -> Option<&dyn TableLike> {
        let root: &dyn TableLike = self.0.as_table();
        path.iter().try_fold(root, |table, key| table.get(key)?.as_table_like())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_however_they_are_written() {
        let text = "note = \"\"\"\n[hooks]\n\"\"\"\n[features]\nhooks = false\n[hooks.state.\"a:b\"]\nx = 1\n\
                    [[hooks.Stop]]\n[plugins.\"flow@flow\"]\nenabled = true\n";
        let toml = TomlText::parse(text).unwrap();
        assert_eq!(toml.keys(&["hooks"]), ["state", "Stop"]);
        assert_eq!(toml.keys(&["hooks", "state"]), ["a:b"]);
        assert_eq!(toml.flag(&["features", "hooks"]), Some(false));
        assert_eq!(toml.flag(&["plugins", "flow@flow", "enabled"]), Some(true));
        assert_eq!(toml.place(&["hooks", "Stop"]), Some(Place { line: 8, column: 9 }));
        assert!(TomlText::parse("[").is_none());
    }
}
