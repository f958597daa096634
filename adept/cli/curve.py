"""A picture of a training run: its losses over the epochs, as svg that needs no further package."""

import math
from pathlib import Path

from adept.data.writing import read_table

WIDTH, HEIGHT, MARGIN = 480, 300, 44  # in pixels
COLOURS = {"train_loss": "#1f77b4", "validation_loss": "#c0392b"}
SCALE = '<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def draw_curve(table: Path, path: Path) -> None:
    """Draw the columns of ``metrics.csv`` that hold losses; draw nothing if there are none."""
    rows = read_table(table)
    points = {
        name: [
            (int(row["epoch"]) + 1, float(row[name]))
            for row in rows
            if row.get(name) and math.isfinite(float(row[name]))
        ]
        for name in COLOURS
    }
    losses = [loss for of_one in points.values() for _, loss in of_one]
    if not losses:
        return
    low, high, last = min(losses), max(losses), max(epoch for of_one in points.values() for epoch, _ in of_one)

    def place(epoch: float, loss: float) -> tuple[float, float]:
        across = (epoch - 1) / max(1, last - 1) * (WIDTH - 2 * MARGIN)
        return MARGIN + across, HEIGHT - MARGIN - (loss - low) / ((high - low) or 1) * (HEIGHT - 2 * MARGIN)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<path d="M{MARGIN},{MARGIN}V{HEIGHT - MARGIN}H{WIDTH - MARGIN}" fill="none" stroke="#222"/>',
        SCALE.format(x=MARGIN - 4, y=MARGIN + 4, anchor="end", text=f"{high:.3g}"),
        SCALE.format(x=MARGIN - 4, y=HEIGHT - MARGIN, anchor="end", text=f"{low:.3g}"),
        SCALE.format(x=MARGIN, y=HEIGHT - MARGIN + 16, anchor="middle", text=1),
        SCALE.format(x=WIDTH - MARGIN, y=HEIGHT - MARGIN + 16, anchor="middle", text=last),
        SCALE.format(x=WIDTH / 2, y=HEIGHT - 10, anchor="middle", text="epoch"),
        SCALE.format(x=MARGIN, y=16, anchor="start", text="loss in nats per token"),
    ]
    for number, (name, of_one) in enumerate(points.items()):
        path_of_one = of_one if len(of_one) > 1 else of_one * 2  # a line of one point is a dot
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in path_of_one))
        words = SCALE.format(x=WIDTH - MARGIN, y=16 + 14 * number, anchor="end", text=name)
        marker = 'stroke-width="1.5"' if len(of_one) > 1 else 'stroke-width="4" stroke-linecap="round"'
        lines += [
            f'<g fill="{COLOURS[name]}">{words}</g>',
            f'<polyline points="{corners}" fill="none" stroke="{COLOURS[name]}" {marker}/>',
        ]
    path.write_text("\n".join([*lines, "</svg>"]) + "\n", "utf-8")
