import assert from "node:assert/strict";
import { test } from "node:test";
import { CliqueTree, normalized } from "../../../bnplug/show/explorer/inference.mjs";

const logs = (...numbers) => Float64Array.from(numbers, Math.log);
const near = (found, wanted) => {
  assert.equal(found.length, wanted.length);
  found.forEach((value, i) => assert.ok(Math.abs(value - wanted[i]) < 1e-12, `${[...found]} is not ${wanted}`));
};

// class -> x, both with two states: P(c) = (.5, .5), P(x = 1 | c) = (.1, .8)
const two = () =>
  new CliqueTree({
    cards: [2, 2],
    parents: [[], [0]],
    tables: [logs(0.5, 0.5), logs(0.9, 0.2, 0.1, 0.8)],
    cliques: [[0, 1]],
    above: [-1],
    homes: [0, 0],
    families: [0, 0],
  });

// A chain 0 -> 1 -> 2 with tables of any spread, in two cliques.
const chain = (spread) =>
  new CliqueTree({
    cards: [2, 2, 2],
    parents: [[], [0], [1]],
    tables: [
      Float64Array.of(0, -spread),
      Float64Array.of(0, -spread, -spread, 0),
      Float64Array.of(-spread, 0, 0, -spread),
    ],
    cliques: [[0, 1], [1, 2]],
    above: [-1, 0],
    homes: [0, 0, 1],
    families: [0, 0, 1],
  });

test("priors and posteriors by hand", () => {
  const tree = two();
  near(tree.posteriors()[1], [0.55, 0.45]);
  tree.observe(1, [0, 1]);
  near(tree.posteriors()[0], [1 / 9, 8 / 9]);
  near(tree.posteriors()[1], [0, 1]);
  tree.observe(1, null);
  near(tree.posteriors()[0], [0.5, 0.5]);
});

test("likelihoods are multiplied into the joint", () => {
  const tree = two();
  tree.observe(1, [0.2, 0.6]);
  // c = 0: .5 (.9 x .2 + .1 x .6) = .12; c = 1: .5 (.2 x .2 + .8 x .6) = .26
  near(tree.posteriors()[0], [0.12 / 0.38, 0.26 / 0.38]);
  near(tree.posteriors()[1], [0.11 / 0.38, 0.27 / 0.38]);
  near(normalized(tree.others(1)), [0.55, 0.45]);
});

test("a measure that is no distribution has posteriors too", () => {
  const tree = chain(1);
  const e = Math.exp(-1);
  tree.observe(2, [1, 0]);
  // state of 1: 0 gives e**-1, 1 gives 1; sums over 0 of table 0 times table 1
  near(tree.posteriors()[1], [(1 + e * e) * e, 2 * e].map((value, _, all) => value / (all[0] + all[1])));
});

test("nothing underflows", () => {
  for (const spread of [10, 500, 5000]) {
    const tree = chain(spread);
    tree.observe(2, [1, 0]);
    tree.observe(0, [0, 1]);
    // 1 = 0: -2 spread for 1 and -spread for 2; 1 = 1: 0 and 0. So 1 is in state 1.
    near(tree.posteriors()[1], [Math.exp(-2 * spread) / (1 + Math.exp(-2 * spread)), 1 / (1 + Math.exp(-2 * spread))]);
    assert.ok(Math.abs(tree.measure(0)[1] + spread) < 1e-9 * spread + 1e-8);
  }
});

test("what is impossible is all zero, and passes", () => {
  const tree = new CliqueTree({
    cards: [2, 2], parents: [[], [0]], tables: [logs(0.5, 0.5), logs(1, 0, 0, 1)],
    cliques: [[0, 1]], above: [-1], homes: [0, 0], families: [0, 0],
  });
  tree.observe(0, [1, 0]);
  tree.observe(1, [0, 1]);
  near(tree.posteriors()[0], [0, 0]);
  tree.observe(0, null);
  near(tree.posteriors()[0], [0, 1]);
});
