//! Masks what looks like a secret in text that is kept.
//!
//! A known value is replaced wherever it stands; anything else by how it looks. What has no such looks, or was encoded or cut
//! into pieces by the program that wrote it, stays: see `docs/evidence.md`.

use serde_json::Value;

/// What stands in place of a secret.
const MASKED: &str = "***";
const MASK: &[u8] = MASKED.as_bytes();
/// The shortest value of a variable that is masked: shorter ones stand everywhere by chance.
const VALUE: usize = 6;
/// The shortest text that is masked behind a word for a secret.
const BEHIND_WORD: usize = 6;
/// The shortest text of letters alone that is masked behind a key and a colon, where a message could have a word.
const BEHIND_KEY: usize = 8;

/// How much of a longer name is looked at behind a word for a secret, in bytes.
const NAME: usize = 64;

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
/// Headers whose value is a secret.
const HEADERS: [&str; 3] = ["authorization", "set-cookie", "cookie"];
/// Options of curl behind which a user and a password follow.
const USER_OPTIONS: [&[u8]; 2] = [b"-u", b"--user"];
/// The shortest user of a URL that is masked: a token stands in its place then.
const URL_USER: usize = 20;
/// How a control sequence such as a colour begins, as it is and as programs write it in their text.
const SEQUENCES: [&[u8]; 6] = [b"\x1b[", b"\\x1b[", b"\\x1B[", b"\\u001b[", b"\\033[", b"\\e["];
/// What quotes a value, also within a string.
const QUOTES: [&[u8]; 4] = [b"\\\"", b"\\'", b"\"", b"'"];
const KEY_BEGINS: &[u8] = b"-----BEGIN ";
const KEY_NAMES: &[u8] = b"PRIVATE KEY";
const KEY_DASHES: &[u8] = b"-----";
/// How far before a password it is looked for what it belongs to, in bytes.
const BEFORE: usize = 512;
/// The longest first line of a key, in bytes.
const KEY_LINE: usize = 80;
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
                    known.extend(in_json(line));
                    known.extend(in_address(line));
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
        let mut masked: Vec<String> = Vec::with_capacity(words.len());
        let is_curl = words.iter().any(|word| word.ends_with("curl"));
        for (at, word) in words.iter().enumerate() {
            let option = at.checked_sub(1).map(|before| words[before].as_bytes());
            if word.len() >= BEHIND_WORD && !word.starts_with('-') && option.is_some_and(is_option_of_secret) {
                masked.push(MASKED.to_owned());
            } else if is_curl
                && option.is_some_and(|option| USER_OPTIONS.contains(&option))
                && let Some((user, _)) = word.split_once(':')
            {
                masked.push(format!("{}:{MASKED}", self.text(user)));
            } else {
                masked.push(self.text(word));
            }
        }
        masked
    }

    fn secret_at(&self, text: &[u8], at: usize) -> Option<Secret> {
        let rest = &text[at..];
        if let Some(value) = self.values.iter().find(|value| rest.starts_with(value)) {
            return Some(Secret { kept: at, end: at + value.len() });
        }
        let mut found = private_key(rest);
        if found.is_none() && begins_word(text, at) {
            found = beginning(rest).or_else(|| behind_scheme(rest)).or_else(|| behind_header(rest));
        }
        if found.is_none() {
            found = behind_word(&text[..at], rest).or_else(|| in_element(&text[..at], rest));
        }
        if found.is_none() && rest[0] == b':' {
            found = behind_user(&text[..at], rest);
        }
        let Secret { kept, end } = found?;
        Some(Secret { kept: at + kept, end: at + end })
    }
}

/// How programs write a value in a string of JSON, where that is not the value as it is.
fn in_json(value: &[u8]) -> Vec<Vec<u8>> {
    let Ok(value) = str::from_utf8(value) else { return Vec::new() };
    let quoted = Value::from(value).to_string();
    let written = &quoted[1..quoted.len() - 1];
    // Some write only ASCII.
    let mut ascii = String::new();
    for c in written.chars() {
        if c.is_ascii() {
            ascii.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            ascii.push_str(&format!("\\u{unit:04x}"));
        }
    }
    let mut forms = Vec::new();
    for form in [written.to_owned(), ascii] {
        // Some escape what has a meaning in HTML, and some the slash.
        let of_html = form.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
        let of_slash = form.replace('/', "\\/");
        for form in [form, of_html, of_slash] {
            if form != value {
                forms.push(form.into_bytes());
            }
        }
    }
    forms
}

/// How programs write a value in an address or a form, where that is not the value as it is.
fn in_address(value: &[u8]) -> Vec<Vec<u8>> {
    let (mut upper, mut lower) = (String::new(), String::new());
    for &byte in value {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            upper.push(byte.into());
            lower.push(byte.into());
        } else {
            upper.push_str(&format!("%{byte:02X}"));
            lower.push_str(&format!("%{byte:02x}"));
        }
    }
    if upper.as_bytes() == value {
        return Vec::new();
    }
    let form = upper.replace("%20", "+");
    [upper, lower, form].map(String::into_bytes).into()
}

/// Where a secret is: behind what is kept.
struct Secret {
    kept: usize,
    end: usize,
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// Whether a word begins at `at`, also behind the letter of an escape.
fn begins_word(text: &[u8], at: usize) -> bool {
    let before = &text[..at];
    before.last().is_none_or(|&byte| !is_of_word(byte)) || is_behind_colour(before) || is_behind_escape(before)
}

/// Whether a control sequence such as a colour ends here; its last byte is a letter.
fn is_behind_colour(before: &[u8]) -> bool {
    let Some((_, before)) = before.split_last() else { return false };
    let digits = before.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    let begin = &before[..before.len() - digits];
    SEQUENCES.iter().any(|sequence| begin.ends_with(sequence))
}

/// Whether an escape ends here, such as `\n` in a string of JSON or `%20` in an address.
fn is_behind_escape(before: &[u8]) -> bool {
    match before {
        [.., b'\\', letter] if b"nrtbfv0".contains(letter) => true,
        [.., b'%', one, two] | [.., b'\\', b'u', _, _, one, two] => one.is_ascii_hexdigit() && two.is_ascii_hexdigit(),
        _ => false,
    }
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
    let name = &name[..name.len().min(KEY_LINE)];
    let at = memchr::memmem::find(name, KEY_NAMES)?;
    let dashes = at + memchr::memmem::find(&name[at..], KEY_DASHES)?;
    // In a string of JSON, the key stands in the same line.
    let kept = KEY_BEGINS.len() + dashes + KEY_DASHES.len();
    // One that is cut off goes on to the end.
    let end = memchr::memmem::find(&rest[kept..], KEY_ENDS).map_or(rest.len(), |end| kept + end);
    Some(Secret { kept, end })
}

fn beginning(rest: &[u8]) -> Option<Secret> {
    for (begins, least) in BEGINNINGS {
        if let Some(behind) = rest.strip_prefix(begins.as_bytes()) {
            let len = length(behind, is_of_token);
            // Words with dashes may begin in the same way.
            let is_random = behind[..len].iter().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
            if len >= least && is_random {
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
    let value = &rest[scheme.len()..][..len];
    let has_digit = value.iter().any(u8::is_ascii_digit);
    // A word of a sentence may be long, but has no capitals within.
    let is_mixed = value.iter().skip(1).any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase);
    let is_secret = len >= 8 && has_digit || len >= 16 && is_mixed;
    is_secret.then_some(Secret { kept: scheme.len(), end: scheme.len() + len })
}

/// `Authorization: SCHEME SECRET`, `Cookie: SECRET`, also as members of JSON.
fn behind_header(rest: &[u8]) -> Option<Secret> {
    let name = HEADERS.iter().find(|name| starts_with(rest, name))?;
    let mut kept = name.len();
    kept += length(&rest[kept..], |byte| b"\"'\\".contains(&byte));
    if rest.get(kept) != Some(&b':') {
        return None;
    }
    kept += 1;
    kept += length(&rest[kept..], |byte| b" \"'\\".contains(&byte));
    if let Some(scheme) = SCHEMES.iter().find(|scheme| starts_with(&rest[kept..], scheme)) {
        kept += scheme.len();
    }
    let len = length(&rest[kept..], |byte| !b"\r\n\"'\\".contains(&byte));
    let value = &rest[kept..kept + len];
    let first = length(value, |byte| byte != b' ');
    let is_secret = first >= BEHIND_WORD && value != MASK && !is_sentence(value);
    is_secret.then_some(Secret { kept, end: kept + len })
}

/// Whether words about a header stand where its value would: neither pairs, as a cookie has, nor a scheme and a token.
fn is_sentence(value: &[u8]) -> bool {
    let blanks = value.iter().filter(|byte| **byte == b' ').count();
    blanks > 1 && !value.contains(&b'=')
}

/// `password=SECRET`, `"apiKey": "SECRET"`, `--token SECRET`: behind a word for a secret at the beginning of `rest`, which may be
/// the end of a longer word.
fn behind_word(before: &[u8], rest: &[u8]) -> Option<Secret> {
    let word = WORDS.iter().find(|word| starts_with(rest, word))?;
    let mut kept = word.len();
    // `password_2` and `tokens` are such words as well.
    let name = &rest[kept..rest.len().min(kept + NAME)];
    kept += length(name, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let quotes = length(&rest[kept..], |byte| b"\"'\\".contains(&byte));
    kept += quotes;
    let blanks = length(&rest[kept..], is_blank);
    kept += blanks;
    let sign = match rest.get(kept)? {
        sign @ (b'=' | b':') => {
            kept += 1;
            // `:=` and `=>`.
            kept += length(&rest[kept..], |byte| byte == b'=' || byte == b'>');
            kept += length(&rest[kept..], is_blank);
            *sign
        }
        value if blanks > 0 && quotes == 0 && *value != b'-' && (is_in_option(before) || is_behind_login(before)) => {
            b'='
        }
        _ => return None,
    };
    let quote = QUOTES.iter().find(|quote| rest[kept..].starts_with(quote));
    kept += quote.map_or(0, |quote| quote.len());
    let line = &rest[kept..kept + length(&rest[kept..], |byte| byte != b'\n' && byte != b'\r')];
    let len = match quote {
        Some(quote) => memchr::memmem::find(line, quote).unwrap_or(line.len()),
        None => length(line, |byte| !byte.is_ascii_whitespace() && !b"\"',;".contains(&byte)),
    };
    let value = &line[..len];
    // Messages of compilers say `unexpected token: identifier`.
    let is_secret = sign == b'='
        || quotes > 0
        || value.iter().any(u8::is_ascii_digit)
        || len >= 16
        || len >= BEHIND_KEY && is_in_key(before) && ends_entry(&line[len..]);
    let is_text = is_placeholder_or_call(value) || sign == b':' && is_path(value);
    let is_other = value == MASK || quote.is_none() && is_text || *word == "token" && is_number(value);
    (len >= BEHIND_WORD && is_secret && !is_other).then_some(Secret { kept, end: kept + len })
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// `max_tokens=4096000`.
fn is_number(value: &[u8]) -> bool {
    value.iter().all(u8::is_ascii_digit)
}

/// `<TOKEN>` in a text of help, `read_password()` in a program.
fn is_placeholder_or_call(value: &[u8]) -> bool {
    let name = length(value, |byte| is_of_word(byte) || b"_.:".contains(&byte));
    value.first() == Some(&b'<') && value.last() == Some(&b'>') || name > 0 && value[name..].starts_with(b"()")
}

/// `src/lex/token.rs`.
fn is_path(value: &[u8]) -> bool {
    let is_plain = value.iter().all(|byte| byte.is_ascii_lowercase() || b"/_-.".contains(byte));
    is_plain && value.contains(&b'/') && value.iter().rev().take(6).any(|byte| *byte == b'.')
}

/// Whether a word that follows is the end of a key, as in `  client_secret: …`: at the beginning of a line, of a string or of
/// the entry of a list.
fn is_in_key(before: &[u8]) -> bool {
    let key = before.iter().rev().take_while(|byte| is_of_word(**byte) || b"_-.".contains(byte)).count();
    let before = &before[..before.len() - key];
    let before = before[..before.len() - before.iter().rev().take_while(|byte| b" \t".contains(byte)).count()].last();
    before.is_none_or(|byte| b"\r\n{[(,;\"'|-".contains(byte))
}

/// Whether nothing of a sentence follows.
fn ends_entry(rest: &[u8]) -> bool {
    let rest = &rest[length(rest, |byte| b" \t\"'\\".contains(&byte))..];
    rest.first().is_none_or(|byte| b",;}])#".contains(byte))
}

/// Whether the argument after `option` is a secret, as with `--password`.
fn is_option_of_secret(option: &[u8]) -> bool {
    if !option.starts_with(b"--") {
        return false;
    }
    for at in 0..option.len() {
        let Some(word) = WORDS.iter().find(|word| starts_with(&option[at..], word)) else { continue };
        let rest = &option[at + word.len()..];
        if rest.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return true;
        }
    }
    false
}

/// Whether a word that follows is the end of the name of an option, as in `--db-password`.
fn is_in_option(before: &[u8]) -> bool {
    let len = before.iter().rev().take_while(|byte| is_of_word(**byte) || **byte == b'-').count();
    let (before, name) = before.split_at(before.len() - len);
    name.starts_with(b"--") && before.last().is_none_or(|byte| !is_of_token(*byte))
}

/// Whether a word that follows stands where a file of netrc has the password.
fn is_behind_login(before: &[u8]) -> bool {
    let before = &before[before.len().saturating_sub(BEFORE)..];
    let mut words = before.rsplit(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next().is_some()
        && words.next() == Some(b"login")
        && words.next().is_some()
        && words.next() == Some(b"machine")
}

/// `<password>SECRET</password>`.
fn in_element(before: &[u8], rest: &[u8]) -> Option<Secret> {
    let word = WORDS.iter().find(|word| starts_with(rest, word))?;
    let begin = before.iter().rev().take_while(|byte| is_of_word(**byte) || b"_-.:".contains(byte)).count();
    if !before[..before.len() - begin].ends_with(b"<") {
        return None;
    }
    let name = word.len() + length(&rest[word.len()..], |byte| is_of_word(byte) || b"_-.".contains(&byte));
    if rest.get(name) != Some(&b'>') {
        return None;
    }
    let kept = name + 1 + length(&rest[name + 1..], |byte| byte.is_ascii_whitespace());
    let len = length(&rest[kept..], |byte| !byte.is_ascii_whitespace() && byte != b'<');
    let value = &rest[kept..kept + len];
    // A dump of a compiler has elements for tokens as well.
    let is_secret = *word != "token" || value.iter().any(u8::is_ascii_digit) || len >= 16;
    (len >= BEHIND_WORD && is_secret && value != MASK).then_some(Secret { kept, end: kept + len })
}

/// `https://USER:SECRET@host`, `https://SECRET@host` and `curl -u USER:SECRET`: `rest` begins with the colon of it.
fn behind_user(before: &[u8], rest: &[u8]) -> Option<Secret> {
    let authority = length(&rest[1..], |byte| !byte.is_ascii_whitespace() && !b"/?#\"'".contains(&byte));
    if let Some(user) = rest.strip_prefix(b"://") {
        let len = length(user, |byte| is_of_token(byte) && byte != b'/');
        let is_token = len >= URL_USER && user[..len].iter().any(u8::is_ascii_digit);
        let is_user = user.get(len) == Some(&b'@');
        return (is_token && is_user).then_some(Secret { kept: b"://".len(), end: b"://".len() + len });
    }
    let user = before.iter().rposition(|&byte| !is_of_token(byte) && byte != b'%' || byte == b'/')?;
    if before[..=user].ends_with(b"://") {
        // People write passwords with an `@` as they are.
        let len = rest[1..][..authority].iter().rposition(|&byte| byte == b'@')?;
        return (len > 0).then_some(Secret { kept: 1, end: 1 + len });
    }
    let line = before[user.saturating_sub(BEFORE)..=user].rsplit(|&byte| byte == b'\n').next()?;
    let option = line.trim_ascii_end();
    let option = option.strip_suffix(b"'").or(option.strip_suffix(b"\"")).unwrap_or(option).trim_ascii_end();
    let is_user =
        USER_OPTIONS.iter().any(|name| option.ends_with(name)) && memchr::memmem::find(line, b"curl ").is_some();
    let len = length(&rest[1..], |byte| !byte.is_ascii_whitespace() && !b"\"'".contains(&byte));
    (is_user && len >= BEHIND_WORD && &rest[1..=len] != MASK).then_some(Secret { kept: 1, end: 1 + len })
}
