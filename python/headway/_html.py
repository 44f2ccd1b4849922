"""Reports and timelines as HTML for notebooks: inline styles only, no script."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from headway import _native
from headway._time import duration

if TYPE_CHECKING:
    from headway._report import Report, Timeline

#: One colour a category: progress green, start-up blues, data yellow, checkpoints violets, lost
#: work and downtime reds, stalls orange, custom teal, the rest grey.
COLORS = {
    "productive": "#2f9e62",
    "accelerator_init": "#a3cdf0",
    "training_prep": "#5b9bd9",
    "program_startup": "#2a63a8",
    "data_loading": "#e9b824",
    "checkpoint_save": "#a283d6",
    "checkpoint_restore": "#6b46b0",
    "wasted_progress": "#d9534a",
    "infrastructure_recovery": "#94202a",
    "elastic_scale_up": "#f0a29b",
    "elastic_slice_down": "#e27b76",
    "elastic_reinit": "#7fb3d9",
    "custom": "#1fa3a3",
    "step_stall": "#ee8432",
    "other": "#9aa1a9",
}
_ROWS_LIMIT = 20_000
_HELP = dict(_native.categories())


def report(value: Report) -> str:
    """A headline, one bar with all categories, and a table of them."""
    goodput = "–" if not value.elapsed_ns or value.goodput is None else f"{value.goodput:.1%}"
    parts = [
        '<div style="font-family:system-ui,sans-serif;max-width:60em">',
        f'<div><b style="font-size:1.6em">{goodput}</b> goodput of '
        f"{escape(duration(value.elapsed_ns))} · {escape(value.project)}/{escape(value.run)} · "
        f"{escape(value.state)}</div>",
        '<div style="display:flex;height:1.4em;margin:.5em 0">',
        *(
            f'<div style="width:{time.share * 100:.4f}%;{_fill(time.category)}" '
            f'title="{_label(time.category, time.name)}: {escape(duration(time.ns))}"></div>'
            for time in value.categories
        ),
        '</div><table style="border-collapse:collapse">',
    ]
    for time in value.categories:
        parts.append(
            f'<tr title="{escape(_HELP.get(time.category, ""))}">'
            f'<td><span style="display:inline-block;width:1em;height:1em;'
            f'{_fill(time.category)}"></span></td>'
            f'<td style="text-align:left">{_label(time.category, time.name)}</td>'
            f'<td style="text-align:right">{escape(duration(time.ns))}</td>'
            f'<td style="text-align:right">{time.share:.1%}</td></tr>'
        )
    parts.append("</table>")
    facts = [f"{value.steps.count} steps", f"{len(value.attempts)} attempts"]
    if value.disruptions:
        facts.append(f"{len(value.disruptions)} disruptions")
    parts.append(f"<div>{' · '.join(facts)}</div>")
    parts += [f"<div><small>{escape(note.message)}</small></div>" for note in value.notes]
    parts.append("</div>")
    return "".join(parts)


def timeline(value: Timeline) -> str:
    """One bar in which every interval has its place."""
    total = sum(interval.duration_ns for interval in value)
    if not total:
        return "<div>no time has elapsed</div>"
    parts = ['<svg width="100%" height="36" viewBox="0 0 1000 36" preserveAspectRatio="none">']
    at = 0
    for interval in value[:_ROWS_LIMIT]:
        x, width = 1000 * at / total, 1000 * interval.duration_ns / total
        at += interval.duration_ns
        step = "" if interval.step is None else f", step {interval.step}"
        parts.append(
            f'<rect x="{x:.3f}" width="{width:.3f}" height="36" '
            f'fill="{COLORS.get(interval.category, COLORS["other"])}"><title>'
            f"{_label(interval.category, interval.name)}{step}: "
            f"{escape(duration(interval.duration_ns))}</title></rect>"
        )
    parts.append("</svg>")
    if len(value) > _ROWS_LIMIT:
        parts.append(f"<div>the first {_ROWS_LIMIT} of {len(value)} intervals</div>")
    return "".join(parts)


def _fill(category: str) -> str:
    color = COLORS.get(category, COLORS["other"])
    if category != "wasted_progress":
        return f"background:{color}"
    # Crossed out as well, so that colour is never the only sign.
    return f"background:repeating-linear-gradient(45deg,{color} 0 4px,#fff 4px 6px)"


def _label(category: str, name: str) -> str:
    return escape(category.replace("_", " ") + (f" {name}" if name else ""))
