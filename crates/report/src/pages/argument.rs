//! Reasoning that leads to the verdict, step by step.

use run::Run;

use crate::{Block, Item, List, Section, Weight};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let steps = &run.findings.argument;
    if steps.is_empty() {
        return Vec::new();
    }
    let items: Vec<Item> = steps.iter().enumerate().map(|(i, s)| Item::new(format!("{}", i + 1), s.clone())).collect();
    let list = List { title: "Step by step".into(), brief: items.len(), items };
    vec![Section::new("argument", "The argument", Weight::Full, vec![Block::List(list)])]
}
