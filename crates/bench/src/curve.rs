//! Table of the CPU time per request for each number of connections.

use comfy_table::{ContentArrangement, Table};

/// Formats CPU microseconds per request, one row per number of connections.
pub(crate) fn table(connections: &str, points: &[(u32, [f64; 3])]) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header([connections, "loadline us", "wrk us", "ratio", "nginx us"]);
    for (n, [ours, peer, server]) in points {
        let figure = |v: f64| if v.is_finite() { format!("{v:.2}") } else { "none".into() };
        let figures = [*ours, *peer, ours / peer, *server].map(figure);
        table.add_row([n.to_string()].into_iter().chain(figures));
    }
    table.to_string()
}
