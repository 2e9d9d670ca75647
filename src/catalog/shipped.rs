//! The definitions inside this program.

macro_rules! shipped {
    ($($id:literal $file:literal),* $(,)?) => {
        /// Shipped definitions, sorted by id: id, file name and text.
        pub(super) const SHIPPED: &[(&str, &str, &str)] = &[
            $(($id, concat!("workflows/", $file), include_str!(concat!("../../workflows/", $file)))),*
        ];
    };
}
shipped!(
    "address-pr" "address-pr.workflow.yaml",
    "blueprint" "blueprint.md",
    "build" "build.md",
    "build-fast" "build-fast.md",
    "debug" "debug.workflow.yaml",
    "deep-research" "deep-research.md",
    "feature-verifier" "agents/feature-verifier.md",
    "hypothesis-tester" "agents/hypothesis-tester.md",
    "merge-pr" "merge-pr.workflow.yaml",
    "pr-review" "pr-review.md",
    "release" "release.workflow.yaml",
    "review-pr" "review-pr.workflow.yaml",
    "start-issue" "start-issue.workflow.yaml",
    "task-builder" "agents/task-builder.md",
    "task-reviewer" "agents/task-reviewer.md",
);
