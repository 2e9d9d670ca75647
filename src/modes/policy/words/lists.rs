//! The lists of words, one for each kind (documented in `docs/modes.md`). All in lower case; flow reads English only.

/// Words directly before a skill that begin it.
pub(super) const STARTING: &[&str] =
    &["use", "run", "start", "begin", "do", "try", "go", "please", "then", "with", "via"];

/// Words of starting that no other language has.
pub(super) const ENGLISH: &[&str] = &["please", "then", "with"];

/// Words of starting that are a noun or a statement after one of `NO_START`: "the start", "we use".
pub(super) const VERBS: &[&str] = &["use", "run", "start", "begin", "do", "try", "go"];

/// See `VERBS`.
pub(super) const NO_START: &[&str] = &[
    "a", "an", "the", "each", "every", "no", "my", "our", "your", "his", "her", "its", "their", "i", "we", "they",
    "he", "she", "who", "which", "people", "everybody",
];

/// Words after which "to" and a verb tell what happened: "failed to start".
pub(super) const TOLD_OF: &[&str] =
    &["failed", "fails", "failing", "unable", "refused", "refuses", "tried", "used", "happens", "happened"];

/// Words after which "with" describes: "a line that begins with".
pub(super) const DESCRIBING: &[&str] = &[
    "begins", "starts", "ends", "beginning", "starting", "ending", "compared", "compatible", "confused", "experience",
    "familiar", "happy", "line", "lines", "trouble", "wrong",
];

/// The words before "do" after which it asks for something. Elsewhere it is a word of many languages.
pub(super) const BEFORE_DO: &[&str] =
    &["please", "then", "and", "now", "just", "to", "you", "let's", "lets", "go", "so", "also"];

/// Words after a comma that begin a request of their own.
pub(super) const REQUESTING: &[&str] = &[
    "use", "run", "start", "begin", "try", "go", "then", "enable", "launch", "invoke", "activate", "resume",
    "continue", "just",
];

/// Words that deny what follows in their clause. "not" does after one of `AUXILIARIES`, and so does "…n't".
pub(super) const DENYING: &[&str] = &["dont", "cannot", "without", "never", "avoid"];

/// Words that make a question of a sentence which begins with them.
pub(super) const AUXILIARIES: &[&str] = &[
    "is", "are", "was", "were", "am", "do", "does", "did", "has", "have", "had", "can", "could", "should", "would",
    "will", "may", "might", "must", "shall",
];

/// Auxiliaries that ask for something if "you" follows.
pub(super) const POLITE: &[&str] = &["can", "could", "will", "would"];

/// Pronouns after which a "do" at the beginning of a sentence asks.
pub(super) const PRONOUNS: &[&str] = &["i", "you", "we", "they", "people", "these", "those", "the", "my", "our"];

/// Words that make a question of the rest of a sentence.
pub(super) const QUESTIONS: &[&str] =
    &["what", "what's", "whats", "why", "why's", "how", "how's", "hows", "whether", "wonder", "wondering"];

/// Words that make a question of a sentence which begins with them, and join clauses elsewhere.
pub(super) const OPENING_QUESTIONS: &[&str] = &["which", "when's", "where", "where's", "who", "who's", "whom", "whose"];

/// Words before the beginning of a sentence.
pub(super) const OPENERS: &[&str] =
    &["and", "but", "so", "ok", "okay", "hey", "hi", "hello", "sorry", "wait", "also", "now", "well", "or", "btw"];

/// Words of ending. They count for a skill that follows directly, or after `FILLERS` only.
pub(super) const ENDING: &[&str] = &[
    "abandon", "abort", "aborting", "cancel", "canceled", "canceling", "cancelled", "cancelling", "clear", "close",
    "deactivate", "deactivating", "disable", "disabling", "ditch", "drop", "end", "ended", "ending", "exit", "exiting",
    "finish", "forget", "halt", "interrupt", "kill", "leave", "leaving", "pause", "quit", "quitting", "remove", "rid",
    "skip", "stop", "stopped", "stopping", "suspend", "terminate", "undo",
];

/// Words of ending with one that follows: "turn $team off", "turn off $team".
pub(super) const TURNING: &[&str] = &["turn", "switch", "shut", "turning", "switching", "shutting"];

/// Two words of ending that count like `ENDING`.
pub(super) const ENDING_PAIRS: &[(&str, &str)] = &[("enough", "of"), ("out", "of"), ("had", "enough")];

/// Words before "with" that end something after one of `BEFORE_DONE`: "I am done with".
pub(super) const DONE: &[&str] = &["done", "finished", "through"];

/// See `DONE`. "It can be done with" ends nothing.
pub(super) const BEFORE_DONE: &[&str] = &["am", "i'm", "are", "we're", "you", "you're"];

/// Words after a denial that take it back: "don't forget to".
pub(super) const ASSENTING: &[&str] = &["forget", "hesitate"];

/// Two words of ending that count for their whole clause.
pub(super) const ENDING_CLAUSE: &[(&str, &str)] =
    &[("no", "longer"), ("no", "more"), ("instead", "of"), ("rather", "than"), ("place", "of")];

/// Words between a word of ending and the skill.
pub(super) const FILLERS: &[&str] = &[
    "a", "active", "all", "already", "an", "and", "any", "being", "both", "current", "doing", "every", "from", "in",
    "it", "me", "mode", "modes", "my", "now", "of", "or", "our", "please", "running", "session", "skill", "skills",
    "that", "the", "these", "this", "to", "using", "workflow", "working", "your",
];

/// Words behind a skill that end it, if nothing but `LEADING_TO_END` and `TAILS` stands beside them.
pub(super) const ENDING_ALONE: &[&str] = &[
    "abort", "cancel", "deactivate", "disable", "end", "exit", "halt", "kill", "off", "pause", "quit", "stop",
    "suspend", "terminate",
];

/// See `ENDING_ALONE`.
pub(super) const LEADING_TO_END: &[&str] =
    &["can", "has", "is", "just", "mode", "must", "needs", "now", "please", "should", "skill", "to"];

/// See `ENDING_ALONE`.
pub(super) const TAILS: &[&str] = &[
    "again", "all", "already", "everything", "for", "here", "immediately", "it", "me", "mode", "now", "please",
    "running", "session", "skill", "thanks", "that", "the", "this", "today", "working",
];

/// Clauses behind a skill that take it back.
pub(super) const BACK: &[&str] = &[
    "actually do not", "actually don't", "actually no", "actually not", "better not", "cancel that", "do not", "don't",
    "dont", "forget it", "forget that", "maybe not", "never mind", "nevermind", "no", "no do not", "no don't",
    "no wait", "nope", "not now", "not yet", "or maybe not", "or not", "or rather not", "rather not", "scratch that",
    "strike that", "wait no",
];

/// Verbs directly behind a skill that tell what became of it, at the end of a clause or before one of `PREPOSITIONS`.
pub(super) const FAILURES: &[&str] = &[
    "broke", "crashed", "crashes", "died", "ended", "errored", "failed", "fails", "finished", "froze", "hangs", "hung",
    "looped", "stalled", "started", "stopped", "stuck",
];

/// See `FAILURES`.
pub(super) const PREPOSITIONS: &[&str] = &[
    "after", "again", "and", "at", "because", "before", "but", "during", "for", "halfway", "immediately", "in", "on",
    "since", "to", "twice", "when", "while", "with", "without",
];

/// Verbs directly behind a skill that tell how it is, unless one of `ASKING` follows.
pub(super) const SPEAKING: &[&str] =
    &["can't", "cannot", "didn't", "doesn't", "hadn't", "hasn't", "is", "isn't", "seems", "was", "wasn't", "won't"];

/// See `SPEAKING`: "is there", "is the".
pub(super) const ASKING: &[&str] = &[
    "a", "all", "an", "any", "anything", "everything", "he", "i", "it", "my", "our", "she", "someone", "something",
    "that", "the", "there", "these", "they", "this", "those", "we", "you", "your",
];

/// Words of other languages that no English sentence has. They tell that a "use", "do" or "via" is not English.
pub(super) const FOREIGN: [&[&str]; 6] = [GERMAN, FRENCH, IBERIAN, ITALIAN, DUTCH, OTHERS];

const GERMAN: &[&str] = &[
    "auch", "bitte", "das", "dem", "der", "diese", "diesen", "dieser", "dieses", "dann", "ein", "eine", "einen", "ich",
    "ist", "kann", "kannst", "kein", "keine", "mach", "mache", "nicht", "nie", "noch", "oder", "ohne", "sind", "und",
    "warum", "wenn", "wer", "wie", "wieso", "wir", "zu", "zum", "zur",
];
const FRENCH: &[&str] = &[
    "avec", "cette", "corrige", "dans", "des", "il", "je", "le", "les", "ne", "nous", "pas", "peut", "peux",
    "pourquoi", "quand", "que", "quel", "quelle", "qui", "quoi", "sans", "sont", "tu", "un", "une", "vous",
];
/// Spanish and Portuguese.
const IBERIAN: &[&str] = &[
    "como", "cual", "del", "el", "esa", "ese", "eso", "essa", "esse", "esta", "este", "esto", "favor", "hay", "isso",
    "isto", "las", "los", "mi", "nao", "nunca", "para", "pero", "por", "porque", "puede", "puedes", "puedo", "qual",
    "quando", "quero", "quien", "sem", "um", "uma", "una", "uno", "voce",
];
const ITALIAN: &[&str] = &["che", "della", "gli", "lo", "non", "perche", "puoi", "quello", "questa", "questo", "senza"];
const DUTCH: &[&str] =
    &["deze", "dit", "een", "geen", "het", "hoe", "ik", "niet", "van", "voor", "waarom", "wat", "wij", "zonder"];
/// Turkish, Polish, Swedish, Danish and Indonesian.
const OTHERS: &[&str] = &[
    "bir", "bu", "bunu", "degil", "icin", "neden", "ve", "czy", "dla", "dlaczego", "jak", "jest", "prosze", "att",
    "det", "hur", "hvad", "ikke", "inte", "jag", "jeg", "och", "jangan", "tidak", "tolong", "untuk", "yang",
];

/// Programs: a line that begins with one is a command.
pub(super) const PROGRAMS: &[&str] = &[
    "$", "awk", "brew", "bun", "cargo", "cat", "cd", "chmod", "chown", "conda", "cp", "curl", "deno", "docker",
    "dotnet", "gcloud", "gh", "git", "gradle", "grep", "kubectl", "ls", "mkdir", "mv", "mvn", "nohup", "npm", "npx",
    "pip", "pipenv", "pm2", "pnpm", "podman", "poetry", "psql", "rm", "rsync", "scp", "sed", "ssh", "sudo",
    "systemctl", "tar", "tee", "terraform", "uv", "vagrant", "xargs", "yarn",
];

/// Words of programming languages: a line that begins with one and a value is code.
pub(super) const STATEMENTS: &[&str] = &[
    "declare", "die", "echo", "exit", "export", "global", "local", "print", "printf", "readonly", "return", "say",
    "source", "unset", "shift", "my", "our", "foreach", "elseif", "elsif",
];

/// Words that stand alone on a line of code.
pub(super) const ALONE: &[&str] =
    &["fi", "done", "esac", "else", "then", "do", "end", "begin", "endif", "endforeach", ";;", "else:", "try:"];

/// Instructions of a Dockerfile and of SQL.
pub(super) const INSTRUCTIONS: &[&str] = &[
    "ARG", "CMD", "COPY", "CREATE", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "INSERT", "RUN", "SELECT", "USER", "WORKDIR",
];
