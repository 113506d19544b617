//! The document of a report, independent of its form: sections of blocks. Pages make it, forms print it.

use std::collections::HashSet;

use crate::plot::{Bars, Chain, Intervals, Plot};

/// Whole report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doc {
    /// Result in one line.
    pub title: String,
    /// Command, start and duration.
    pub subtitle: String,
    /// Sections in reading order.
    pub sections: Vec<Section>,
}

/// Section of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Anchor: a word without spaces.
    pub id: String,
    /// Heading; empty for the verdict, which needs none.
    pub title: String,
    /// Readers who need it.
    pub weight: Weight,
    /// Contents.
    pub blocks: Vec<Block>,
}

/// Readers who need a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Everybody, first: also in the brief form of the terminal.
    First,
    /// Everybody: in every complete form.
    #[default]
    Main,
    /// Readers of the full report, but not in the terminal.
    Full,
    /// Readers who check details: folded in HTML, not in the terminal.
    Detail,
}

/// Block of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Sentences.
    Paragraph(String),
    /// Sentence to notice.
    Note(Note),
    /// Main figures of the section.
    KeyFigures(Vec<KeyFigure>),
    /// Evidence of the verdict.
    Evidence(Vec<EvidenceLine>),
    /// Short entries.
    List(List),
    /// Rows and columns.
    Table(Table),
    /// Curves.
    Plot(Box<Plot>),
    /// Bars, one per device or side.
    Bars(Bars),
    /// Estimates with intervals beside a reference value; a table has these figures, too.
    Intervals(Intervals),
    /// Boxes joined by arrows that show which one waits for which.
    Chain(Chain),
    /// Small charts side by side, one per counter.
    Multiples(Vec<Plot>),
}

/// Tone of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Neutral.
    #[default]
    Plain,
    /// Good: held or passed.
    Good,
    /// Needs care.
    Warn,
    /// Failed.
    Bad,
    /// Less important.
    Quiet,
}

/// Sentence to notice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    /// Tone.
    pub tone: Tone,
    /// Sentence.
    pub text: String,
    /// Id of the section with more details, for forms with links; empty for none.
    pub to: &'static str,
}

/// Main figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyFigure {
    /// Name in one word.
    pub name: String,
    /// Figure with its unit.
    pub value: String,
    /// Explanation.
    pub detail: String,
    /// Tone.
    pub tone: Tone,
}

/// Line of evidence, with value and limit where they are figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvidenceLine {
    /// Text of the line.
    pub text: String,
    /// Counter or cost that it is based on.
    pub counter: String,
    /// Side, host and instance.
    pub place: String,
    /// Value as text; empty for none.
    pub value: String,
    /// Limit as text; empty for none.
    pub limit: String,
    /// Value over limit, if both are known and comparable.
    pub share: Option<f64>,
}

/// List of entries, each with a term in front.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    /// Title of the list.
    pub title: String,
    /// Entries.
    pub items: Vec<Item>,
    /// Number of entries in a short form, which only counts the rest.
    pub brief: usize,
}

/// Entry of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    /// Name in front; may be empty.
    pub term: String,
    /// Sentence.
    pub text: String,
    /// Tone.
    pub tone: Tone,
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Caption; may be empty.
    pub caption: String,
    /// Columns.
    pub columns: Vec<Col>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// Sentences below the table, such as reasons of absent values.
    pub notes: Vec<String>,
    /// Number of rows in the terminal, which only counts the rest; 0: not in the terminal; `None`: all.
    pub brief: Option<usize>,
}

/// Column of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Col {
    /// Heading, with the unit unless the cells have it.
    pub name: String,
    /// Align to the right, as figures are.
    pub right: bool,
    /// Rank: 0 is always shown. Without enough room the highest ranks are dropped first; the terminal shows none above
    /// 4.
    pub rank: u8,
}

/// Cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Contents.
    pub text: String,
    /// Tone.
    pub tone: Tone,
    /// Details, for forms that can show them on demand.
    pub hint: String,
}

impl Section {
    /// Makes a section.
    pub fn new(id: &str, title: &str, weight: Weight, blocks: Vec<Block>) -> Self {
        Self { id: id.into(), title: title.into(), weight, blocks }
    }
}

impl Note {
    /// Makes a note block.
    pub fn block(tone: Tone, text: impl Into<String>) -> Block {
        Block::Note(Self { tone, text: text.into(), to: "" })
    }

    /// Makes a note block with a link to a section.
    pub fn leading(tone: Tone, text: impl Into<String>, to: &'static str) -> Block {
        Block::Note(Self { tone, text: text.into(), to })
    }
}

impl Item {
    /// Entry of a list.
    pub fn new(term: impl Into<String>, text: impl Into<String>) -> Self {
        Self { term: term.into(), text: text.into(), tone: Tone::Plain }
    }
}

impl Col {
    /// Makes a column of words.
    pub fn words(name: &str, rank: u8) -> Self {
        Self { name: name.into(), right: false, rank }
    }

    /// Makes a column of figures.
    pub fn figures(name: &str, rank: u8) -> Self {
        Self { name: name.into(), right: true, rank }
    }
}

impl Cell {
    /// Makes a cell.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Makes a cell without a value, with the reason.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self { text: "–".into(), tone: Tone::Quiet, hint: reason.into() }
    }

    /// Returns the cell with another tone.
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
    /// Removes rows from the middle and says so below.
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
