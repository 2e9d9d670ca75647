//! The processes whose life shows that work goes on which a caller without a session has begun.

use crate::host::process::{Holder, Stat, ancestors, holders_of, of_process};

/// Programs that show terminals.
const TERMINALS: &[&str] = &[
    "alacritty", "foot", "ghostty", "gnome-terminal-", "guake", "kgx", "kitty", "konsole", "lxterminal",
    "mate-terminal", "ptyxis", "ptyxis-agent", "qterminal", "rxvt", "st", "terminator", "terminology", "tilix", "ttyd",
    "urxvt", "wezterm", "wezterm-gui", "xfce4-terminal", "xterm", "yakuake",
];
/// Programs that keep terminals which no person looks at.
const MULTIPLEXERS: &[&str] = &["abduco", "byobu", "dtach", "dvtm", "mosh-server", "screen", "tmux", "zellij"];
/// Programs that let people in.
const DOORS: &[&str] = &["dropbear", "getty", "agetty", "login", "sshd", "sshd-auth", "sshd-session"];
/// Programs that start services, jobs and containers.
const SERVICES: &[&str] = &[
    "anacron", "atd", "conmon", "containerd", "containerd-shim", "cron", "crond", "docker-init", "dockerd",
    "dumb-init", "init", "launchd", "openrc-init", "podman", "runit", "runsv", "runsvdir", "s6-supervise", "s6-svscan",
    "supervisord", "systemd", "tini",
];
/// Editors, which have terminals too.
const EDITORS: &[&str] = &["code", "code-server", "cursor", "emacs", "nvim", "vi", "vim", "zed", "zed-editor"];
/// Programs that stay when the work of a caller is over. The kernel keeps 15 bytes of a name.
const BYSTANDERS: [&[&str]; 5] = [TERMINALS, MULTIPLEXERS, DOORS, SERVICES, EDITORS];

/// The most processes that are noted.
const NOTED: usize = 8;
/// How much of the command line of a shell is read, in bytes.
const ARGUMENTS: usize = 16 << 10;
/// Options of shells after which another word belongs to them.
const WITH_VALUE: &[&str] = &["-o", "+o", "-O", "+O", "-C", "--rcfile", "--init-file", "--init-command"];

impl Holder {
    /// The processes that run this one for the sake of its work: from its parent up to the nearest one that is not a shell
    /// or launcher. A script, a build or an agent ends when its work does. A shell in which a person types and whatever is
    /// above it live on for days, so that the search ends there. Empty if there is no `/proc`.
    pub(crate) fn workers() -> Vec<Self> {
        let mut found = Vec::new();
        for process in ancestors().take(NOTED) {
            if is_bystander(&process) || is_interactive(&process) {
                break;
            }
            // A subshell ends before its script, and `make` lives as long as its build: note what is above them, too.
            let is_launcher = process.is_launcher();
            found.push(process);
            if !is_launcher {
                break;
            }
        }
        holders_of(found)
    }
}

fn is_bystander(process: &Stat) -> bool {
    let program = process.program().to_lowercase();
    BYSTANDERS.iter().any(|group| group.contains(&program.as_str()))
}

/// Whether a process is a shell that waits for what a person types. One that cannot be looked at is taken for one.
fn is_interactive(process: &Stat) -> bool {
    if !process.is_shell() {
        return false;
    }
    let Some(arguments) = arguments(process.pid) else { return true };
    !has_commands(&arguments) && (process.has_terminal() || arguments.iter().any(|argument| argument == "-i"))
}

/// The command line of a process.
fn arguments(pid: u32) -> Option<Vec<String>> {
    let bytes = of_process(pid, "cmdline", ARGUMENTS).ok()?;
    let arguments = bytes.split(|byte| *byte == 0).filter(|argument| !argument.is_empty());
    Some(arguments.map(|argument| String::from_utf8_lossy(argument).into_owned()).collect())
}

/// Whether the command line of a shell has the commands that it runs, or names the script with them.
fn has_commands(arguments: &[String]) -> bool {
    let mut rest = arguments.iter().map(String::as_str).peekable();
    // BusyBox is named before its shell.
    if rest.next().is_some_and(|program| program.ends_with("busybox")) {
        rest.next();
    }
    while let Some(argument) = rest.next() {
        if WITH_VALUE.contains(&argument) {
            rest.next();
            continue;
        }
        match argument.strip_prefix('-') {
            // What follows are arguments of commands that it reads.
            Some("s") => return false,
            Some("-") => return rest.peek().is_some(),
            Some("-command") => return true,
            Some(letters) if is_cluster(letters) && letters.contains('c') => return true,
            // `-eo pipefail`.
            Some(letters) if is_cluster(letters) && letters.ends_with('o') => drop(rest.next()),
            Some(_) => {}
            None if argument.starts_with('+') => {}
            None => return true,
        }
    }
    false
}

/// Whether an option is several in one, such as `-euc`.
fn is_cluster(letters: &str) -> bool {
    // A longer word is an option of its own, such as `-noprofile`.
    letters.len() <= 8 && letters.bytes().all(|letter| letter.is_ascii_alphabetic()) && letters != "login"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_with_commands_is_told_from_one_in_which_a_person_types() {
        for line in [
            "bash script.sh",
            "sh -c true",
            "bash -lc true",
            "bash -e step.sh",
            "bash --noprofile --norc -eo pipefail step.sh",
            "bash -o pipefail script.sh",
            "bash -- script.sh",
            "zsh -ic true",
            "fish --command true",
            "busybox sh script.sh",
            "/bin/sh ./build",
        ] {
            assert!(has_commands(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()), "{line}");
        }
        for line in [
            "bash",
            "-bash",
            "-zsh",
            "bash -i",
            "bash -l",
            "bash --login",
            "zsh -il",
            "bash --init-file integration.sh",
            "bash --rcfile rc -i",
            "fish -C prepare",
            "bash -eo pipefail",
            "bash -s argument",
            "busybox sh",
            "sh -",
            "bash --",
        ] {
            assert!(!has_commands(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()), "{line}");
        }
    }

    #[test]
    fn no_bystander_is_noted_under_a_name_that_the_kernel_cuts() {
        for name in BYSTANDERS.concat() {
            assert!(name.len() <= 15, "{name}");
        }
    }
}
