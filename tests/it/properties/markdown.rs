//! As `workflow`, of another form.

use flowrun::machine::Form;

/// The input is a Markdown document with a diagram.
pub fn holds(bytes: &[u8]) {
    super::workflow::holds_of(Form::Markdown, bytes);
}
