//! Text in which runs of bytes of a kind are found without a walk.
//!
//! The same bytes stand behind many words, so a walk from each word would look at them again and again.

use std::cell::{Cell, OnceCell};

/// What stands in place of a secret.
pub(super) const MASKED: &str = "***";
pub(super) const MASK: &[u8] = MASKED.as_bytes();
/// How a control sequence such as a colour begins, as it is and as programs write it in their text.
const SEQUENCES: [&[u8]; 6] = [b"\x1b[", b"\\x1b[", b"\\x1B[", b"\\u001b[", b"\\033[", b"\\e["];

/// What the bytes of a run have in common.
#[derive(Clone, Copy)]
pub(super) enum ByteClass {
    Identifier,
    Token,
    /// Of a token without signs.
    Plain,
    Key,
    /// Of a key, with colons.
    Element,
    Option,
    Path,
    SmallPath,
    Sign,
    QuoteOrBlank,
    User,
    Digit,
    SmallLetter,
    /// Neither a digit nor a capital.
    NotRandom,
    /// What stands between the beginning of a control sequence and its letter.
    Parameter,
    Escape,
    Blank,
    White,
    Line,
    /// Of a value without quotes.
    Bare,
    /// Of a value without quotes in a list.
    Entry,
    Authority,
    Argument,
    Tag,
    Content,
    ContentWord,
    Header,
    HeaderWord,
    HeaderName,
}

impl ByteClass {
    const COUNT: usize = Self::HeaderName as usize + 1;

    fn has(self, byte: u8) -> bool {
        let is_white = byte.is_ascii_whitespace();
        match self {
            Self::Identifier => is_of_word(byte) || byte == b'_',
            Self::Token => is_of_token(byte),
            Self::Plain => is_of_word(byte) || b"_-".contains(&byte),
            Self::Key => is_of_word(byte) || b"_-.".contains(&byte),
            Self::Element => is_of_word(byte) || b"_-.:".contains(&byte),
            Self::Option => is_of_word(byte) || byte == b'-',
            Self::Path => is_of_word(byte) || b"_.:".contains(&byte),
            Self::SmallPath => byte.is_ascii_lowercase() || b"/_-.".contains(&byte),
            Self::Sign => byte == b'=' || byte == b'>',
            Self::QuoteOrBlank => b" \t\"'\\".contains(&byte),
            Self::User => is_of_token(byte) && byte != b'/' || byte == b'%',
            Self::Digit => byte.is_ascii_digit(),
            Self::SmallLetter => byte.is_ascii_lowercase(),
            Self::NotRandom => !byte.is_ascii_digit() && !byte.is_ascii_uppercase(),
            Self::Parameter => byte.is_ascii_digit() || byte == b';',
            Self::Escape => byte == b'\\',
            Self::Blank => byte == b' ' || byte == b'\t',
            Self::White => is_white,
            Self::Line => !b"\r\n".contains(&byte),
            Self::Bare => !is_white && !b"\"',;".contains(&byte),
            Self::Entry => !is_white && !b"\"',;[]{}()".contains(&byte),
            Self::Authority => !is_white && !b"/?#\"'".contains(&byte),
            Self::Argument => !is_white && !b"\"'".contains(&byte),
            Self::Tag => !b"<>".contains(&byte),
            Self::Content => !b"<\r\n".contains(&byte),
            Self::ContentWord => !is_white && byte != b'<',
            Self::Header => !b"\r\n\"'\\".contains(&byte),
            Self::HeaderWord => !b"\r\n\"'\\ ".contains(&byte),
            Self::HeaderName => !b"\r\n\"'\\=".contains(&byte),
        }
    }
}

pub(super) fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

pub(super) fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.~+/=".contains(&byte)
}

/// Where a secret is: behind what is kept.
#[derive(Clone, Copy)]
pub(super) struct Secret {
    pub(super) kept: usize,
    pub(super) end: usize,
}

pub(super) struct Text<'a> {
    pub(super) bytes: &'a [u8],
    ends: [OnceCell<Vec<usize>>; ByteClass::COUNT],
    begins: [OnceCell<Vec<usize>>; ByteClass::COUNT],
    /// Where curl is called.
    curls: OnceCell<Vec<usize>>,
    /// How far lists were looked at, so that one in another is not looked at twice.
    pub(super) listed: Cell<usize>,
}

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let ends = std::array::from_fn(|_| OnceCell::new());
        let begins = std::array::from_fn(|_| OnceCell::new());
        Self { bytes, ends, begins, curls: OnceCell::new(), listed: Cell::new(0) }
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(super) fn is_byte(&self, at: usize, is_one: impl Fn(u8) -> bool) -> bool {
        self.byte(at).is_some_and(is_one)
    }

    /// Whether one stands before `at`.
    pub(super) fn is_byte_before(&self, at: usize, is_one: impl Fn(u8) -> bool) -> bool {
        at > 0 && self.is_byte(at - 1, is_one)
    }

    /// Where the run of this kind ends that begins at `at`.
    pub(super) fn end(&self, kind: ByteClass, at: usize) -> usize {
        steps::add(1);
        let ends = self.ends[kind as usize].get_or_init(|| {
            let is_of_kind = bytes_of(kind);
            let mut ends = vec![self.bytes.len(); self.bytes.len() + 1];
            let mut end = self.bytes.len();
            for (at, &byte) in self.bytes.iter().enumerate().rev() {
                if !is_of_kind[usize::from(byte)] {
                    end = at;
                }
                ends[at] = end;
            }
            steps::add(self.bytes.len());
            ends
        });
        ends.get(at).map_or(at, |&end| end.max(at))
    }

    /// Where the run of this kind begins that ends before `at`.
    pub(super) fn begin(&self, kind: ByteClass, at: usize) -> usize {
        steps::add(1);
        let begins = self.begins[kind as usize].get_or_init(|| {
            let is_of_kind = bytes_of(kind);
            let mut begins = vec![0; self.bytes.len() + 1];
            let mut begin = 0;
            for (at, &byte) in self.bytes.iter().enumerate() {
                if !is_of_kind[usize::from(byte)] {
                    begin = at + 1;
                }
                begins[at + 1] = begin;
            }
            steps::add(self.bytes.len());
            begins
        });
        begins[at]
    }

    /// Where curl is called last before `at`.
    pub(super) fn last_curl(&self, at: usize) -> Option<usize> {
        let curls = self.curls.get_or_init(|| {
            steps::add(self.bytes.len());
            memchr::memmem::find_iter(self.bytes, b"curl ").collect()
        });
        curls[..curls.partition_point(|&curl| curl < at)].last().copied()
    }

    pub(super) fn is_at(&self, at: usize, bytes: &[u8]) -> bool {
        steps::add(1);
        self.byte(at) == bytes.first().copied() && self.bytes[at..].starts_with(bytes)
    }

    /// Whether this word of small letters stands there, in letters of any case.
    pub(super) fn is_word_at(&self, at: usize, word: &str) -> bool {
        steps::add(1);
        let word = word.as_bytes();
        self.byte(at).is_some_and(|byte| byte.to_ascii_lowercase() == word[0])
            && self.bytes[at..].get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word))
    }

    /// Whether a word begins at `at`, also behind the letter of an escape.
    pub(super) fn begins_word(&self, at: usize) -> bool {
        !self.is_byte_before(at, is_of_word) || self.is_behind_sequence(at) || is_behind_escape(&self.bytes[..at])
    }

    /// Whether a control sequence such as a colour ends before `at`; its last byte is a letter.
    fn is_behind_sequence(&self, at: usize) -> bool {
        if !self.is_byte_before(at, |byte| byte.is_ascii_alphabetic()) {
            return false;
        }
        let begin = &self.bytes[..self.begin(ByteClass::Parameter, at - 1)];
        begin.ends_with(b"[") && SEQUENCES.iter().any(|sequence| begin.ends_with(sequence))
    }

    /// Behind the control sequences at `at`: they may stand between a word and its value.
    fn behind_sequences(&self, mut at: usize) -> usize {
        while self.is_byte(at, |byte| byte == 0x1b || byte == b'\\') {
            let Some(begin) = SEQUENCES.iter().find(|begin| self.is_at(at, begin)) else { break };
            let letter = self.end(ByteClass::Parameter, at + begin.len());
            if !self.is_byte(letter, |byte| byte.is_ascii_alphabetic()) {
                break;
            }
            at = letter + 1;
        }
        at
    }

    /// Behind blanks and control sequences.
    pub(super) fn behind_blanks(&self, mut at: usize) -> usize {
        loop {
            let behind = self.behind_sequences(self.end(ByteClass::Blank, at));
            if behind == at {
                return at;
            }
            at = behind;
        }
    }

    /// Behind the quotes that end a name, and whether there are some.
    pub(super) fn behind_name(&self, at: usize) -> (usize, bool) {
        let mut behind = self.behind_sequences(at);
        let mut is_quoted = false;
        loop {
            let mark = self.end(ByteClass::Escape, behind);
            if self.is_byte(mark, is_quote) {
                is_quoted = true;
                behind = self.behind_sequences(mark + 1);
            } else if self.is_byte(mark, |byte| b"=: \t".contains(&byte)) {
                return (mark, is_quoted || mark > behind);
            } else {
                return (behind, is_quoted);
            }
        }
    }
}

fn bytes_of(kind: ByteClass) -> [bool; 256] {
    let mut is_of_kind = [false; 256];
    for byte in 0..=u8::MAX {
        is_of_kind[usize::from(byte)] = kind.has(byte);
    }
    is_of_kind
}

/// Whether an escape ends here, such as `\n` in a string of JSON or `%20` in an address.
fn is_behind_escape(before: &[u8]) -> bool {
    match before {
        [.., b'\\', letter] if b"nrtbfv0".contains(letter) => true,
        [.., b'%', one, two] | [.., b'\\', b'u', _, _, one, two] => one.is_ascii_hexdigit() && two.is_ascii_hexdigit(),
        _ => false,
    }
}

pub(super) fn is_quote(byte: u8) -> bool {
    byte == b'"' || byte == b'\''
}

/// What quotes a value.
#[derive(Clone, Copy)]
pub(super) struct Quote {
    mark: u8,
    /// How many backslashes stand before it: each string in which it stands doubles them.
    escapes: usize,
}

impl Quote {
    /// The quote at `at`, and where what it quotes begins.
    pub(super) fn at(text: &Text<'_>, at: usize) -> Option<(Self, usize)> {
        let mut mark = text.end(ByteClass::Escape, at);
        let escapes = mark - at;
        // `$'…'` is a string of a shell.
        if text.byte(mark) == Some(b'$') && escapes == 0 {
            mark += 1;
        }
        let quote = Self::of(text, mark, escapes)?;
        let is_doubled = text.byte(mark + 1) == Some(quote.mark) && text.is_byte(mark + 2, is_of_word);
        // `""value""` in a table.
        Some((quote, if is_doubled { mark + 2 } else { mark + 1 }))
    }

    /// The quote right before `at`.
    pub(super) fn before(text: &Text<'_>, at: usize) -> Option<Self> {
        let mark = at.checked_sub(1)?;
        Self::of(text, mark, mark - text.begin(ByteClass::Escape, mark))
    }

    fn of(text: &Text<'_>, mark: usize, escapes: usize) -> Option<Self> {
        let byte = text.byte(mark)?;
        (is_quote(byte) && (escapes + 1).is_power_of_two()).then_some(Self { mark: byte, escapes })
    }

    /// Where what it quotes ends, which begins at `from`; `to` where it is not closed before.
    pub(super) fn end(self, text: &Text<'_>, from: usize, to: usize) -> usize {
        let mut at = from;
        while let Some(len) = memchr::memchr(self.mark, &text.bytes[at..to]) {
            steps::add(len + 1);
            let mark = at + len;
            let escapes = mark - text.begin(ByteClass::Escape, mark).max(from);
            at = mark + 1;
            if self.is_escaped(escapes) {
                continue;
            }
            // `'it''s'` in SQL and YAML, `'it'\''s'` in a shell.
            let again = text.end(ByteClass::Escape, at);
            if text.byte(again) == Some(self.mark) && again - at == self.escapes && again < to {
                at = again + 1;
            } else if self.escapes == 0 && text.is_at(mark, b"'\\''") && mark + 4 <= to {
                at = mark + 4;
            } else {
                return mark - escapes.min(self.escapes);
            }
        }
        steps::add(to - at);
        to
    }

    /// Whether a quote behind so many backslashes is one of what is quoted.
    fn is_escaped(self, escapes: usize) -> bool {
        let level = self.escapes + 1;
        (escapes + 1).is_multiple_of(level) && ((escapes + 1) / level).is_multiple_of(2)
    }

    /// Behind the quote that closes at `end`.
    pub(super) fn behind(self, end: usize) -> usize {
        end + self.escapes + 1
    }
}

/// How much was looked at, for the test that it grows as the text does.
pub(in crate::runs) mod steps {
    #[cfg(test)]
    thread_local! {
        static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    #[cfg(test)]
    pub(in crate::runs) fn add(count: usize) {
        STEPS.set(STEPS.get() + count);
    }

    #[cfg(not(test))]
    pub(in crate::runs) fn add(_: usize) {}

    #[cfg(test)]
    pub(in crate::runs) fn take() -> usize {
        STEPS.take()
    }
}
