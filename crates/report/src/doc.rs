//! The document of a report, independent of its form: sections with blocks. Pages build the document, and forms print
//! it.

use std::collections::HashSet;

use crate::answer_line::{AnswerLine, Warnings};
use crate::plot::{Bars, Chain, Flame, Intervals, Plot};
use crate::tone::Tone;

/// A whole report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doc {
    /// Result in one line, such as the capacity and its limit.
    pub title: String,
    /// Command, start and duration of the run.
    pub subtitle: String,
    /// Sections in reading order.
    pub sections: Vec<Section>,
    /// True if the answer contains the figures of the title, so a short form needs no title.
    pub title_in_answer: bool,
}

/// A section of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Anchor of the section: a word without spaces.
    pub id: String,
    /// Heading; empty for the verdict, which needs none.
    pub title: String,
    /// Readers who need the section.
    pub weight: Weight,
    /// Contents of the section.
    pub blocks: Vec<Block>,
}

/// Readers who need a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// All readers, before everything else. If a document has such a section, the brief form shows only this section.
    Answer,
    /// All readers, after the answer. If a document has no answer, the brief form shows these sections, too.
    First,
    /// All readers. Shown in every complete form.
    #[default]
    Main,
    /// Readers of the full report. Not shown in the terminal.
    Full,
    /// Readers who check details. The HTML page hides this part until the reader opens it, and the terminal does not
    /// show it.
    Detail,
}

/// A block of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph of sentences.
    Paragraph(String),
    /// A sentence that readers should notice.
    Note(Note),
    /// Lines of the answer.
    Answer(Vec<AnswerLine>),
    /// Reasons to trust the figures less.
    Warnings(Warnings),
    /// Main figures of the section.
    KeyFigures(Vec<KeyFigure>),
    /// Evidence of the verdict.
    Evidence(Vec<EvidenceLine>),
    /// A list of short entries.
    List(List),
    /// A table.
    Table(Table),
    /// A chart of curves.
    Plot(Box<Plot>),
    /// A chart of bars, one per device or side.
    Bars(Bars),
    /// A chart of estimates with intervals and a reference value. A table has the estimates, too.
    Intervals(Intervals),
    /// Boxes joined by arrows, which show the server and its upstream services.
    Chain(Chain),
    /// Functions by their share of CPU time or of waiting, with their callers.
    Flame(Flame),
    /// Small charts side by side, one per counter.
    Multiples(Vec<Plot>),
}

/// A sentence that readers should notice, with its details.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    /// Tone in which the sentence is shown.
    pub tone: Tone,
    /// Text: a sentence.
    pub text: String,
    /// ID of the section with more details, for forms with links; empty for none.
    pub to: &'static str,
}

/// A main figure of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyFigure {
    /// Name in one word.
    pub name: String,
    /// Figure with its unit.
    pub value: String,
    /// Explanation of the figure.
    pub detail: String,
    /// Tone in which the figure is shown.
    pub tone: Tone,
}

/// A line of evidence, with value and limit if they are numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvidenceLine {
    /// Text of the line.
    pub text: String,
    /// Counter or cost on which the line is based.
    pub counter: String,
    /// Side, host and instance.
    pub place: String,
    /// Value as text; empty for none.
    pub value: String,
    /// Limit as text; empty for none.
    pub limit: String,
    /// Value divided by limit, if both are known and comparable.
    pub share: Option<f64>,
}

/// List of entries, each with a term in front.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    /// Title of the list.
    pub title: String,
    /// Entries of the list.
    pub items: Vec<Item>,
    /// Number of entries in a short form, which only counts the other entries.
    pub brief: usize,
}

/// Entry of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    /// Term in front of the entry; may be empty.
    pub term: String,
    /// Text of the entry: a sentence.
    pub text: String,
    /// Tone in which the entry is shown.
    pub tone: Tone,
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Caption; may be empty.
    pub caption: String,
    /// Columns of the table.
    pub columns: Vec<Col>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// Sentences below the table, such as reasons of absent values.
    pub notes: Vec<String>,
    /// Number of rows shown in a terminal, which only counts the other rows. 0 hides the table in the terminal, and
    /// `None` shows all rows.
    pub brief: Option<usize>,
    /// True if a reader can sort the table by each column, in forms that can do so.
    pub sortable: bool,
}

/// Column of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Col {
    /// Heading, with the unit unless the cells contain it.
    pub name: String,
    /// True for a column of figures, which is aligned to the right.
    pub right: bool,
    /// Rank of the column. Rank 0 is always shown. If there is not enough space, columns with the highest ranks are
    /// left out first. The terminal shows no rank above 4.
    pub rank: u8,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Contents of the cell.
    pub text: String,
    /// Tone in which the cell is shown.
    pub tone: Tone,
    /// Details, for forms that can show them on demand.
    pub hint: String,
    /// Page that a form with links opens, relative to this one; empty for none.
    pub link: String,
    /// Value by which a sortable table orders this cell; absent to order by the text.
    pub sort: Option<f64>,
}

impl Section {
    /// Creates a section.
    pub fn new(id: &str, title: &str, weight: Weight, blocks: Vec<Block>) -> Self {
        Self { id: id.into(), title: title.into(), weight, blocks }
    }
}

impl Note {
    /// Creates a block with a note.
    pub fn block(tone: Tone, text: impl Into<String>) -> Block {
        Block::Note(Self { tone, text: text.into(), to: "" })
    }

    /// Creates a block with a note and a link to a section.
    pub fn leading(tone: Tone, text: impl Into<String>, to: &'static str) -> Block {
        Block::Note(Self { tone, text: text.into(), to })
    }
}

impl Item {
    /// Creates an entry of a list.
    pub fn new(term: impl Into<String>, text: impl Into<String>) -> Self {
        Self { term: term.into(), text: text.into(), tone: Tone::Plain }
    }
}

impl Col {
    /// Creates a column of words.
    pub fn words(name: &str, rank: u8) -> Self {
        Self { name: name.into(), right: false, rank }
    }

    /// Creates a column of figures.
    pub fn figures(name: &str, rank: u8) -> Self {
        Self { name: name.into(), right: true, rank }
    }
}

impl Cell {
    /// Creates a cell.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Creates a cell without a value, with the reason.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self { text: "–".into(), tone: Tone::Quiet, hint: reason.into(), ..Self::default() }
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
    /// Removes rows from the middle, and adds a note below the table.
    pub fn leave_out(&mut self, rows: usize) {
        let begin = (self.rows.len() - rows.min(self.rows.len())) * 2 / 3;
        let out = self.rows.drain(begin..(begin + rows).min(self.rows.len())).count();
        self.notes.extend((out > 0).then(|| format!("{out} more rows in the full report")));
    }

    /// Removes a column.
    pub fn remove_column(&mut self, at: usize) {
        self.columns.remove(at);
        self.rows.iter_mut().filter(|row| at < row.len()).for_each(|row| drop(row.remove(at)));
    }

    /// Adds the reasons of absent cells below the table, each once.
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
