//! What the words of a sentence mean for the skill after them.

use super::lists::{
    ASSENTING, AUXILIARIES, BEFORE_DO, BEFORE_DONE, DENYING, DESCRIBING, DONE, ENDING, ENDING_CLAUSE, ENDING_PAIRS,
    ENGLISH, FILLERS, FOREIGN, NO_START, OPENERS, OPENING_QUESTIONS, POLITE, PRONOUNS, QUESTIONS, REQUESTING, STARTING,
    TOLD_OF, TURNING, VERBS,
};

/// How a `$word` is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense<'a> {
    /// As a request.
    Request,
    /// Denied by this word in the same clause.
    Denied(&'a str),
    /// As something to end.
    Ending,
    /// Taken back, or spoken of, by these words behind it.
    Behind(&'a str),
    /// Asked about.
    Question,
    /// In a sentence that does not ask to begin it, or is not understood.
    Mention,
    /// As a part of code.
    Code,
}

/// Which words of ending count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum EndingWord {
    #[default]
    None,
    /// "turn", which waits for its "off".
    Turning,
    /// A verb, until a word that is not a filler.
    Near,
    /// "no longer" and the like, until the clause ends.
    Clause,
}

/// Which question a sentence asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum QuestionWord {
    #[default]
    None,
    /// One that begins with an auxiliary. A "please" makes a request of it.
    Auxiliary,
    Word,
}

/// The words of a sentence so far.
#[derive(Debug, Default)]
pub(super) struct Sentence<'a> {
    denied: Option<&'a str>,
    /// Whether the denial stands before a comma, and goes on after it: "do not, please, run".
    is_parted: bool,
    ending: EndingWord,
    question: QuestionWord,
    is_foreign: bool,
    /// Whether the sentence names a skill without requesting it.
    names_skill: bool,
    /// The last three words, the newest last.
    words: [String; 3],
    /// Number of words since the sentence or the line began, without openers.
    heard: usize,
    /// The same since the last comma or colon.
    in_clause: usize,
    after_pause: bool,
    after_comma: bool,
    after_skill: bool,
}

impl<'a> Sentence<'a> {
    pub(super) fn hear(&mut self, said: &'a str) {
        let word = said.to_lowercase().replace('’', "'");
        if self.after_pause {
            self.words = Default::default();
        }
        self.words.rotate_left(1);
        self.words[2] = word;
        let opens = self.in_clause == 0 && OPENERS.contains(&self.word());
        self.heard += usize::from(!opens);
        self.in_clause += usize::from(!opens);
        self.hear_request();
        self.hear_denial(said);
        self.hear_ending();
        self.hear_question();
        self.hear_language();
        self.after_comma = false;
        self.after_skill = false;
        self.after_pause = false;
    }

    /// A word that makes a request of its own ends what the words before it mean.
    fn hear_request(&mut self) {
        let requests = REQUESTING.contains(&self.word());
        if self.after_comma && requests && !self.is_parted {
            self.denied = None;
            self.question = QuestionWord::None;
        }
        let joins = self.after_comma || self.after_skill || ["and", "then", "but"].contains(&self.before());
        if requests && joins || self.word() == "but" {
            self.ending = EndingWord::None;
            self.names_skill = false;
        }
        if ["but", "instead"].contains(&self.word()) {
            self.denied = None;
        }
    }

    fn hear_denial(&mut self, said: &'a str) {
        if self.denies() {
            self.denied = Some(said);
        } else if ASSENTING.contains(&self.word()) {
            self.denied = None;
        }
    }

    /// Whether the last word denies what follows.
    fn denies(&self) -> bool {
        let negates = self.word() == "not" && (AUXILIARIES.contains(&self.before()) || self.before() == "please");
        negates || DENYING.contains(&self.word()) || self.word().ends_with("n't")
    }

    fn hear_ending(&mut self) {
        let pair = (self.before(), self.word());
        // After an article it is a noun: "the stop button".
        let is_noun = ["a", "an", "the", "this", "each", "every"].contains(&self.before());
        let is_turned = self.ending == EndingWord::Turning && ["off", "down", "out"].contains(&self.word());
        let is_done = self.word() == "with"
            && DONE.contains(&self.before())
            && (self.words[0].is_empty() || BEFORE_DONE.contains(&self.words[0].as_str()));
        self.ending = match self.ending {
            EndingWord::Clause => EndingWord::Clause,
            _ if ENDING_CLAUSE.contains(&pair) => EndingWord::Clause,
            _ if is_turned || is_done || ENDING_PAIRS.contains(&pair) => EndingWord::Near,
            _ if ENDING.contains(&self.word()) && !is_noun => EndingWord::Near,
            _ if TURNING.contains(&self.word()) && !is_noun => EndingWord::Turning,
            EndingWord::Near if FILLERS.contains(&self.word()) => EndingWord::Near,
            _ => EndingWord::None,
        };
    }

    fn hear_question(&mut self) {
        let (word, before) = (self.word(), self.before());
        let is_polite = word == "please" || self.in_clause == 2 && word == "you" && POLITE.contains(&before);
        // "when done, use …" is no question, "when should …" is one.
        let asks_when = self.heard == 2 && before == "when" && (word == "to" || AUXILIARIES.contains(&word));
        let opens = self.heard == 1 && OPENING_QUESTIONS.contains(&word);
        if asks_when || opens || QUESTIONS.contains(&word) {
            self.question = QuestionWord::Word;
            return;
        }
        // "do" and "have" ask with a pronoun only, and request without one.
        let asks = match self.in_clause {
            1 => AUXILIARIES.contains(&word) && !matches!(word, "do" | "have"),
            2 => PRONOUNS.contains(&word) && matches!(before, "do" | "have"),
            _ => false,
        };
        if asks {
            self.question = QuestionWord::Auxiliary;
        }
        if is_polite && self.question == QuestionWord::Auxiliary {
            self.question = QuestionWord::None;
        }
    }

    fn hear_language(&mut self) {
        if FOREIGN.iter().any(|language| language.contains(&self.word())) || !self.word().is_ascii() {
            self.is_foreign = true;
        } else if self.heard == 1 && (VERBS.contains(&self.word()) || self.word() == "please") && self.word() != "do" {
            self.is_foreign = false;
        }
    }

    pub(super) fn comma(&mut self) {
        self.after_comma = true;
        self.is_parted |= self.denies();
        self.pause();
    }

    /// Ends a clause.
    pub(super) fn pause(&mut self) {
        self.after_pause = true;
        self.in_clause = 0;
    }

    /// Ends the sentence. The next one is in the same language.
    pub(super) fn end(&mut self) {
        *self = Self { is_foreign: self.is_foreign, ..Self::default() };
    }

    /// A line may begin a sentence, although no full stop ends the one before it.
    pub(super) fn end_line(&mut self) {
        self.heard = 0;
        self.pause();
    }

    /// Notes words in quotation marks, which say nothing.
    pub(super) fn skip(&mut self) {
        self.words = Default::default();
        self.heard += 1;
        self.in_clause += 1;
        self.after_skill = false;
        if self.ending != EndingWord::Clause {
            self.ending = EndingWord::None;
        }
    }

    /// Notes a skill that was named.
    pub(super) fn name(&mut self, sense: Sense) {
        // "turn $team off, and $forge"
        let ending = if self.ending == EndingWord::Turning { EndingWord::Near } else { self.ending };
        self.skip();
        self.names_skill |= sense != Sense::Request;
        self.after_skill = true;
        self.ending = ending;
    }

    /// How a skill directly after the last word is meant.
    pub(super) fn sense(&self) -> Sense<'a> {
        if self.ending != EndingWord::None && self.denied.is_none() {
            return Sense::Ending;
        }
        if self.question != QuestionWord::None {
            return Sense::Question;
        }
        if let Some(word) = self.denied {
            return Sense::Denied(word);
        }
        if self.begins() { Sense::Request } else { Sense::Mention }
    }

    /// Whether the last word begins the skill after it.
    pub(super) fn begins(&self) -> bool {
        let [first, before, word] = self.words.each_ref().map(String::as_str);
        if !STARTING.contains(&word) || self.is_foreign && !ENGLISH.contains(&word) {
            return false;
        }
        match word {
            "do" => self.in_clause == 1 || before.is_empty() || BEFORE_DO.contains(&before),
            // "replace $team with $forge" names both.
            "with" => !self.names_skill && !DESCRIBING.contains(&before),
            _ if VERBS.contains(&word) => !(NO_START.contains(&before) || before == "to" && TOLD_OF.contains(&first)),
            _ => true,
        }
    }

    fn word(&self) -> &str {
        &self.words[2]
    }

    fn before(&self) -> &str {
        &self.words[1]
    }
}
