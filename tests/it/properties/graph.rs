//! As `workflow`, of another form.

use flowrun::machine::Form;

/// The input is a state graph.
pub fn holds(bytes: &[u8]) {
    super::workflow::holds_of(Form::Graph, bytes);
}
