//! As `workflow`, of another form.

use flowrun::machine::Form;

/// The input is a Mermaid diagram alone.
pub fn holds(bytes: &[u8]) {
    super::workflow::holds_of(Form::Mermaid, bytes);
}
