//! The `flow` program.

/// The C library starts a process in half the time of glibc in a virtual machine, but allocates slowly.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> std::process::ExitCode {
    flowrun::cli::main()
}
