//! A flame graph, independent of its output form: stacks of functions with their weights, which add up to a tree.

use run::number::quantity;

use crate::Unit;

use super::Hue;

/// Maximum depth of the tree of functions in a flame graph. A frame at the maximum depth includes the weight of all
/// deeper frames.
const MAX_DEPTH: usize = 48;

/// Maximum number of functions in output forms without pictures.
const MAX_LINES: usize = 8;

/// If the only callee of a frame has more than this share of the frame's weight, nearly all stacks contain the callee.
const SHARED_PART: f64 = 0.995;

/// A flame graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flame {
    /// Title: the result as a sentence.
    pub title: String,
    /// Caption, which describes the measurement of the stacks.
    pub caption: String,
    /// Unit of the stacks' weights.
    pub unit: Unit,
    /// Colour of the boxes.
    pub hue: Hue,
    /// True if a table beside the graph contains the hottest functions. Output forms without pictures show the table
    /// instead of the graph.
    pub has_table: bool,
    /// Stacks with their weights. A stack is the name of a process and of its functions, from the outermost to the
    /// innermost, separated by `;`.
    pub stacks: Vec<(String, f64)>,
}

/// A frame of the tree: a function, as called by its parent frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Node<'a> {
    pub(super) name: &'a str,
    pub(super) weight: f64,
    /// Weight of the stacks that end with this frame.
    pub(super) own: f64,
    pub(super) callees: Vec<Node<'a>>,
}

impl Flame {
    /// Adds up the stacks to a tree. The root of the tree has no name, and its children are the processes.
    pub(super) fn tree(&self) -> Node<'_> {
        let mut root = Node::default();
        for (stack, weight) in self.stacks.iter().filter(|(_, weight)| weight.is_finite() && *weight > 0.0) {
            let mut node = &mut root;
            node.weight += weight;
            for name in stack.split(';').take(MAX_DEPTH) {
                node = node.callee(name);
                node.weight += weight;
            }
            node.own += weight;
        }
        root.callees.iter_mut().for_each(Node::skip_shared);
        root.sort();
        root
    }

    /// Returns one line of text per function, for output forms without pictures. The lines name the innermost functions
    /// of the stacks with the most weight.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let line = |(name, share): (String, f64)| format!("{} {name}", quantity(share, Unit::Share));
        self.hottest(MAX_LINES).into_iter().map(line)
    }

    /// Returns at most `count` functions, the hottest first. The share of a function is the weight of the stacks that
    /// end in this function, divided by the total weight.
    pub(crate) fn hottest(&self, count: usize) -> Vec<(String, f64)> {
        let mut own = std::collections::BTreeMap::<&str, f64>::new();
        for (stack, weight) in &self.stacks {
            *own.entry(stack.rsplit(';').next().unwrap_or(stack)).or_default() += weight;
        }
        let total: f64 = own.values().sum();
        let mut own: Vec<(String, f64)> = own.into_iter().map(|(name, w)| (name.to_owned(), w / total)).collect();
        own.sort_by(|a, b| b.1.total_cmp(&a.1));
        own.truncate(count);
        own
    }
}

impl<'a> Node<'a> {
    fn callee(&mut self, name: &'a str) -> &mut Self {
        let at = self.callees.iter().position(|callee| callee.name == name);
        let at = at.unwrap_or_else(|| {
            self.callees.push(Node { name, ..Node::default() });
            self.callees.len() - 1
        });
        &mut self.callees[at]
    }

    /// Removes the outermost functions that almost all stacks of a process share, such as `main`.
    fn skip_shared(&mut self) {
        while let [only] = &mut self.callees[..]
            && only.weight > SHARED_PART * self.weight
            && !only.callees.is_empty()
            && only.own < (1.0 - SHARED_PART) * self.weight
        {
            self.callees = std::mem::take(&mut only.callees);
        }
    }

    fn sort(&mut self) {
        self.callees.sort_by(|a, b| a.name.cmp(b.name));
        self.callees.iter_mut().for_each(Node::sort);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flame(stacks: &[(&str, f64)]) -> Flame {
        Flame { stacks: stacks.iter().map(|(s, w)| ((*s).to_owned(), *w)).collect(), ..Flame::default() }
    }

    #[test]
    fn stacks_become_a_tree_without_the_outer_functions_that_all_share() {
        let flame =
            flame(&[("nginx;_start;main;a;b", 3.0), ("nginx;_start;main;a", 1.0), ("nginx;_start;main;c", 4.0)]);
        let tree = flame.tree();
        let nginx = &tree.callees[0];
        assert_eq!((tree.weight, nginx.name, nginx.weight), (8.0, "nginx", 8.0));
        let names: Vec<_> = nginx.callees.iter().map(|n| (n.name, n.weight, n.own)).collect();
        assert_eq!(names, [("a", 4.0, 1.0), ("c", 4.0, 4.0)]);
        assert_eq!(flame.hottest(2), [("c".to_owned(), 0.5), ("b".to_owned(), 0.375)]);
    }
}
