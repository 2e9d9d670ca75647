//! Profiles in the files that cloud tools share: `~/.aws/config` and `~/.aws/credentials`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::host::CloudEnv;

/// The profile that counts where none is named.
const DEFAULT: &str = "default";

/// The settings of a profile, from both files. What they hold is not shown.
#[derive(Default)]
pub(super) struct Profile {
    pub(super) name: String,
    settings: BTreeMap<String, String>,
}

impl Profile {
    /// The profile that `AWS_PROFILE` names, otherwise the default one, which may be missing.
    pub(super) fn read(env: &CloudEnv) -> Result<Self, String> {
        let name = env.get("AWS_PROFILE").unwrap_or(DEFAULT);
        let section = if name == DEFAULT { DEFAULT.to_owned() } else { format!("profile {name}") };
        let mut settings = BTreeMap::new();
        // Keys in the file of credentials count more.
        for (variable, usual, section) in
            [("AWS_CONFIG_FILE", ".aws/config", &*section), ("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", name)]
        {
            let Some(path) = env.get(variable).map(PathBuf::from).or_else(|| env.at_home(usual)) else { continue };
            let text = CloudEnv::file(&path).map_err(|why| format!("cannot read {why}"))?;
            settings.extend(settings_in(&text.unwrap_or_default(), section));
        }
        if settings.is_empty() && name != DEFAULT {
            return Err(format!("AWS_PROFILE is {name:?}, and there is no such profile"));
        }
        Ok(Self { name: name.to_owned(), settings })
    }

    /// A setting, if it is there and not empty.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.settings.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// The settings in a section of a file.
fn settings_in(text: &str, section: &str) -> Vec<(String, String)> {
    let (mut found, mut is_in) = (Vec::new(), false);
    for line in text.lines() {
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(head) = line.trim_end().strip_prefix('[') {
            let head = head.split(']').next().unwrap_or_default();
            is_in = head.split_whitespace().eq(section.split_whitespace());
            continue;
        }
        // What is indented belongs to the setting before.
        if !is_in || line.starts_with(char::is_whitespace) {
            continue;
        }
        if let Some((key, value)) = line.split_once('=') {
            found.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_its_own_settings_alone() {
        let text = "# x\n[default]\nregion = here\n[profile  a]\nRegion=there\ns3 =\n  region = nested\n\n; y\nkey = a=b \n[b]\nregion=c\n";
        let of = |section| settings_in(text, section);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(of("default"), [pair("region", "here")]);
        assert_eq!(of("profile a"), [pair("region", "there"), pair("s3", ""), pair("key", "a=b")]);
        assert_eq!(of("none"), []);
    }
}
