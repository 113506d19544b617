//! What a report says, before it has any form: sections of blocks. Pages make it, forms print it.

use std::collections::HashSet;

use crate::plot::{Bars, Chain, Intervals, Plot};

/// A whole report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doc {
    /// The result in one line.
    pub title: String,
    /// What was done, when and for how long.
    pub subtitle: String,
    /// The pages that had something to say, in reading order.
    pub sections: Vec<Section>,
}

/// What one page says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Anchor: a word without spaces.
    pub id: String,
    /// Heading; empty for the verdict, which needs none.
    pub title: String,
    /// Who needs it.
    pub weight: Weight,
    /// What it says.
    pub blocks: Vec<Block>,
}

/// Who needs a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Everybody, and first: it is in the brief form of the terminal, too.
    First,
    /// Everybody: it is in every whole form.
    #[default]
    Main,
    /// Readers of the full report, not of the terminal.
    Full,
    /// Those who check the details: folded in HTML, not in the terminal.
    Detail,
}

/// One thing that is said.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Sentences.
    Paragraph(String),
    /// A sentence to notice.
    Note(Note),
    /// The few figures that the section is about.
    KeyFigures(Vec<KeyFigure>),
    /// Why the verdict is what it is.
    Evidence(Vec<EvidenceLine>),
    /// Short entries.
    List(List),
    /// Rows and columns.
    Table(Table),
    /// Curves.
    Plot(Box<Plot>),
    /// Bars, one a device or side.
    Bars(Bars),
    /// Estimates with intervals beside a value; a table has the same figures.
    Intervals(Intervals),
    /// Boxes joined by arrows: who waits for whom.
    Chain(Chain),
    /// Small charts side by side, one a counter.
    Multiples(Vec<Plot>),
}

/// How something is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it stands.
    #[default]
    Plain,
    /// Held, passed.
    Good,
    /// To be careful with.
    Warn,
    /// Failed.
    Bad,
    /// Of less weight.
    Quiet,
}

/// A sentence to notice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    /// How it is meant.
    pub tone: Tone,
    /// The sentence.
    pub text: String,
    /// Id of the section that says more, where a form can lead there; empty for none.
    pub to: &'static str,
}

/// A figure that the reader came for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyFigure {
    /// What it is, in a word.
    pub name: String,
    /// The figure with its unit.
    pub value: String,
    /// How it is to be read.
    pub detail: String,
    /// How it is meant.
    pub tone: Tone,
}

/// One line of evidence, with the value and its limit where they are figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvidenceLine {
    /// The line.
    pub text: String,
    /// Counter or cost that it rests on.
    pub counter: String,
    /// Side, host and instance.
    pub place: String,
    /// The value as text; empty when there is none.
    pub value: String,
    /// The limit as text; empty when there is none.
    pub limit: String,
    /// Value over limit, when both are known and comparable.
    pub share: Option<f64>,
}

/// Entries, each with a term in front.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    /// What the entries are, in a word.
    pub title: String,
    /// The entries.
    pub items: Vec<Item>,
    /// How many a short form shows before it only counts the rest.
    pub brief: usize,
}

/// An entry of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    /// A name in front, may be empty.
    pub term: String,
    /// The sentence.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it shows, in a sentence; may be empty.
    pub caption: String,
    /// The columns.
    pub columns: Vec<Col>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// Sentences below it: reasons of absent values.
    pub notes: Vec<String>,
    /// Rows that the terminal shows before it only counts the rest; 0 leaves the table to fuller forms; absent: all.
    pub brief: Option<usize>,
}

/// A column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Col {
    /// Heading, with the unit where the cells do not say it.
    pub name: String,
    /// Figures stand to the right.
    pub right: bool,
    /// 0 is always shown; where room is short, the highest ranks go first, and the terminal shows none above 4.
    pub rank: u8,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
    /// More about it, for forms that can show it on demand.
    pub hint: String,
}

impl Section {
    /// A section of a page.
    pub fn new(id: &str, title: &str, weight: Weight, blocks: Vec<Block>) -> Self {
        Self { id: id.into(), title: title.into(), weight, blocks }
    }
}

impl Note {
    /// A note block.
    pub fn block(tone: Tone, text: impl Into<String>) -> Block {
        Block::Note(Self { tone, text: text.into(), to: "" })
    }

    /// The same with the section that says more.
    pub fn leading(tone: Tone, text: impl Into<String>, to: &'static str) -> Block {
        Block::Note(Self { tone, text: text.into(), to })
    }
}

impl Item {
    /// An entry of a list.
    pub fn new(term: impl Into<String>, text: impl Into<String>) -> Self {
        Self { term: term.into(), text: text.into(), tone: Tone::Plain }
    }
}

impl Col {
    /// A column of words.
    pub fn words(name: &str, rank: u8) -> Self {
        Self { name: name.into(), right: false, rank }
    }

    /// A column of figures.
    pub fn figures(name: &str, rank: u8) -> Self {
        Self { name: name.into(), right: true, rank }
    }
}

impl Cell {
    /// A cell that says something.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A cell without a value, with the reason.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self { text: "–".into(), tone: Tone::Quiet, hint: reason.into() }
    }

    /// The same cell, meant differently.
    pub fn toned(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl Table {
    /// Takes so many rows out of the middle, and says so below.
    pub fn leave_out(&mut self, rows: usize) {
        let begin = (self.rows.len() - rows.min(self.rows.len())) * 2 / 3;
        let out = self.rows.drain(begin..(begin + rows).min(self.rows.len())).count();
        self.notes.push(format!("{out} more rows in the full report"));
    }

    /// Puts the reasons of absent cells below the table, each once.
    pub fn explain_absent(&mut self) {
        let mut said: HashSet<String> = self.notes.iter().cloned().collect();
        for cell in self.rows.iter().flatten().filter(|c| !c.hint.is_empty() && c.text == "–") {
            let line = format!("–: {}", cell.hint);
            if said.insert(line.clone()) {
                self.notes.push(line);
            }
        }
    }
}
