//! What a run is doing, as a shape, a colour and words.

/// What a run needs or does at its position. A shape and words stand beside each colour, for those who do not see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It cannot go on without a person.
    Waits,
    /// Work began, and its outcome is unknown.
    Doubt,
    /// The session that worked on it is over.
    LeftBehind,
    /// A session works on it.
    Work,
    /// It can go on, and no session holds it.
    Ready,
    /// Its files are damaged.
    Damaged,
}

impl Tone {
    /// The shape that stands before the text.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Waits => "▲",
            Self::Doubt => "◆",
            Self::LeftBehind => "○",
            Self::Work => "●",
            Self::Ready => "◦",
            Self::Damaged => "✕",
        }
    }

    /// The class of the colour in the stylesheet.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Waits => "need",
            Self::Doubt => "doubt",
            Self::LeftBehind | Self::Damaged => "bad",
            Self::Work => "run",
            Self::Ready => "dim",
        }
    }

    /// The words, as in a sentence.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Waits => "waits for you",
            Self::Doubt => "in doubt",
            Self::LeftBehind => "left behind",
            Self::Work => "at work",
            Self::Ready => "can go on",
            Self::Damaged => "damaged",
        }
    }
}
