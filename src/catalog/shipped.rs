//! The definitions inside this program.

use crate::codec::digest;
use crate::machine::Machine;

/// A definition inside this program.
#[derive(Debug)]
pub(super) struct Shipped {
    pub(super) id: &'static str,
    /// The name of its file.
    pub(super) file: &'static str,
    pub(super) text: &'static str,
    /// That of what it compiles to.
    digest: &'static str,
}

impl Shipped {
    /// Whether `pinned` is what it compiles to. Compiling it takes ten times as long.
    pub(super) fn is(&self, pinned: &Machine) -> bool {
        digest_of(pinned) == self.digest
    }
}

fn digest_of(machine: &Machine) -> String {
    digest(machine.to_value().to_string().as_bytes())
}

macro_rules! shipped {
    ($($id:literal $file:literal $digest:literal),* $(,)?) => {
        /// Shipped definitions, sorted by id.
        pub(super) const SHIPPED: &[Shipped] = &[
            $(Shipped {
                id: $id,
                file: concat!("workflows/", $file),
                text: include_str!(concat!("../../workflows/", $file)),
                digest: $digest,
            }),*
        ];
    };
}
shipped!(
    "address-pr" "address-pr.workflow.yaml" "1049-927c99e2",
    "blueprint" "blueprint.md" "570-e4b3c381",
    "build" "build.md" "1137-f5222073",
    "build-fast" "build-fast.md" "517-0064c4e9",
    "debug" "debug.workflow.yaml" "1280-e09440d3",
    "deep-research" "deep-research.md" "922-6d8673d1",
    "feature-verifier" "agents/feature-verifier.md" "526-9a1dc882",
    "hypothesis-tester" "agents/hypothesis-tester.md" "513-05b7840a",
    "merge-pr" "merge-pr.workflow.yaml" "936-25a2843a",
    "pr-review" "pr-review.md" "719-395ee743",
    "release" "release.workflow.yaml" "945-466ef1ee",
    "review-pr" "review-pr.workflow.yaml" "994-4bcb9789",
    "start-issue" "start-issue.workflow.yaml" "1326-a0e03605",
    "task-builder" "agents/task-builder.md" "508-c358f6dc",
    "task-reviewer" "agents/task-reviewer.md" "511-82853403",
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::disk::Os;

    #[test]
    fn each_shipped_definition_has_the_digest_of_what_it_compiles_to() {
        let catalog = Catalog::new(std::sync::Arc::new(Os), None);
        let mut wrong = Vec::new();
        for shipped in SHIPPED {
            let machine = catalog.find(shipped.id).unwrap().machine;
            if !shipped.is(&machine) {
                wrong.push(format!("{} {}", shipped.id, digest_of(&machine)));
            }
        }
        assert!(wrong.is_empty(), "write these into this file: {wrong:#?}");
    }
}
