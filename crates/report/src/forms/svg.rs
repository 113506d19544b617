//! Flame graphs of the server's threads as one SVG picture. The picture contains its own styles, so it needs no HTML
//! page.

use run::Run;

use crate::pages::stack_blocks;
use crate::plot::{Flame, flame_picture};
use crate::{Block, Doc, ReportError, Style};

pub(super) fn make(_: &Doc, run: &Run, _: &Style) -> Result<String, ReportError> {
    let profile = run.sampled_stacks().ok_or(ReportError::NoStacks)?;
    let blocks = stack_blocks(&profile, &run.findings);
    let flames: Vec<&Flame> =
        blocks.iter().filter_map(|block| if let Block::Flame(flame) = block { Some(flame) } else { None }).collect();
    if flames.is_empty() { Err(ReportError::NoStacks) } else { Ok(flame_picture(&flames)) }
}

#[cfg(test)]
mod tests {
    use run::{Run, Side, StackProfile, StackSum, Trial, WaitProfile};

    fn picture(cpu: Vec<StackSum>, waiting: Vec<StackSum>) -> Result<String, crate::ReportError> {
        let stacks = Some(StackProfile { cpu_samples: 60, cpu, waiting });
        let waits = Some(Box::new(WaitProfile { rounds: 9, stacks, ..WaitProfile::default() }));
        let server = Some(Side { waits, ..Side::default() });
        let run = Run { trials: vec![Trial { server, ..Trial::default() }], ..Run::default() };
        crate::render("svg", &run, &crate::Style::default())
    }

    #[test]
    fn a_picture_has_both_graphs_with_own_styles_and_escaped_names() {
        let sum = |stack: &str, weight| StackSum { stack: stack.into(), weight };
        let svg = picture(vec![sum("nginx;main;deflate", 0.6)], vec![sum("app;handler;<lock>", 3.0)]).unwrap();
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n") && svg.contains("<style>"), "{svg}");
        assert!(!svg.contains("var(") && !svg.contains("@media"), "the colours need no support of a viewer: {svg}");
        assert!(svg.contains("max-width:100%"), "a phone shows the whole picture: {svg}");
        assert!(svg.contains("deflate") && svg.contains("Waiting threads by function") && !svg.contains("<lock>"));
        assert!(matches!(picture(Vec::new(), Vec::new()), Err(crate::ReportError::NoStacks)));
    }
}
