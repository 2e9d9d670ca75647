//! Pictures as SVG, for pages that forbid inline styles and scripts: everything is said by classes, and by presentation
//! attributes for a page without a stylesheet.

mod diagram;

pub use diagram::{Mark, Marks, Progress, diagram_svg};
