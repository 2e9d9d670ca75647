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
    /// Work failed, and no living session holds it.
    Failing,
    /// Its files are damaged.
    Damaged,
}

impl Tone {
    /// Its shape, the class of its colour, and its words.
    fn look(self) -> [&'static str; 3] {
        match self {
            Self::Waits => ["▲", "need", "waits for you"],
            Self::Doubt => ["◆", "doubt", "in doubt"],
            Self::LeftBehind => ["○", "bad", "left behind"],
            Self::Work => ["●", "run", "at work"],
            Self::Ready => ["◦", "dim", "can go on"],
            Self::Failing => ["✕", "bad", "failing"],
            Self::Damaged => ["✕", "bad", "damaged"],
        }
    }

    /// The shape that stands before the text.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        self.look()[0]
    }

    /// The class of the colour in the stylesheet.
    #[must_use]
    pub fn class(self) -> &'static str {
        self.look()[1]
    }

    /// The words, as in a sentence.
    #[must_use]
    pub fn words(self) -> &'static str {
        self.look()[2]
    }
}
