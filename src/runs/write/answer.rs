//! Runs a command of the caller's and reads its answer.

use crate::host::{CommandEnd, CommandResult, Job, end_by};

/// Runs `job`, and gives its standard output without the line break at the end. Each line on its standard error goes to
/// `tell`.
///
/// # Errors
/// A sentence fragment that says why there is no answer; the caller puts the name of the command before it.
pub(crate) fn answer_of(job: &Job<'_>, tell: &mut dyn FnMut(&str)) -> Result<String, String> {
    let mut last = String::new();
    let answered = job.run(&mut |line| {
        tell(&format!("  {line}"));
        if !line.trim().is_empty() {
            line.clone_into(&mut last);
        }
    });
    let CommandResult { ended, output } = answered.map_err(|error| format!("its command cannot be run: {error}"))?;
    let said =
        if last.is_empty() { String::new() } else { format!(": {}", last.chars().take(400).collect::<String>()) };
    match ended {
        CommandEnd::Exited(status) if status.success() => {}
        CommandEnd::Exited(status) => return Err(format!("its command ended with {status}{said}")),
        CommandEnd::TooSlow => {
            let seconds = job.limit.as_secs_f64();
            return Err(format!("its command took longer than {seconds} s, and was ended{said}"));
        }
        CommandEnd::TooLong => {
            return Err(format!(
                "its command answered more than {} bytes, and was ended; put long output into a file and answer its name",
                job.most
            ));
        }
        CommandEnd::Interrupted(signal) => {
            // Do not record anything: the state that was begun is in doubt, as after a kill.
            end_by(signal);
            return Err("it was interrupted".to_owned());
        }
    }
    let text = String::from_utf8(output).map_err(|_| "the command's output is not valid UTF-8".to_owned())?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}
