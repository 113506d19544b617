//! Document of a report, independent of its output form: sections that consist of blocks. The `pages` modules build the
//! document, and the `forms` modules print it.

use std::collections::HashSet;

use crate::answer_line::{AnswerLine, Warnings};
use crate::plot::{Bars, Chain, Flame, Intervals, Plot};
use crate::tone::Tone;
use run::number::prose::counted;

/// Content of a whole report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doc {
    /// Result in one line, such as the capacity and the bottleneck.
    pub title: String,
    /// Command, start and duration of the run.
    pub subtitle: String,
    /// Sections in reading order.
    pub sections: Vec<Section>,
    /// True if the answer section already contains the figures of the title. A short report omits a title whose figures
    /// the answer section repeats.
    pub title_in_answer: bool,
}

/// A section of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// ID of the section, to which links lead: a word without spaces.
    pub id: String,
    /// Heading; empty for no heading.
    pub title: String,
    /// Importance of the section. The importance decides which forms of the output show the section.
    pub weight: Weight,
    /// Contents of the section.
    pub blocks: Vec<Block>,
}

/// Importance of a section. Sections that more readers need are more important.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A section that all readers need, before all other sections. If a document has a section of this weight, the
    /// brief form shows only this section.
    Answer,
    /// A section that all readers need, after the answer section. The brief form shows sections of this weight only if
    /// the document has no answer section.
    First,
    /// A section for readers who want more than the brief form. The brief form does not show sections of this weight.
    #[default]
    Main,
    /// A section for readers who want all results. A terminal does not show sections of this weight.
    Full,
    /// A section for readers who check details. The HTML page hides a section of details until the reader opens it, and
    /// the terminal does not show it.
    Detail,
}

/// A block of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph of sentences.
    Paragraph(String),
    /// One sentence that readers should notice.
    Note(Note),
    /// Lines that summarize the run's result.
    Answer(Vec<AnswerLine>),
    /// Reasons to trust the report's figures less.
    Warnings(Warnings),
    /// Main figures of the section.
    KeyFigures(Vec<KeyFigure>),
    /// Evidence for the verdict.
    Evidence(Vec<EvidenceLine>),
    /// A list of short entries.
    List(List),
    /// A table with named columns.
    Table(Table),
    /// A chart of curves.
    Plot(Box<Plot>),
    /// A chart of bars, for example one per device, or one per side (client and server).
    Bars(Bars),
    /// A chart of estimates with intervals, and with a reference value. The section with this chart also has a table of
    /// the estimates.
    Intervals(Intervals),
    /// Boxes joined by arrows, which show the server and its upstream services.
    Chain(Chain),
    /// A flame graph: functions, below their callers, by their share of CPU time or of waiting threads.
    Flame(Flame),
    /// Small charts side by side, one per counter.
    Multiples(Vec<Plot>),
}

/// A sentence that readers should notice, with its tone and a link to details.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    /// Tone in which the sentence is shown.
    pub tone: Tone,
    /// Sentence that readers should notice.
    pub text: String,
    /// ID of the section with more details. In HTML, the sentence links to the section with this ID; empty for no link.
    pub to: &'static str,
}

/// A main figure of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyFigure {
    /// Name of the figure, in one word.
    pub name: String,
    /// Value with its unit.
    pub value: String,
    /// Explanation of the value.
    pub detail: String,
    /// Tone in which the figure is shown.
    pub tone: Tone,
}

/// A line of evidence, which may have a value, and a limit for this value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvidenceLine {
    /// Text of the line.
    pub text: String,
    /// Name of the counter or cost from which the line was derived.
    pub counter: String,
    /// Source of the counter: side (client or server), host and instance.
    pub place: String,
    /// Value as text; empty for none.
    pub value: String,
    /// Limit of the value, as text; empty for none.
    pub limit: String,
    /// Value divided by its limit; `None` if the value or the limit is unknown, or if the two cannot be compared.
    pub share: Option<f64>,
}

/// List of entries. An entry may begin with a term.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    /// Title of the list.
    pub title: String,
    /// Entries of the list.
    pub items: Vec<Item>,
    /// Number of entries that a short report shows. A short report states only the number of the entries that it leaves
    /// out.
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

/// Table with named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Caption; may be empty.
    pub caption: String,
    /// Columns of the table.
    pub columns: Vec<Col>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// Sentences below the table, such as the reasons for absent values.
    pub notes: Vec<String>,
    /// Number of rows that a terminal shows. The terminal states only the number of the rows that it does not show. 0
    /// hides the table in a terminal, and `None` shows all rows.
    pub brief: Option<usize>,
    /// Where readers find the rows that a terminal does not show, such as `with --json`. `None` if readers find these
    /// rows in the full report.
    pub rest: Option<&'static str>,
    /// True if readers may sort the table by any column. Only the HTML form can sort tables.
    pub sortable: bool,
}

/// Column of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Col {
    /// Heading of the column. The heading contains the unit, unless each cell contains its own unit.
    pub name: String,
    /// True for a column of figures, which is aligned to the right.
    pub right: bool,
    /// Rank of the column, which decides whether a narrow terminal shows the column. If the terminal is too narrow, the
    /// terminal first leaves out the columns with the highest rank. The terminal leaves out a column of rank 0 only in
    /// one case: the table is still too wide when all columns of text are as narrow as possible. The terminal shows no
    /// column with a rank above 4.
    pub rank: u8,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Text of the cell.
    pub text: String,
    /// Tone in which the cell is shown.
    pub tone: Tone,
    /// Details about the value, which some output forms show on demand.
    pub hint: String,
    /// Relative URL to which the cell links, in output forms with links (HTML); empty for no link.
    pub link: String,
    /// Value by which a sortable table orders this cell; `None` to order the cell by its text.
    pub sort: Option<f64>,
}

impl Section {
    /// Creates a section of a document.
    pub fn new(id: &str, title: &str, weight: Weight, blocks: Vec<Block>) -> Self {
        Self { id: id.into(), title: title.into(), weight, blocks }
    }
}

impl Note {
    /// Creates a block that consists of a note without a link.
    pub fn block(tone: Tone, text: impl Into<String>) -> Block {
        Block::Note(Self { tone, text: text.into(), to: "" })
    }

    /// Creates a block that consists of a note with a link to the section with the ID `to`.
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
    /// Creates a table cell with a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Creates a cell that shows `–` instead of a value, with the reason as its hint.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self { text: "–".into(), tone: Tone::Quiet, hint: reason.into(), ..Self::default() }
    }

    /// Returns the cell with the tone `tone`.
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
    /// Removes `rows` rows from the middle of the table. Adds a note below the table with the number of removed rows.
    pub fn leave_out(&mut self, rows: usize) {
        let begin = (self.rows.len() - rows.min(self.rows.len())) * 2 / 3;
        let out = self.rows.drain(begin..(begin + rows).min(self.rows.len())).count();
        self.notes.extend((out > 0).then(|| format!("{} in the full report", counted(out as f64, "more row"))));
    }

    /// Removes the column at index `at`, with its cells.
    pub fn remove_column(&mut self, at: usize) {
        self.columns.remove(at);
        self.rows.iter_mut().filter(|row| at < row.len()).for_each(|row| drop(row.remove(at)));
    }

    /// Adds a note below the table for each reason why a value is absent. If several cells share a reason, adds one
    /// note for them.
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
