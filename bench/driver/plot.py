"""The answers as pictures: bars on a logarithmic scale, one panel for each case."""

import math
from dataclasses import dataclass
from html import escape

from driver import report
from driver.peers import TASKS

PLOTTED = ("pair", "contended", "handoff", "waiters", "switch", "pingpong", "tasks", "gather",
           "schedulers")

TITLES = {
    "pair": "Uncontended acquire and release",
    "contended": "Throughput under contention, about 100 ns of work inside",
    "handoff": "From one thread's release until the other one runs",
    "waiters": "Many async waiters through 3 permits",
    "switch": "From one stack to another",
    "pingpong": "From one task's release until the other one runs, in one thread",
    "tasks": "Many tasks through 3 permits",
    "gather": "Starting tasks and collecting their results",
    "schedulers": "Throughput of tasks in two threads, about 100 ns of work inside",
}

WIDTH = 960
NAMES = 210             # the column of names at the left
LABELS = 290            # room for the text behind the longest bar
ROW = 22
BAR = 14
HEAD = 58               # above the first bar of a panel: title and scale
GAP = 26

COLOURS = {"weir": "#0b6e99", "floor": "#c6ced5", "tasks": "#d9a441", "threads": "#7b8fa1"}

LEGEND = (
    ("weir", "weir"),
    ("floor", "floor: the bare operation"),
    ("threads", "waits as a thread"),
    ("tasks", "waits as a task of a runtime"),
)

STYLE = """
text { font-family: 'DejaVu Sans', Verdana, sans-serif; font-size: 12px; fill: #22303a; }
.title { font-size: 17px; font-weight: bold; }
.panel { font-size: 13px; font-weight: bold; }
.own { font-weight: bold; }
.label { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; }
.faint { fill: #66747f; font-size: 11px; }
"""


@dataclass
class Bar:
    name: str
    kind: str
    value: float
    label: str


@dataclass
class Panel:
    title: str
    note: str
    bars: list

    def height(self):
        return HEAD + ROW * len(self.bars) + GAP



def kind_of(peer):
    if peer.key == "weir":
        return "weir"
    if peer.floor:
        return "floor"
    return "tasks" if peer.waits == TASKS else "threads"


def bars_of(case, samples, key, text, base_key, scale=1.0, extra=None):
    """A bar for each peer that has an answer, in the order of the table."""
    base = samples.get((case.key, base_key))
    base = base.median(key) if base else None
    for peer, sample in report.ranked(case, samples):
        value = sample.median(key)
        if value is None or value <= 0:
            continue
        label = text(value)
        if base and peer.key != base_key:
            label += f" \u00b7 {report.ratio(value, base)} x"
        if extra:
            label += " \u00b7 " + extra(peer, sample)
        yield Bar(peer.name, kind_of(peer), value * scale, label)


def order_and_wait(peer, sample):
    return f"{peer.order}, waits up to {report.duration(sample.most('longest_wait_ns'))}"


def time_panels(case, samples):
    base, _ = report.base_of(case)
    of = "weir" if base == "weir" else "the floor"
    yield Panel(case.title, "ns, shorter is better; x of " + of,
                list(bars_of(case, samples, "ns", lambda v: report.nanoseconds(v) + " ns", base)))


def contended_panels(case, samples):
    yield Panel(case.title, "million pairs a second, longer is better; x of weir",
                list(bars_of(case, samples, "pairs_per_second",
                             lambda v: report.rate(v) + " M", "weir", 1e-6, order_and_wait)))


def waiters_panels(case, samples):
    for key, title, unit in (("through_ns", case.title, "ns each"),
                             ("bytes", case.title + ": memory", "bytes each"),
                             ("cancel_ns", case.title + ": cancel from the middle", "ns each")):
        yield Panel(title, unit + ", shorter is better; x of weir",
                    list(bars_of(case, samples, key,
                                 lambda v, unit=unit: f"{report.nanoseconds(v)} {unit.split()[0]}",
                                 "weir")))


def tasks_panels(case, samples):
    for key, title, unit in (("warm_ns", case.title + ", warm", "ns each"),
                             ("cold_ns", case.title + ", cold", "ns each"),
                             ("bytes", case.title + ": resident memory", "bytes each"),
                             ("cancel_ns", case.title + ": cancel from the middle", "ns each")):
        yield Panel(title, unit + ", shorter is better; x of weir",
                    list(bars_of(case, samples, key,
                                 lambda v, unit=unit: f"{report.nanoseconds(v)} {unit.split()[0]}",
                                 "weir")))


PANELS = {"pair": time_panels, "handoff": time_panels, "contended": contended_panels,
          "waiters": waiters_panels, "switch": time_panels, "pingpong": time_panels,
          "tasks": tasks_panels, "gather": time_panels, "schedulers": contended_panels}


def text(x, y, words, css="", anchor="start"):
    kind = f' class="{css}"' if css else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind} text-anchor="{anchor}">{escape(words)}</text>'


def decades(panels, note):
    """The scale of all panels that show the same thing, so that they can be compared by eye."""
    values = [bar.value for panel in panels if panel.note == note for bar in panel.bars]
    low = math.floor(math.log10(min(values) * 0.8))
    high = math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def draw_panel(panel, top, low, high):
    span = WIDTH - NAMES - LABELS

    def place(value):
        return NAMES + span * max(0.0, (math.log10(value) - low) / (high - low))

    bottom = top + HEAD + ROW * len(panel.bars)
    yield text(12, top + 18, panel.title, "panel")
    yield text(12, top + 34, panel.note, "faint")
    for power in range(low, high + 1):
        x = place(10.0 ** power)
        yield (f'<line x1="{x:.1f}" y1="{top + HEAD - 6}" x2="{x:.1f}" y2="{bottom}" '
               'stroke="#dde3e8"/>')
        yield text(x, top + HEAD - 10, f"{10.0 ** power:,.{max(0, -power)}f}", "faint", "middle")
    for i, bar in enumerate(panel.bars):
        y = top + HEAD + ROW * i
        own = " own" if bar.kind == "weir" else ""
        end = place(bar.value)
        yield text(NAMES - 8, y + 12, bar.name, own.strip(), "end")
        yield (f'<rect x="{NAMES}" y="{y}" width="{max(1.0, end - NAMES):.1f}" '
               f'height="{BAR}" rx="2" fill="{COLOURS[bar.kind]}"/>')
        yield text(end + 6, y + 12, bar.label, "label" + own)


def legend(panels, y):
    used = {bar.kind for panel in panels for bar in panel.bars}
    x = 12
    for kind, words in LEGEND:
        if kind not in used:
            continue
        yield f'<rect x="{x}" y="{y - 10}" width="12" height="12" rx="2" fill="{COLOURS[kind]}"/>'
        yield text(x + 18, y, words, "faint")
        x += 50 + 7 * len(words)


def picture(title, panels):
    height = 70 + sum(panel.height() for panel in panels)
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}" role="img">')
    yield f"<title>{escape(title)}</title>"
    yield f"<style>{STYLE}</style>"
    yield f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    yield text(12, 28, title, "title")
    yield from legend(panels, 52)
    top = 64
    for panel in panels:
        yield from draw_panel(panel, top, *decades(panels, panel.note))
        top += panel.height()
    yield "</svg>"


def save(path, question, cases, samples):
    panels = [panel for case in cases for panel in PANELS[question](case, samples) if panel.bars]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(picture(TITLES[question], panels)) + "\n")
