//! The `flow` program.

fn main() -> std::process::ExitCode {
    flowrun::cli::main()
}
