//! Scratch pads: whatever a document holds and whatever is asked and answered, the document stays, and everything that
//! was said comes back.

use flowrun::interviews::pad::{
    EditError, InterviewAnswer, InterviewDocument, InterviewQuestion, PadHead, PadMode, Script,
};
use serde_json::json;

/// What stands between the parts of the input.
pub const BETWEEN: &str = "\u{1e}";

/// The input is a document, then topic, question and answer in turn.
pub fn holds(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut parts = text.split(BETWEEN);
    let document = parts.next().unwrap_or_default();
    let said: Vec<&str> = parts.collect();
    // A document that has a pad already, or something like one, is only read.
    let read = InterviewDocument::read(document);
    if let Ok(pad) = read.only_pad() {
        for line in pad.entries.iter().map(|entry| entry.line).chain(pad.faults.iter().map(|fault| fault.line)) {
            assert!((1..=document.split('\n').count()).contains(&line), "line {line} is nowhere");
        }
        let _ = read.finish(&script(), None);
        let _ = read.without_pad();
    }
    let head = PadHead {
        mode: Some(PadMode::Update),
        started: Some("2025-12-27T10:30:00Z".to_owned()),
        script: Some("s".to_owned()),
        run: Some("r1".to_owned()),
    };
    match read.begin(&head) {
        Ok(begun) => interview(document, begun, &said),
        Err(
            EditError::PadExists { .. }
            | EditError::HeadingLost { .. }
            | EditError::Conflict { .. }
            | EditError::Unsound { .. }
            | EditError::TooLarge { .. },
        ) => {}
        Err(other) => panic!("{other}"),
    }
}

fn interview(document: &str, begun: String, said: &[&str]) {
    let mut text = begun;
    let mut wanted = Vec::new();
    for (nth, part) in said.chunks(3).enumerate() {
        let [topic, asked, answer] = [0, 1, 2].map(|at| part.get(at).copied().unwrap_or("x"));
        let question = InterviewQuestion { topic: topic.to_owned(), asked: asked.to_owned() };
        let number = u32::try_from(nth + 1).unwrap();
        let given = if nth % 4 == 3 {
            InterviewAnswer::Skipped(answer.to_owned())
        } else {
            InterviewAnswer::Given(answer.to_owned())
        };
        let normal =
            |text: &str| text.trim().split('\n').map(|line| line.trim_end_matches('\r')).collect::<Vec<_>>().join("\n");
        let topic = topic.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_empty = topic.is_empty() || normal(asked).is_empty() || (normal(answer).is_empty() && nth % 4 != 3);
        let read = InterviewDocument::read(&text);
        // In one step, or asked first and answered later.
        let edited = match nth % 2 {
            0 => read.answer(number, Some(&question), given),
            _ if is_empty => Err(EditError::EmptyAnswer),
            _ => read.ask(&question).and_then(|asked| InterviewDocument::read(&asked).answer(number, None, given)),
        };
        match edited {
            Ok(edited) => {
                assert!(!is_empty, "something empty was taken");
                text = edited;
                let answer = normal(answer);
                let answer =
                    if nth % 4 == 3 { InterviewAnswer::Skipped(answer) } else { InterviewAnswer::Given(answer) };
                wanted.push((number, topic, normal(asked), answer));
            }
            Err(EditError::Empty { .. } | EditError::EmptyAnswer) if is_empty => break,
            Err(EditError::Reserved) if topic.to_lowercase().trim_end_matches(':') == "scratch pad" => break,
            Err(EditError::TooLarge { .. }) => break,
            Err(error) => panic!("{error}: {topic:?} {asked:?} {answer:?}\n{text}"),
        }
    }
    let read = InterviewDocument::read(&text);
    let pad = read.only_pad().unwrap();
    assert!(pad.faults.is_empty(), "{:?}\n{text}", pad.faults);
    let found: Vec<_> = pad
        .entries
        .iter()
        .map(|entry| (entry.number, entry.topic.clone(), entry.asked.clone(), entry.answer.clone()))
        .collect();
    assert_eq!(found, wanted, "{text}");
    let without = read.without_pad().unwrap();
    let end = if document.is_empty() || document.ends_with('\n') { "" } else { &without[document.len()..] };
    assert_eq!(without, format!("{document}{end}"), "the document did not stay");
    assert!(["", "\n", "\r\n"].contains(&end));
    // Where an interview could begin it can end, and holds what was said, as Markdown shows it.
    let (finished, changes) = match read.finish(&script(), None) {
        Ok(finished) => finished,
        Err(error) => panic!("{error}\n{text}"),
    };
    assert!(InterviewDocument::read(&finished).pad().is_none(), "{finished}");
    assert!(changes.len() <= pad.entries.len() + 2);
    // Backslashes and line ends apart, each answer of ordinary characters stands there in one piece.
    let squashed = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let is_ordinary = |text: &str| text.chars().all(|c| c != '&' && (c.is_ascii_graphic() || "\n\t ".contains(c)));
    for entry in &pad.entries {
        if let InterviewAnswer::Given(answer) = &entry.answer
            && is_ordinary(answer)
        {
            assert!(squashed(&finished).contains(&squashed(answer)), "{answer:?} is lost\n{finished}");
        }
    }
    let content = read.content(&script());
    assert_eq!(read.finish(&script(), Some(&content)).unwrap().0, finished, "{text}");
}

/// Two sections, of which one is likely to be there.
fn script() -> Script {
    let document = json!({
        "metadata": { "id": "s" },
        "sections": [{ "id": "a", "heading": "a" }, { "id": "b", "heading": "Section B" }],
        "questions": [{ "topic": "One", "ask": "?", "fills": "a" }, { "topic": "Two", "ask": "?", "fills": "b" }],
    });
    Script::build(serde_json::from_value(document).unwrap()).unwrap()
}
