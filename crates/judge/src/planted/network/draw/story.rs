//! Description of a simulated network, for messages of failed tests.

use super::choice::Draw;
use super::parts::Parts;
use crate::planted::network::world::{CLIENT, SERVER, World};

pub(super) fn story(draw: &Draw, world: &World, parts: &Parts) -> String {
    let ms = |s: f64| format!("{:.3} ms", s * 1e3);
    let mut all = vec![
        format!("{:?} {:?}", draw.kind, world.programs[SERVER].threads),
        format!("{} CPUs{}", draw.cpus, if draw.shared { " shared with the generator" } else { "" }),
        format!("CPU {}", ms(parts.cpu_s)),
    ];
    let mut part = |is: bool, text: String| all.extend(is.then_some(text));
    part(parts.serial_s > 0.0, format!("behind a lock {}", ms(parts.serial_s)));
    part(parts.sleep_s > 0.0, format!("sleep {}", ms(parts.sleep_s)));
    part(parts.rare_s > 0.0, format!("1 % sleep {}", ms(parts.rare_s)));
    if let Some(b) = parts.backend {
        let place = if b.here { "here" } else { "elsewhere" };
        part(
            true,
            format!(
                "backend {place} {:?} CPU {} sleep {} by {} connections",
                b.threads,
                ms(b.cpu_s),
                ms(b.sleep_s),
                b.connections
            ),
        );
    }
    part(true, format!("generator {} threads {}", world.load_threads(), ms(parts.generator_s)));
    part(world.way_s > 0.0, format!("way {}", ms(world.way_s)));
    part(world.think_s > 0.0, format!("think {}", ms(world.think_s)));
    part(draw.other > 0.0, format!("another program {:.2} CPUs", draw.other));
    for (at, name) in [(SERVER, "server"), (CLIENT, "generator")] {
        part(
            world.programs[at].quota.is_some(),
            format!("{name} quota {:.2}", world.programs[at].quota.unwrap_or(0.0)),
        );
    }
    part(world.limiter.is_some(), format!("{:?}", world.limiter));
    part(world.listener.is_some(), format!("{:?}", world.listener));
    part(true, format!("at most {} connections", world.max_connections));
    all.join(", ")
}
