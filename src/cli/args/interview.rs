//! Arguments of `interview`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

// Arguments of `interview`.
#[derive(Debug, Args)]
pub(crate) struct InterviewArgs {
    #[command(subcommand)]
    pub(crate) command: InterviewCommand,
}

// Where an interview is, or begins.
#[derive(Debug, Args)]
pub(crate) struct BeginArgs {
    /// The document that is written
    pub(crate) document: PathBuf,
    /// The script: .flow/interviews/NAME.interview.yaml, or a shipped one [default: the document's, or charter]
    #[arg(long, value_name = "NAME")]
    pub(crate) script: Option<String>,
    /// The run that the interview belongs to: its log gets each answer, and the interview becomes an activity of it
    #[arg(long, value_name = "RUN")]
    pub(crate) run_id: Option<String>,
}

// An answer, and where it belongs.
#[derive(Debug, Args)]
pub(crate) struct GivenArgs {
    /// The document
    #[arg(required_unless_present = "behind")]
    document: Option<PathBuf>,
    /// The answer; `-` or nothing reads standard input
    #[arg(allow_hyphen_values = true, value_name = "TEXT", value_parser = super::text)]
    text: Option<String>,
    /// Behind `--`, anything is the answer, also what looks like an option
    #[arg(last = true, num_args = 1..=2, value_name = "TEXT", conflicts_with = "text")]
    behind: Vec<OsString>,
}

/// What an answer says.
pub(crate) enum Given {
    /// This.
    Text(String),
    /// What standard input says.
    Input,
    /// Nothing was given: a person at the terminal is asked.
    Nothing,
}

impl GivenArgs {
    /// The document, and what the answer says; why not, when that cannot be told.
    pub(crate) fn read(self) -> Result<(PathBuf, Given), &'static str> {
        let given = match self.text {
            Some(text) if text == "-" => Given::Input,
            Some(text) => Given::Text(text),
            None => Given::Nothing,
        };
        let mut behind = self.behind.into_iter();
        let document = self.document.or_else(|| behind.next().map(PathBuf::from)).ok_or("no document is named")?;
        match (behind.next(), behind.next()) {
            (None, _) => Ok((document, given)),
            (Some(text), None) => {
                let text = text.into_string().map_err(|_| "the answer is not UTF-8 text")?;
                Ok((document, Given::Text(text)))
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
    /// Show the next question
    Next {
        /// The document
        document: PathBuf,
    },
    /// Answer a question; what is answered is safe when this returns
    Answer {
        #[command(flatten)]
        given: GivenArgs,
        /// Which question; it keeps the answer from going under another one than was read [default: the next]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9999))]
        question: Option<u32>,
        /// Ask this question of your own, and answer it
        #[arg(long, value_name = "QUESTION", allow_hyphen_values = true, value_parser = super::text, requires = "topic")]
        asked: Option<String>,
        /// What the question of your own is about, in a few words
        #[arg(long, value_name = "TOPIC", allow_hyphen_values = true, value_parser = super::text, requires = "asked")]
        topic: Option<String>,
        /// Take the place of the answer that stands there
        #[arg(long, requires = "question", conflicts_with = "asked")]
        replace: bool,
    },
    /// Pass a question over
    Skip {
        /// The document
        document: PathBuf,
        /// Why
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = super::text)]
        reason: Option<String>,
        /// Which question [default: the next]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9999))]
        question: Option<u32>,
    },
    /// Show all questions, answers and sections
    Status {
        /// The document
        document: PathBuf,
    },
    /// Write the answers into their sections, and remove the scratch pad
    Finish {
        /// The document
        document: PathBuf,
        /// What belongs into the sections, a JSON object of their ids, or what an agent answered with it; `-` reads
        /// standard input; where it has no text, the answers stand
        #[arg(long, value_name = "FILE")]
        content: Option<PathBuf>,
        /// Also while questions are left
        #[arg(long)]
        early: bool,
    },
    /// Give an interview up: the scratch pad goes, and a copy with all answers stays
    Abandon {
        /// The document
        document: PathBuf,
        /// Without asking
        #[arg(long)]
        yes: bool,
    },
    /// Ask and answer in one go, at the terminal; interrupted, the same command goes on
    ///
    /// Without --agent the script asks. At a terminal, Enter sends an answer; a line that ends in a backslash goes on in the
    /// next one, and so does one that is ended with Alt-Enter. The arrow up brings earlier answers back. `/back` goes back to
    /// the question before, `/skip REASON` passes one over, `/help` shows the keys, `/quit`, `/exit` or Ctrl-D stops. Before
    /// the document is written, all answers are shown. From a pipe each line is an answer.
    Run {
        #[command(flatten)]
        begin: BeginArgs,
        /// The command that says what to ask: the document's state on standard input, one JSON object on standard output
        #[arg(long, value_name = "COMMAND")]
        agent: Option<String>,
        /// How long the agent may take for one answer
        #[arg(long, value_name = "SECONDS", value_parser = super::seconds, default_value = "300")]
        timeout: Duration,
        /// Add what the agent answers to this file
        #[arg(long, value_name = "FILE")]
        record: Option<PathBuf>,
        /// Answer in the place of the agent from this file, wherever it holds the same state
        #[arg(long, value_name = "FILE")]
        replay: Option<PathBuf>,
    },
}
