//! Masks what looks like a secret in text that is kept.
//!
//! A known value is replaced wherever it stands; anything else by how it looks. What has no such looks, or was encoded or cut
//! into pieces by the program that wrote it, stays: see `docs/evidence.md`.

/// What stands in place of a secret.
const MASK: &[u8] = b"***";
/// The shortest value of a variable that is masked: shorter ones stand everywhere by chance.
const VALUE: usize = 6;
/// The shortest text that is masked behind a word for a secret.
const BEHIND_WORD: usize = 6;

/// What tokens begin with, and how many more characters they have at least.
const BEGINNINGS: [(&str, usize); 41] = [
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 30),
    ("glpat-", 18),
    ("gldt-", 18),
    ("glrt-", 18),
    ("sk-ant-", 20),
    ("sk-proj-", 20),
    ("sk-", 32),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("whsec_", 20),
    ("AKIA", 16),
    ("ASIA", 16),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("npm_", 30),
    ("pypi-", 40),
    ("AIza", 30),
    ("ya29.", 20),
    ("GOCSPX-", 20),
    ("eyJ", 30),
    ("hf_", 30),
    ("dop_v1_", 40),
    ("SG.", 40),
    ("shpat_", 30),
    ("dckr_pat_", 20),
    ("lin_api_", 30),
    ("AGE-SECRET-KEY-", 50),
    ("hvs.", 20),
    ("pat-", 32),
    ("sq0csp-", 30),
    ("rubygems_", 40),
];
/// Words behind which a secret follows.
const WORDS: [&str; 12] = [
    "password", "passwd", "passphrase", "secret", "token", "api_key", "apikey", "api-key", "access_key", "private_key",
    "secret_key", "credential",
];
/// How the value of a header begins whose rest is a secret.
const SCHEMES: [&str; 3] = ["bearer ", "basic ", "digest "];
const KEY_BEGINS: &[u8] = b"-----BEGIN ";
const KEY_NAMES: &[u8] = b"PRIVATE KEY";
const KEY_ENDS: &[u8] = b"-----END ";

/// What to mask.
#[derive(Debug, Default)]
pub(super) struct Mask {
    /// Known secrets, the longest first.
    values: Vec<Vec<u8>>,
}

impl Mask {
    /// Masks these values wherever they stand, and whatever looks like a secret.
    pub(super) fn of(values: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut known = Vec::new();
        for value in values {
            // A value of several lines may be shown line by line.
            for line in value.split(|&byte| byte == b'\n') {
                let line = line.trim_ascii();
                if line.len() >= VALUE {
                    known.push(line.to_owned());
                }
            }
        }
        known.sort_by_key(|value| std::cmp::Reverse(value.len()));
        known.dedup();
        Self { values: known }
    }

    /// The text without secrets.
    pub(super) fn bytes(&self, text: &[u8]) -> Vec<u8> {
        let mut masked = Vec::with_capacity(text.len());
        let mut at = 0;
        while at < text.len() {
            match self.secret_at(text, at) {
                Some(Secret { kept, end }) => {
                    masked.extend_from_slice(&text[at..kept]);
                    masked.extend_from_slice(MASK);
                    at = end;
                }
                None => {
                    masked.push(text[at]);
                    at += 1;
                }
            }
        }
        masked
    }

    /// The text without secrets.
    pub(super) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// The words without secrets, as a recorded command has them.
    pub(super) fn words(&self, words: &[String]) -> Vec<String> {
        words.iter().map(|word| self.text(word)).collect()
    }

    fn secret_at(&self, text: &[u8], at: usize) -> Option<Secret> {
        let rest = &text[at..];
        if let Some(value) = self.values.iter().find(|value| rest.starts_with(value)) {
            return Some(Secret { kept: at, end: at + value.len() });
        }
        // What is not known begins where a word does.
        if at > 0 && is_of_word(text[at - 1]) && rest[0] != b'-' && !is_behind_colour(&text[..at]) {
            return url_password(text, at);
        }
        private_key(rest)
            .or_else(|| beginning(rest))
            .or_else(|| behind_scheme(rest))
            .or_else(|| behind_word(rest))
            .map(|secret| Secret { kept: at + secret.kept, end: at + secret.end })
            .or_else(|| url_password(text, at))
    }
}

/// Where a secret is: behind what is kept.
struct Secret {
    kept: usize,
    end: usize,
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// Whether a control sequence such as a colour ends here; its last byte is a letter.
fn is_behind_colour(before: &[u8]) -> bool {
    let Some((_, before)) = before.split_last() else { return false };
    let digits = before.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    before[..before.len() - digits].ends_with(b"\x1b[")
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.~+/=".contains(&byte)
}

fn length(text: &[u8], is_in: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|&byte| !is_in(byte)).unwrap_or(text.len())
}

fn starts_with(text: &[u8], word: &str) -> bool {
    text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word.as_bytes()))
}

fn private_key(rest: &[u8]) -> Option<Secret> {
    let name = rest.strip_prefix(KEY_BEGINS)?;
    let line = memchr::memchr(b'\n', name)?;
    memchr::memmem::find(&name[..line], KEY_NAMES)?;
    let kept = KEY_BEGINS.len() + line + 1;
    // One that is cut off goes on to the end.
    let end = memchr::memmem::find(&rest[kept..], KEY_ENDS).map_or(rest.len(), |end| kept + end);
    Some(Secret { kept, end })
}

fn beginning(rest: &[u8]) -> Option<Secret> {
    for (begins, least) in BEGINNINGS {
        if let Some(behind) = rest.strip_prefix(begins.as_bytes()) {
            let len = length(behind, is_of_token);
            if len >= least {
                return Some(Secret { kept: begins.len(), end: begins.len() + len });
            }
        }
    }
    None
}

/// `Authorization: Bearer SECRET`.
fn behind_scheme(rest: &[u8]) -> Option<Secret> {
    let scheme = SCHEMES.iter().find(|scheme| starts_with(rest, scheme))?;
    let len = length(&rest[scheme.len()..], is_of_token);
    let is_secret = len >= 16 || rest[scheme.len()..][..len].iter().any(u8::is_ascii_digit) && len >= 8;
    is_secret.then_some(Secret { kept: scheme.len(), end: scheme.len() + len })
}

/// `password=SECRET`, `"api_key": "SECRET"`, `--token SECRET` with an equals sign or a colon.
fn behind_word(rest: &[u8]) -> Option<Secret> {
    let word = WORDS.iter().find(|word| starts_with(rest, word))?;
    let mut kept = word.len();
    // `password_2` and `tokens` are such words as well.
    kept += length(&rest[kept..], |byte| byte.is_ascii_alphanumeric() || byte == b'_');
    kept += length(&rest[kept..], |byte| byte == b'"' || byte == b'\'');
    kept += length(&rest[kept..], |byte| byte == b' ');
    let sign = *rest.get(kept)?;
    if sign != b'=' && sign != b':' {
        return None;
    }
    kept += 1;
    kept += length(&rest[kept..], |byte| byte == b' ');
    kept += length(&rest[kept..], |byte| byte == b'"' || byte == b'\'');
    let len = length(&rest[kept..], |byte| !byte.is_ascii_whitespace() && !b"\"',;".contains(&byte));
    let value = &rest[kept..kept + len];
    // Messages of compilers say `unexpected token: identifier`.
    let is_secret = sign == b'=' || value.iter().any(u8::is_ascii_digit) || len >= 16;
    (len >= BEHIND_WORD && is_secret && value != MASK).then_some(Secret { kept, end: kept + len })
}

/// `https://user:SECRET@host`: `at` is at the colon before the password.
fn url_password(text: &[u8], at: usize) -> Option<Secret> {
    if text[at] != b':' {
        return None;
    }
    let user = text[..at].iter().rposition(|&byte| !is_of_token(byte) && byte != b'%' || byte == b'/')?;
    let is_url = text[user] == b'/' && text[..=user].ends_with(b"://");
    let len = length(&text[at + 1..], |byte| !byte.is_ascii_whitespace() && !b"@/\"'".contains(&byte));
    let is_whole = text.get(at + 1 + len) == Some(&b'@');
    (is_url && len > 0 && is_whole).then_some(Secret { kept: at + 1, end: at + 1 + len })
}
