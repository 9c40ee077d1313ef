"""What was measured: tables, the figures that were to be reached, and a picture."""

import json
import statistics
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

WEIR, ONE, PLAIN = "weir-cp", "weir-cp -j1", "plain, 2 threads"
CP, RSYNC, TAR = "cp -a", "rsync -a", "tar | tar"
ORDER = ("small", "medium", "large", "mixed", "deep")


@dataclass
class Case:
    """One tree, warm or cold: for each copier (seconds, seconds of processor) of each round."""

    tree: str
    about: str
    cold: bool
    results: dict
    memory: float
    descriptors: int

    def title(self):
        return f"{self.tree}: {self.about}, {'cold' if self.cold else 'warm'}"

    def ratios(self, name, base=WEIR):
        """Round by round, how many times as long as `base` it took."""
        return [one[0] / other[0] for one, other in zip(self.results[name], self.results[base])]

    def ratio(self, name, base=WEIR):
        """Of medians: what disturbs a run makes it longer, and would count twice in each round."""
        return self.seconds(name) / self.seconds(base)

    def seconds(self, name):
        return statistics.median(run[0] for run in self.results[name])

    def rounds(self):
        return len(self.results[WEIR])

    def add(self, other):
        """Whether the other is of the same tree, and its rounds are here now, too."""
        if self.title() != other.title() or self.results.keys() != other.results.keys():
            return False
        for name, runs in other.results.items():
            self.results[name] += runs
        self.memory = max(self.memory, other.memory)
        self.descriptors = max(self.descriptors, other.descriptors)
        return True


def add(file, cases):
    """Those of the file and these, which it has from now on, too."""
    path = Path(file)
    found = []
    if path.exists():
        found = [Case(**case) for case in json.loads(path.read_text(encoding="utf-8"))]
    for case in cases:
        if not any(old.add(case) for old in found):
            found.append(case)
    found.sort(key=lambda case: (ORDER.index(case.tree), case.cold))
    path.write_text(json.dumps([asdict(case) for case in found], indent=1), encoding="utf-8")
    return found


def show(case):
    print(f"\n{case.title()}\n{'':18}{'seconds':>9}{'best':>8}{'cpu':>8}   times weir-cp"
          " (least..most of a round)")
    for name, runs in case.results.items():
        each = case.ratios(name)
        print(f"{name:18}{case.seconds(name):9.2f}{min(run[0] for run in runs):8.2f}"
              f"{statistics.median(run[1] for run in runs):8.2f}"
              f"   {case.ratio(name):.2f} ({min(each):.2f}..{max(each):.2f})")
    print(f"weir-cp: at most {case.memory:.0f} MiB and {case.descriptors} descriptors", flush=True)


# (tree, cold): how many times as long as weir-cp each of these is to take, at least. Two threads of
# plain calls keep less, and may be faster: 1.2 times.
GOALS = {
    ("small", False): {CP: 1.7, RSYNC: 2.3, PLAIN: 1 / 1.2},
    ("small", True): {CP: 3.5, RSYNC: 3.5},
    ("medium", False): {CP: 1.5, RSYNC: 4.0},
    ("large", False): {CP: 1.15},
}
NOISE = 0.05
MEMORY, DESCRIPTORS = 64, 2 * 1024 + 64


def goals_of(case):
    """(what, is, wanted, reached) for each."""
    for name, least in GOALS.get((case.tree, case.cold), {}).items():
        if name in case.results:
            ratio = case.ratio(name)
            yield f"{name} / weir-cp", f"{ratio:.2f}", f"at least {least:.2f}", ratio >= least
    if case.tree in ("mixed", "deep"):
        best = min((name for name in (CP, RSYNC, TAR) if name in case.results), key=case.seconds)
        ratio = case.ratio(best)
        yield (f"best of the others / weir-cp ({best})", f"{ratio:.2f}", "at least 1, but for noise",
               ratio >= 1 - NOISE)
    if ONE in case.results and not case.cold:
        ratio = case.ratio(ONE, CP)
        yield "weir-cp -j1 / cp -a", f"{ratio:.2f}", "at most 1.30", ratio <= 1.3
    yield ("memory, MiB; descriptors", f"{case.memory:.0f}; {case.descriptors}",
           f"at most {MEMORY}; {DESCRIPTORS}",
           case.memory <= MEMORY and case.descriptors <= DESCRIPTORS)


def show_goals(cases):
    print(f"\n{'figure':58}{'is':>9}   {'wanted':28}")
    missed = 0
    for case in cases:
        for what, value, wanted, reached in goals_of(case):
            missed += not reached
            label = f"{case.tree}, {'cold' if case.cold else 'warm'}: {what}"
            print(f"{label:58}{value:>9}   {wanted:28}{'reached' if reached else 'MISSED'}")
    print("all were reached" if missed == 0 else f"{missed} missed")


WIDTH, NAMES, LABELS, ROW, BAR, HEAD, GAP = 860, 150, 130, 21, 14, 24, 16
COLOURS = {WEIR: "#0b6e99", ONE: "#6fb1cd", PLAIN: "#c6ced5"}
OTHERS = "#7b8fa1"
STYLE = """
text { font-family: 'DejaVu Sans', Verdana, sans-serif; font-size: 12px; fill: #22303a;
  paint-order: stroke; stroke: #ffffff; stroke-width: 3px; }
.title { font-size: 17px; font-weight: bold; }
.panel { font-size: 13px; font-weight: bold; }
.own { font-weight: bold; }
.faint { fill: #66747f; font-size: 11px; }
"""


def panel(case, top):
    """The lines of one case's picture, and where it ends. Each has a scale of its own."""
    unit = (WIDTH - NAMES - LABELS) / max(case.ratio(name) for name in case.results)
    bottom = top + HEAD + ROW * len(case.results)
    lines = [f'<text class="panel" x="16" y="{top + 12}">{escape(case.title())}</text>']
    texts = []
    for at, name in enumerate(case.results):
        ratio = case.ratio(name)
        y = top + HEAD + ROW * at
        own = ' class="own"' if name == WEIR else ""
        lines.append(
            f'<rect x="{NAMES}" y="{y}" width="{ratio * unit:.1f}" height="{BAR}" rx="2" '
            f'fill="{COLOURS.get(name, OTHERS)}"/>')
        texts += [
            f'<text{own} x="{NAMES - 8}" y="{y + 11}" text-anchor="end">{escape(name)}</text>',
            f'<text{own} x="{NAMES + ratio * unit + 6:.1f}" y="{y + 11}">{ratio:.2f}'
            f'<tspan class="faint" dx="8">{case.seconds(name):.2f} s</tspan></text>',
        ]
    lines.append(f'<line x1="{NAMES + unit:.1f}" x2="{NAMES + unit:.1f}" y1="{top + HEAD - 4}" '
                 f'y2="{bottom - 3}" stroke="#0b6e99" stroke-dasharray="2 3"/>')
    return lines + texts, bottom + GAP


def draw(file, cases):
    lines, y = [], 64
    counts = sorted({case.rounds() for case in cases})
    rounds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    for case in cases:
        more, y = panel(case, y)
        lines += more
    Path(file).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" '
        f'viewBox="0 0 {WIDTH} {y}">\n<style>{STYLE}</style>\n'
        f'<rect width="{WIDTH}" height="{y}" fill="#ffffff"/>\n'
        '<text class="title" x="16" y="28">Time to copy a tree, weir-cp = 1</text>\n'
        f'<text class="faint" x="16" y="46">shorter is faster; medians of {rounds} interleaved '
        'rounds; "plain" keeps nothing but modes and times</text>\n'
        + "\n".join(lines) + "\n</svg>\n", encoding="utf-8")
