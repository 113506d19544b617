//! Tables and charts of experiments. The folder of each experiment specifies its tables and charts. From a
//! specification and the trials, this module builds the data of the tables and charts, which reports then draw.

mod chart;
mod column;
mod ranked;
mod table;
mod value;

use run::{ComparedTime, ExperimentReport, ResultTable, Run, ValueName};

pub(crate) use chart::{ChartSpec, Lines, Quantity, chart, q};
pub(crate) use column::{Column, Show, above, c, words};
pub(crate) use ranked::{Order, Ranking};
pub(crate) use table::TableSpec;
pub(crate) use value::Who::{Client, Server};
pub(crate) use value::{Busy, COMPLETED, Of, RESPONSE, per_s, set, value};

/// Specifications of an experiment's tables and charts.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    /// Tables that rank the trials, shown first.
    pub(crate) rankings: &'static [Ranking],
    /// Function that builds a table that [`TableSpec`] cannot describe; returns `None` if the experiment has no such
    /// table.
    pub(crate) own_table: fn(&Run) -> Option<ResultTable>,
    /// Tables with one row per trial, and published tables.
    pub(crate) tables: &'static [TableSpec],
    /// Charts of the experiment.
    pub(crate) charts: &'static [ChartSpec],
    /// Times by which two runs can be compared. Each entry has a description and the names of several values, in order
    /// of preference. If the trials of a run lack the first value of an entry, the comparison uses the next value that
    /// they have.
    pub(crate) compared: &'static [(&'static str, &'static [ValueName<f64>])],
}

impl Figures {
    /// Specifications of an experiment that has no tables and charts.
    pub(crate) const NONE: Self = Self { rankings: &[], own_table: |_| None, tables: &[], charts: &[], compared: &[] };

    /// Builds the tables and charts of a run.
    pub(crate) fn report(&self, run: &Run) -> ExperimentReport {
        let mut tables = ranked::tables(self.rankings, &run.trials);
        // If a ranking table already shows the trials, a terminal shows no further tables of trials.
        let full_only = !tables.is_empty();
        tables.extend((self.own_table)(run));
        for spec in self.tables {
            tables.extend(table::of_trials(spec, &run.trials).map(|table| ResultTable { full_only, ..table }));
            tables.extend(spec.published.map(|(caption, csv)| table::of_publication(caption, csv)));
        }
        let charts = self.charts.iter().filter_map(|spec| chart::of_trials(spec, &run.trials)).collect();
        let time = |(name, values): &(&str, &[ValueName<f64>])| ComparedTime {
            name: (*name).into(),
            values: values.iter().map(|value| value.name().into()).collect(),
        };
        let compared = self.compared.iter().map(time).collect();
        let judged_by_trial = !self.rankings.is_empty() && run.trials.len() > 1;
        ExperimentReport { tables, charts, compared, judged_by_trial }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EXPERIMENTS;

    /// Returns every value that a chart, a table or a ranking of an experiment shows.
    fn shown(shows: &Figures) -> Vec<Of> {
        let of_chart = |chart: &ChartSpec| {
            let lines = match chart.lines {
                Lines::Values(all) => all.iter().map(|(_, of)| *of).collect(),
                _ => Vec::new(),
            };
            [lines, vec![chart.x.of, chart.y.of]].concat()
        };
        let charts = shows.charts.iter().flat_map(of_chart);
        let tables = shows.tables.iter().flat_map(|t| t.columns).map(|c| c.of);
        charts.chain(tables).chain(ranked::shown(shows.rankings)).collect()
    }

    #[test]
    fn every_shown_cost_and_counter_exists() {
        let (mut costs, mut counters) = (0, 0);
        for of in EXPERIMENTS.iter().flat_map(|e| shown(&e.figures)).chain(crate::records::plateau_values()) {
            match of {
                Of::Cost(_, id) => {
                    assert!(judge::COSTS.iter().any(|cost| cost.id == id), "there is no cost {id}");
                    costs += 1;
                }
                Of::Counter(_, id) => {
                    assert!(run::counter(id).is_some(), "there is no counter {id}");
                    counters += 1;
                }
                _ => {}
            }
        }
        assert!(costs > 20 && counters > 2, "{costs} costs and {counters} counters");
    }

    #[test]
    fn every_line_of_the_published_points_is_valid() {
        let files = EXPERIMENTS.iter().flat_map(|e| e.figures.charts).filter(|chart| !chart.published.is_empty());
        for chart in files {
            let lines = chart.published.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()).count();
            let points: usize = chart::published(chart.published).iter().map(|s| s.x.len()).sum();
            assert_eq!(points + 1, lines, "{}", chart.title);
            assert!(lines > 1, "{}: no points", chart.title);
            assert!(chart.published.lines().any(|l| l == "series,x,y"), "{}", chart.title);
        }
    }

    #[test]
    fn published_tables_have_every_cell() {
        for (caption, csv) in EXPERIMENTS.iter().flat_map(|e| e.figures.tables).filter_map(|t| t.published) {
            let table = table::of_publication(caption, csv);
            assert!(table.rows.len() > 2 && table.columns.len() > 2, "{caption}");
            assert!(table.rows.iter().all(|r| r.len() == table.columns.len()), "{caption}");
        }
    }
}
