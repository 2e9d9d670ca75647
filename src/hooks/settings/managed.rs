//! What an administrator's settings say about hooks.

use std::path::Path;

use serde_json::Value;

use crate::codec::{TomlText, parse_json};

/// Why hooks do not run: the code of a finding, and a sentence. `None` if these settings have nothing against them, or
/// cannot be read.
pub(super) fn verdict(path: &Path, text: &str) -> Option<(&'static str, &'static str)> {
    if path.extension().is_some_and(|extension| extension == "toml") {
        let config = TomlText::parse(text)?;
        if config.flag(&["features", "hooks"]) == Some(false) {
            return Some(("hooks_disabled", "the administrator's `hooks = false` turns all hooks off"));
        }
        if config.flag(&["allow_managed_hooks_only"]) == Some(true) {
            return Some(("managed_hooks", "the administrator's `allow_managed_hooks_only` turns these hooks off"));
        }
        return None;
    }
    let settings = parse_json(text.trim_start_matches('\u{feff}')).ok()?;
    if settings["disableAllHooks"] == true || settings.pointer("/hooksConfig/enabled") == Some(&Value::Bool(false)) {
        return Some(("hooks_disabled", "the administrator's settings turn all hooks off"));
    }
    if settings["allowManagedHooksOnly"] == true {
        return Some(("managed_hooks", "the administrator's \"allowManagedHooksOnly\" turns these hooks off"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_administrator_decides_about_hooks_is_told() {
        let told =
            |path: &str, text: &str| verdict(Path::new(path), text).map(|(code, message)| format!("{code} {message}"));
        for (path, text, wanted) in [
            ("a.json", "{}", None),
            ("a.json", "{", None),
            ("a.json", r#"{"disableAllHooks": false, "allowManagedHooksOnly": false}"#, None),
            (
                "a.json",
                r#"{"disableAllHooks": true}"#,
                Some("hooks_disabled the administrator's settings turn all hooks off"),
            ),
            (
                "a.json",
                r#"{"hooksConfig": {"enabled": false}}"#,
                Some("hooks_disabled the administrator's settings turn all hooks off"),
            ),
            (
                "a.json",
                r#"{"allowManagedHooksOnly": true}"#,
                Some("managed_hooks the administrator's \"allowManagedHooksOnly\" turns these hooks off"),
            ),
            ("a.toml", "", None),
            ("a.toml", "[features]\nhooks = true\n", None),
            (
                "a.toml",
                "[features]\nhooks = false\n",
                Some("hooks_disabled the administrator's `hooks = false` turns all hooks off"),
            ),
            (
                "a.toml",
                "allow_managed_hooks_only = true\n",
                Some("managed_hooks the administrator's `allow_managed_hooks_only` turns these hooks off"),
            ),
        ] {
            assert_eq!(told(path, text).as_deref(), wanted, "{path} {text}");
        }
    }
}
