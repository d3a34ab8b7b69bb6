"""How long a click on the explorer takes until the bars are painted, by the clock of a headless Chromium.

A TAN of 100 features with 5 states and as many classes, a network of alarm's size (37 nodes, 46 edges, 2 to 4 states),
and a grid whose cliques come near the most cells that a page may have. The page is loaded, then states are clicked at
random, 30 times; a click is painted when a task runs that was queued in the frame after it. "frame" is how long that
takes where nothing was clicked: what a busy machine adds.
Run: python benchmarks/explorer.py [clicks]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import browser

from bnplug import BayesianNetworkClassifier, LogTables
from bnplug.show.explorer._part import MAX_CELLS, n_cells, numbered

CLICK = """(async (v, s) => {
  while (document.body.hasAttribute("aria-busy")) await new Promise((done) => setTimeout(done, 5));
  const button = document.querySelectorAll(".card")[v].querySelectorAll(".state")[s];
  const start = performance.now();
  if (s >= 0) button.click();
  const computed = performance.now();
  await new Promise((painted) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = painted;
    channel.port2.postMessage(0);
  }));
  return [computed - start, performance.now() - start];
})"""
# What follows the bars: contributions, and what to ask next.
BUSY = """(async () => {
  const start = performance.now();
  while (document.body.hasAttribute("aria-busy")) await new Promise((done) => setTimeout(done, 1));
  return performance.now() - start;
})()"""


def network(parents: dict[str, list[str]], cards: dict[str, int], random: np.random.Generator) -> LogTables:
    tables = {}
    for name, own in parents.items():
        columns = random.dirichlet(np.full(cards[name], 1.0), [cards[parent] for parent in own])
        tables[name] = (tuple(own), np.log(np.moveaxis(columns, -1, 0)))
    return LogTables(
        list(parents), {name: list(range(card)) for name, card in cards.items()}, tables, next(iter(parents))
    )


def tan(random: np.random.Generator) -> LogTables:
    names = [f"feature {i}" for i in range(100)]
    parents = {"class": []} | {
        name: ["class", *([names[random.integers(i)]] if i else [])] for i, name in enumerate(names)
    }
    return network(parents, dict.fromkeys(parents, 5), random)


def alarm_sized(random: np.random.Generator) -> LogTables:
    names = [f"node {i}" for i in range(37)]
    parents: dict[str, list[str]] = {name: [] for name in names}
    while sum(map(len, parents.values())) < 46:
        child = int(random.integers(1, 37))
        parent = names[int(random.integers(max(0, child - 8), child))]
        if parent not in parents[names[child]] and len(parents[names[child]]) < 3:
            parents[names[child]].append(parent)
            parents[names[child]].sort(key=names.index)
    return network(parents, {name: int(random.integers(2, 5)) for name in names}, random)


def grid(random: np.random.Generator, side: int = 11, length: int = 19) -> LogTables:
    """A grid of binary nodes, each below the one above and the one to its left."""
    parents = {
        f"{row}-{i}": [f"{r}-{c}" for r, c in ((row, i - 1), (row - 1, i)) if r >= 0 and c >= 0]
        for i in range(length)
        for row in range(side)
    }
    return network(parents, dict.fromkeys(parents, 2), random)


def measure(tables: LogTables, chromium: browser.Browser, n_clicks: int) -> dict[str, float]:
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        BayesianNetworkClassifier.from_tables(tables).explore(path)
        chromium.open(path)
        chromium.until("document.body.dataset.view && !document.body.hasAttribute('aria-busy')", seconds=300)
        loaded = chromium.run("performance.getEntriesByType('navigation')[0].loadEventEnd")
        clicks = []
        for _ in range(n_clicks):
            v = int(random.integers(len(tables.names)))
            s = int(random.integers(len(tables.states[tables.names[v]])))
            frame = chromium.run(f"{CLICK}({v}, -1)")[1]
            clicks.append([frame, *chromium.run(f"{CLICK}({v}, {s})"), chromium.run(BUSY)])
        frame, computed, painted, panels = np.median(clicks, axis=0)
        size = path.stat().st_size
    return {"size": size, "load": loaded, "frame": frame, "computed": computed, "painted": painted, "panels": panels}


def main() -> None:
    if browser.find() is None:
        print("there is no Chromium")
        return
    n_clicks = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    random = np.random.default_rng(0)
    networks = {"TAN, 100 x 5": tan(random), "alarm-sized": alarm_sized(random), "grid": grid(random)}
    chromium = browser.Browser()
    print(
        f"{'':<14} {'cells':>10} {'page MB':>9} {'load':>9} {'frame':>9} {'computed':>9} {'painted':>9} {'panels':>9}"
    )
    try:
        for name, tables in networks.items():
            found = measure(tables, chromium, n_clicks)
            print(f"{name:<14} {n_cells(*numbered(tables), MAX_CELLS):>10,} {found.pop('size') / 1e6:>9.2f}", end="")
            print("".join(f" {value:>9.1f}" for value in found.values()), flush=True)
    finally:
        chromium.close()


if __name__ == "__main__":
    main()
