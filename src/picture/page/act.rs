//! Forms by which a page acts, on a server that lets it.

use maud::{Markup, html};
use serde_json::{Value, json};

use crate::interviews::{InterviewStatusReport, InterviewStep, OpenInterview};
use crate::model::RunStatus;
use crate::picture::words::shortened;
use crate::runs::{Need, RunReport, ShownQuestion};

/// A form with one text. The script asks the reader again before it is sent.
struct Act<'a> {
    /// Names it on the page.
    key: String,
    /// Where it is sent, below the address of programs.
    address: &'a str,
    /// The last part of that address: what is done.
    verb: &'a str,
    /// What the button says.
    button: &'a str,
    /// The question to the reader before it is sent; it names the run.
    ask: String,
    /// What the buttons say with which the reader sends it, or does not. They name what happens, since the text may
    /// itself be a yes or a no.
    choices: [&'a str; 2],
    /// What is sent besides the text.
    sent: Value,
    /// The name of the text in what is sent, and what it is for.
    text: (&'a str, String),
}

/// The buttons below an answer.
const ANSWERS: [&str; 2] = ["Send answer", "Back"];

fn form(act: &Act<'_>) -> Markup {
    let field = format!("{}-text", act.key);
    html! {
        form.act method="post" action={ "/api/v1" (act.address) "/" (act.verb) } data-key=(act.key) data-ask=(act.ask)
            data-do=(act.choices[0]) data-leave=(act.choices[1]) data-sent=(act.sent) {
            label for=(field) { (shortened(&act.text.1, 1000)) }
            textarea #(field) name=(act.text.0) rows="2" required[act.text.0 == "answer" || act.verb == "reject"] {}
            button type="submit" { (act.button) }
        }
    }
}

/// What a person can do about a run, whose page is at `address`.
pub(super) fn acts_on_run(run: &RunReport, address: &str) -> Markup {
    let id = &run.card.run.head.run_id;
    // The server refuses what would change a run that has moved on from what the page shows.
    let seen = json!({ "seen": run.seen });
    let change = |verb, button, choices, text: &str| Act {
        key: format!("act-{verb}"),
        address,
        verb,
        button,
        ask: format!("{button} the run {id}?"),
        choices,
        sent: seen.clone(),
        text: ("reason", text.to_owned()),
    };
    html! {
        @for question in run.questions.iter().filter(|question| question.document.is_none()) {
            (form(&answer(run, question, address)))
        }
        @if run.card.need == Some(Need::Approval) {
            (form(&change("approve", "Approve", ["Approve", "Not yet"], "Why you agree, if it is not plain")))
            (form(&change("reject", "Reject", ["Reject", "Not yet"], "What is missing")))
        }
        @if run.card.run.head.status == RunStatus::Blocked {
            (form(&change("unblock", "Unblock", ["Unblock the run", "Leave it blocked"], "What was resolved")))
        }
        @if run.card.group.is_open() {
            details.act data-key="cancel" {
                summary { "Cancel this run" }
                (form(&change("cancel", "Cancel", ["Cancel the run", "Keep it"], "Why it is cancelled")))
            }
        }
    }
}

fn answer<'a>(run: &RunReport, asked: &ShownQuestion, address: &'a str) -> Act<'a> {
    let question = &asked.question;
    let who = question.unit.as_ref().map_or(question.step.as_str(), |unit| unit.as_str());
    Act {
        key: format!("act-answer-{who}"),
        address,
        verb: "answer",
        button: "Answer",
        ask: format!(
            "Send this answer to {who} in the run {}? It asks: {}",
            run.card.run.head.run_id,
            shortened(&question.prompt, 1000)
        ),
        choices: ANSWERS,
        sent: json!({ "seen": run.seen, "step": question.step, "unit": question.unit }),
        text: ("answer", format!("Answer to {who}: {}", question.prompt)),
    }
}

/// The answer to the next question of an interview.
pub(super) fn act_on_interview(project: &str, one: &OpenInterview, status: &InterviewStatusReport) -> Markup {
    // A finished interview, or one that cannot be read, takes no answer.
    if status.next.kind != InterviewStep::NextQuestion {
        return html! {};
    }
    let number = status.next.metadata.question_number;
    // The server refuses an answer to another question than the one that the page shows.
    let asked = json!({ "topic": status.next.topic, "asked": status.next.next_question });
    form(&Act {
        key: format!("act-answer-{number}"),
        address: &format!("/{project}/interview"),
        verb: "answer",
        button: "Answer",
        ask: format!("Write this answer to question {number} into {}, for {}?", one.document.display(), one.run_id),
        choices: ANSWERS,
        sent: json!({ "document": one.document, "question": number, "asked": asked }),
        text: ("answer", format!("Answer to question {number}")),
    })
}

/// The dialog in which the reader is asked again. The script fills it in.
pub(super) fn confirmation() -> Markup {
    html! {
        dialog #confirm aria-labelledby="confirm-ask" aria-describedby="confirm-text" {
            p #confirm-ask {}
            blockquote #confirm-text {}
            p.bad #confirm-trouble role="alert" {}
            button type="button" #confirm-do {}
            " "
            button type="button" #confirm-leave autofocus {}
        }
    }
}
