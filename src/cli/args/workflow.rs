//! Arguments of `workflow`.

use clap::Subcommand;

use crate::cli::args::shared::{CallerArgs, RunArg};
use crate::cli::complete;
use crate::model::WorkflowId;

// Commands of `workflow`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// List the workflows that can be started here
    List,
    /// Write a workflow with three phases into the project, to be changed by you
    New {
        /// Its name
        name: WorkflowId,
    },
    /// Show a workflow's phases
    Show {
        /// Its name
        #[arg(add = complete::definitions())]
        name: String,
        /// Print the definition as it is written
        #[arg(long)]
        source: bool,
    },
    /// Compile a definition and show everything that is wrong with it
    Check {
        /// A file, or the name of a workflow
        #[arg(add = complete::definitions())]
        target: String,
        /// A type of state that the graph in the file may use; may be repeated
        #[arg(long = "type", value_name = "NAME")]
        types: Vec<String>,
    },
    /// Draw a workflow: a picture on a terminal, a Mermaid diagram elsewhere
    Graph {
        /// A file, or the name of a workflow
        #[arg(add = complete::definitions())]
        target: String,
        /// Print the Mermaid diagram on a terminal as well
        #[arg(long)]
        mermaid: bool,
        /// A type of state that the graph in the file may use; may be repeated
        #[arg(long = "type", value_name = "NAME")]
        types: Vec<String>,
    },
    /// Let a run follow today's definition of its workflow
    Adopt {
        #[command(flatten)]
        run: RunArg,
        /// The file that defines it, if it is not to be found by its name
        #[arg(long, value_name = "FILE")]
        from: Option<String>,
        #[command(flatten)]
        caller: CallerArgs,
    },
    /// Write a workflow in another notation, and list what is lost
    Convert {
        /// A file, or the name of a workflow
        #[arg(add = complete::definitions())]
        target: String,
        /// The notation
        #[arg(long, value_name = "NOTATION", value_parser = ["mermaid", "graph", "phases"])]
        to: String,
        /// A type of state that the graph in the file may use; may be repeated
        #[arg(long = "type", value_name = "NAME")]
        types: Vec<String>,
    },
}
