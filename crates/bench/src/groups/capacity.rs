//! Rows about the precision and the duration of `find`, `prove`, `compare` and `arena`.

use crate::row::Goal::{AtLeast, AtMost};
use crate::row::{Row, long};
use crate::rows::{arena, capacity, neighbour, short_find, speed, told_apart};

pub(super) const ROWS: &[Row] = &[
    long(
        "capacity-variation",
        "coefficient of variation of the capacities of several `find` in 30 s, %",
        AtMost(3.0),
        350,
        capacity::variation,
    )
    .aim(AtMost(2.0))
    .shortened(2, 140),
    long("capacity-covers", "of those, intervals that hold the median, %", AtLeast(90.0), 1, capacity::covers)
        .shortened(2, 1),
    long(
        "capacity-neighbour",
        "finds beside a program that burns a CPU for 8 of 30 s, within 10 % of the undisturbed median, %",
        AtLeast(90.0),
        1280,
        neighbour::near,
    )
    .rounds(20)
    .shortened(2, 130),
    long(
        "capacity-neighbour-covers",
        "of those, intervals that hold the undisturbed median, %",
        AtLeast(95.0),
        1,
        neighbour::covers,
    )
    .rounds(20)
    .shortened(2, 1),
    long(
        "capacity-neighbour-named",
        "of those, finds that name the disturbance, %",
        AtLeast(95.0),
        1,
        neighbour::named,
    )
    .rounds(20)
    .shortened(2, 1),
    long(
        "find-10s",
        "finds of 10 s on planted servers with the bottleneck and within 5 % of the capacity of those of 30 s, %",
        AtLeast(90.0),
        450,
        short_find::agreement,
    )
    .rounds(10)
    .shortened(2, 95),
    long("find-unmeasured", "share of a `find` of 10 s that measures nothing", AtMost(0.15), 60, speed::unmeasured),
    long(
        "proof-interval",
        "half of the interval of the main elasticity of nginx in 12 s of `prove`",
        AtMost(0.10),
        75,
        capacity::proof,
    )
    .aim(AtMost(0.05)),
    long(
        "compare-same",
        "comparisons of a live server with itself that tell them apart, %",
        AtMost(10.0),
        450,
        told_apart::equal,
    ),
    long(
        "compare-5",
        "comparisons in 60 s that find 5 % more CPU per request, %",
        AtLeast(90.0),
        640,
        told_apart::by_5_percent,
    ),
    long("compare-2", "the same of 2 %, in CPU per request, %", AtLeast(80.0), 640, told_apart::by_2_percent),
    long("arena-time", "s of an arena of ten servers, with their builds", AtMost(600.0), 650, arena::seconds),
    long("arena-ranked", "of these ten, servers that get a rank", AtLeast(9.0), 1, arena::ranked),
];
