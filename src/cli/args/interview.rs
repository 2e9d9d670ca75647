//! Arguments of `interview`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::cli::complete;

// The document, the script and the run of an interview.
#[derive(Debug, Args)]
pub(crate) struct BeginArgs {
    /// The document that the interview writes
    pub(crate) document: PathBuf,
    /// The script: .flow/interviews/NAME.interview.yaml, or a shipped one [default: the document's, or charter]
    #[arg(long, value_name = "NAME", add = complete::scripts())]
    pub(crate) script: Option<String>,
    /// The run that the interview belongs to: each answer is logged in the run, and the interview is one of its
    /// activities
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(crate) run_id: Option<String>,
    /// Begin in a file that is not Markdown (.md, .markdown), or outside of the project
    #[arg(long)]
    pub(crate) force: bool,
}

// A document, and an answer to one of its questions.
#[derive(Debug, Args)]
pub(crate) struct GivenArgs {
    /// The document
    #[arg(required_unless_present = "behind", add = complete::documents())]
    document: Option<PathBuf>,
    /// The answer; `-` or no answer reads standard input
    #[arg(allow_hyphen_values = true, value_name = "TEXT", value_parser = super::text)]
    text: Option<String>,
    /// Everything after `--` is taken as it is, even if it looks like an option
    #[arg(last = true, num_args = 1..=2, value_name = "TEXT", conflicts_with = "text")]
    behind: Vec<OsString>,
}

/// Where the text of an answer comes from.
pub(crate) enum AnswerSource {
    /// From an argument.
    Text(String),
    /// From standard input, because the argument is `-`.
    Input,
    /// No argument: a person at the terminal is asked; without one, standard input is read.
    Nothing,
}

impl GivenArgs {
    /// The document, and where the answer comes from. The error is a sentence that says what is wrong with the
    /// arguments.
    pub(crate) fn read(self) -> Result<(PathBuf, AnswerSource), &'static str> {
        let given = match self.text {
            Some(text) if text == "-" => AnswerSource::Input,
            Some(text) => AnswerSource::Text(text),
            None => AnswerSource::Nothing,
        };
        let mut behind = self.behind.into_iter();
        let document = self.document.or_else(|| behind.next().map(PathBuf::from)).ok_or("no document is named")?;
        match (behind.next(), behind.next()) {
            (None, _) => Ok((document, given)),
            (Some(text), None) => {
                let text = text.into_string().map_err(|_| "the answer is not UTF-8 text")?;
                Ok((document, AnswerSource::Text(text)))
            }
            (Some(_), Some(_)) => Err("more than one answer was given; put quotes around it"),
        }
    }
}

// Commands of `interview`.
#[derive(Debug, Subcommand)]
pub(crate) enum InterviewCommand {
    /// Begin an interview about a document, or find the one that was interrupted
    Start(BeginArgs),
    /// List the interviews that are open here, and the other questions of open runs
    List,
    /// Show the next question
    Next {
        /// The document
        #[arg(add = complete::documents())]
        document: PathBuf,
    },
    /// Answer a question; the answer is safe on disk when this returns
    Answer {
        #[command(flatten)]
        given: GivenArgs,
        /// The number of the question, so that the answer cannot go to another one [default: the next question]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9999))]
        question: Option<u32>,
        /// Ask this question of your own, and answer it
        #[arg(long, value_name = "QUESTION", allow_hyphen_values = true, value_parser = super::text, requires = "topic")]
        asked: Option<String>,
        /// What the question of your own is about, in a few words
        #[arg(long, value_name = "TOPIC", allow_hyphen_values = true, value_parser = super::text, requires = "asked")]
        topic: Option<String>,
        /// Replace the answer that is there
        #[arg(long, requires = "question", conflicts_with = "asked")]
        replace: bool,
    },
    /// Skip a question
    Skip {
        /// The document
        #[arg(add = complete::documents())]
        document: PathBuf,
        /// The reason
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = super::text)]
        reason: Option<String>,
        /// The number of the question [default: the next one]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9999))]
        question: Option<u32>,
    },
    /// Show all questions, answers and sections
    Status {
        /// The document
        #[arg(add = complete::documents())]
        document: PathBuf,
    },
    /// Write the answers into their sections, and remove the scratch pad
    Finish {
        /// The document
        #[arg(add = complete::documents())]
        document: PathBuf,
        /// What belongs into the sections, a JSON object of their ids, or what an agent answered with it; `-` reads
        /// standard input; where it has no text, the answers stand
        #[arg(long, value_name = "FILE")]
        content: Option<PathBuf>,
        /// Finish even if questions are open
        #[arg(long)]
        early: bool,
    },
    /// Abandon an interview: remove the scratch pad, and keep a copy with all answers
    Abandon {
        /// The document
        #[arg(add = complete::documents())]
        document: PathBuf,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Ask and answer all questions at the terminal; after an interruption, the same command continues
    ///
    /// Without --agent the script asks. At a terminal, Enter sends an answer; a line that ends in a backslash or with
    /// Alt-Enter continues on the next line. Arrow up brings back earlier answers. `/back` returns to the previous
    /// question, `/skip REASON` skips one, `/help` shows the keys, `/quit`, `/exit` or Ctrl-D stops. Before the
    /// document is written, all answers are shown. From a pipe each line is an answer.
    Run {
        #[command(flatten)]
        begin: BeginArgs,
        /// The command that chooses what to ask: it gets the document's state on standard input, and prints one JSON
        /// object
        #[arg(long, value_name = "COMMAND")]
        agent: Option<String>,
        /// The time limit for one reply of the agent
        #[arg(long, value_name = "SECONDS", value_parser = super::time_limit, default_value = "300")]
        timeout: Duration,
        /// Append the agent's replies to this file
        #[arg(long, value_name = "FILE")]
        record: Option<PathBuf>,
        /// Take the agent's replies from this file, where it has one for the same state
        #[arg(long, value_name = "FILE")]
        replay: Option<PathBuf>,
    },
}
