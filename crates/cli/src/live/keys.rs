//! Keys that the user can press in the full-screen view.

/// Returns the explanation of the keys, one line per key.
pub(super) fn lines(by_hand: bool) -> Vec<String> {
    let always = [
        ("q", "end the run and save what was measured"),
        ("space", "pause the view; the run goes on"),
        ("?", "show or hide this list"),
        ("Ctrl-C", "the same as q"),
    ];
    let rate = [("+ -", "raise or lower the rate by 10 %")];
    let all = rate.into_iter().filter(|_| by_hand).chain(always);
    all.map(|(key, help)| format!("{key:<8} {help}")).collect()
}
