//! Secrets that are known by how they begin.

use super::text::{ByteClass, MASK, Secret, Text, is_quote, steps};

/// What tokens begin with, and how many more characters they have at least.
const BEGINNINGS: [(&str, usize); 75] = [
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
    ("ATATT3", 50),
    ("bkua_", 30),
    ("CCIPAT_", 30),
    ("glc_", 30),
    ("sntrys_", 30),
    ("dp.pt.", 30),
    ("glft-", 18),
    ("glimt-", 18),
    ("glsoat-", 18),
    ("glcbt-", 18),
    ("glagent-", 18),
    ("GR1348941", 18),
    ("rk_test_", 16),
    ("xoxe-", 10),
    ("xoxe.", 10),
    ("hvb.", 20),
    ("dp.st.", 30),
    ("dp.ct.", 30),
    ("sntryu_", 30),
    ("doo_v1_", 40),
    ("dor_v1_", 40),
    ("ATCTT3", 50),
    ("shpss_", 30),
    ("shpca_", 30),
    ("shppa_", 30),
    ("ABIA", 16),
    ("ABSK", 30),
    ("1//0", 30),
    ("hooks.slack.com/services/", 20),
    ("discord.com/api/webhooks/", 40),
    ("webhook.office.com/webhookb2/", 40),
    // Signatures of addresses that open something by themselves.
    ("sig=", 30),
    ("X-Amz-Signature=", 40),
    // Behind the number of a token of Terraform.
    (".atlasv1.", 40),
];
/// The same, of such as have no signs: what begins in this way may be the path of a file.
const PLAIN_BEGINNINGS: [(&str, usize); 22] = [
    ("gsk_", 40),
    ("xai-", 40),
    ("pplx-", 40),
    ("r8_", 30),
    ("ATBB", 24),
    ("glsa_", 30),
    ("NRAK-", 20),
    ("sq0atp-", 20),
    ("figd_", 30),
    ("PMAK-", 40),
    ("ntn_", 30),
    ("pul-", 40),
    ("glptt-", 30),
    ("sbp_", 40),
    ("pscale_tkn_", 30),
    ("pscale_pw_", 30),
    ("pscale_oauth_", 30),
    ("dapi", 32),
    ("nfp_", 30),
    ("sb_secret_", 20),
    ("tskey-auth-", 20),
    ("tskey-api-", 20),
];
/// Whether a token may begin with this byte.
const IS_FIRST: [bool; 256] = is_first();
/// The shortest user of a URL that is masked: a token stands in its place then.
const URL_USER: usize = 20;
/// The shortest password of such a user that is masked.
const PASSWORD: usize = 6;
const KEY_BEGINS: &[u8] = b"-----BEGIN ";
const KEY_NAMES: &[u8] = b"PRIVATE KEY";
const KEY_DASHES: &[u8] = b"-----";
/// The longest first line of a key, in bytes.
const KEY_LINE: usize = 80;
const KEY_ENDS: &[u8] = b"-----END ";

const fn is_first() -> [bool; 256] {
    let mut is_first = [false; 256];
    let mut at = 0;
    while at < BEGINNINGS.len() {
        is_first[BEGINNINGS[at].0.as_bytes()[0] as usize] = true;
        at += 1;
    }
    at = 0;
    while at < PLAIN_BEGINNINGS.len() {
        is_first[PLAIN_BEGINNINGS[at].0.as_bytes()[0] as usize] = true;
        at += 1;
    }
    is_first
}

pub(super) fn private_key(text: &Text<'_>, at: usize) -> Option<Secret> {
    if !text.is_at(at, KEY_BEGINS) {
        return None;
    }
    let name = &text.bytes[at + KEY_BEGINS.len()..];
    let name = &name[..name.len().min(KEY_LINE)];
    steps::add(name.len());
    let words = memchr::memmem::find(name, KEY_NAMES)?;
    let dashes = words + memchr::memmem::find(&name[words..], KEY_DASHES)?;
    // In a string of JSON, the key stands in the same line.
    let kept = at + KEY_BEGINS.len() + dashes + KEY_DASHES.len();
    // One that is cut off goes on to the end.
    let len = memchr::memmem::find(&text.bytes[kept..], KEY_ENDS);
    let end = len.map_or(text.bytes.len(), |len| kept + len);
    steps::add(end - kept);
    Some(Secret { kept, end })
}

/// A token, where a word begins or a sign stands.
pub(super) fn token(text: &Text<'_>, at: usize) -> Option<Secret> {
    let byte = text.byte(at)?;
    if !IS_FIRST[usize::from(byte)] {
        return None;
    }
    for (list, kind) in [(&BEGINNINGS[..], ByteClass::Token), (&PLAIN_BEGINNINGS[..], ByteClass::Plain)] {
        for (begins, least) in list {
            if begins.as_bytes()[0] != byte || !text.is_at(at, begins.as_bytes()) {
                continue;
            }
            let kept = at + begins.len();
            let end = text.end(kind, kept);
            // Words with dashes may begin in the same way.
            if end - kept >= *least && text.end(ByteClass::NotRandom, kept) < end {
                return Some(Secret { kept, end: text.end(ByteClass::Token, kept) });
            }
        }
    }
    None
}

/// `https://USER:SECRET@host`, `https://SECRET@host` and `curl -u USER:SECRET`, where the colon of it stands at `at`.
pub(super) fn behind_user(text: &Text<'_>, at: usize) -> Option<Secret> {
    if text.is_at(at, b"://") {
        let kept = at + b"://".len();
        let end = text.end(ByteClass::User, kept);
        let is_user = text.byte(end) == Some(b'@');
        return (is_user && end - kept >= URL_USER && is_random(text, kept, end)).then_some(Secret { kept, end });
    }
    let user = text.begin(ByteClass::User, at);
    let kept = at + 1;
    if text.bytes[..user].ends_with(b"://") {
        // People write passwords with an `@` as they are.
        let authority = &text.bytes[kept..text.end(ByteClass::Authority, kept)];
        steps::add(authority.len());
        let len = memchr::memrchr(b'@', authority)?;
        return (len > 0).then_some(Secret { kept, end: kept + len });
    }
    let end = text.end(ByteClass::Argument, kept);
    let is_secret = end - kept >= PASSWORD && &text.bytes[kept..end] != MASK;
    (is_secret && is_behind_curl(text, user)).then_some(Secret { kept, end })
}

/// Whether a token has a digit, or capitals within as no word has.
fn is_random(text: &Text<'_>, from: usize, to: usize) -> bool {
    let token = &text.bytes[from..to];
    steps::add(token.len());
    let is_mixed = token.iter().skip(1).any(u8::is_ascii_uppercase) && token.iter().any(u8::is_ascii_lowercase);
    is_mixed || token.iter().any(u8::is_ascii_digit)
}

/// Whether an option of curl for a user stands before `at`.
fn is_behind_curl(text: &Text<'_>, at: usize) -> bool {
    let mut option = text.begin(ByteClass::Blank, at);
    if text.is_byte_before(option, is_quote) {
        option = text.begin(ByteClass::Blank, option - 1);
    }
    let line = text.begin(ByteClass::Line, option);
    let before = &text.bytes[text.begin(ByteClass::Option, option).max(line)..option];
    let own = if text.is_byte_before(at, |byte| byte == b'=') { text.begin(ByteClass::Option, at - 1) } else { at };
    let is_user = takes_user(before) || user_in_option(&text.bytes[own..]).is_some();
    is_user && text.last_curl(at).is_some_and(|curl| curl >= line)
}

/// Whether a word is an option of curl behind which a user and a password stand: `--user` or `-u`, which may follow others.
pub(super) fn takes_user(word: &[u8]) -> bool {
    word == b"--user" || user_in_option(word) == Some(word.len())
}

/// Where the user begins in a word that is such an option and its argument: `-sSuada:…`, `--user=ada:…`.
pub(super) fn user_in_option(word: &[u8]) -> Option<usize> {
    if word.starts_with(b"--user=") {
        return Some(b"--user=".len());
    }
    let options = word.strip_prefix(b"-")?;
    let switches = options.iter().take_while(|option| SWITCHES.contains(option)).count();
    steps::add(switches);
    (options.get(switches) == Some(&b'u')).then_some(switches + 2)
}

/// Options of curl without an argument, which may stand before `u` in a word.
const SWITCHES: &[u8] = b"#0123468afgGijkILlnNOpqRsSvZ";
