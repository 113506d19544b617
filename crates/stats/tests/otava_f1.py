"""Prints the F1 and the alarms of Apache Otava on the series of change_points.rs.

    python3 -m venv /tmp/otava && /tmp/otava/bin/pip install apache-otava
    LOADLINE_WRITE_SERIES=/tmp/series cargo test -p loadline-stats --test change_points series_can_be_written
    /tmp/otava/bin/python crates/stats/tests/otava_f1.py /tmp/series
"""

import ast
import sys
from collections import defaultdict

from otava.analysis import compute_change_points

NEAR = 5
counts, flat = defaultdict(lambda: [0, 0, 0]), defaultdict(lambda: [0, 0])
for line in open(sys.argv[1]):
    kind, steps, values = line.split(";")
    steps, values = ast.literal_eval(steps), ast.literal_eval(values)
    found = [int(point.index) for point in compute_change_points(values)[0]]
    if not steps:
        flat[kind][0] += bool(found)
        flat[kind][1] += 1
        continue
    left, hits = list(steps), 0
    for at in found:
        near = [step for step in left if abs(step - at) <= NEAR]
        if near:
            left.remove(near[0])
            hits += 1
    for index, count in enumerate([hits, len(found), len(steps)]):
        counts[kind][index] += count
for kind, (hits, found, steps) in sorted(counts.items()):
    f1, alarms = 2 * hits / (found + steps), flat[kind][0] / flat[kind][1]
    print(f"{kind}: F1 {f1:.3f} (precision {hits / found:.3f}, recall {hits / steps:.3f}), alarms {alarms:.3f}")
