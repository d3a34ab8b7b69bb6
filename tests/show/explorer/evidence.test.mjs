import assert from "node:assert/strict";
import { test } from "node:test";
import { findings, fromAddress, fromText, History, interval, toAddress, told, understood } from "../../../bnplug/show/explorer/evidence.mjs";

const variables = [
  { name: "smoker", states: ["no", "yes"], intervals: null, parents: [], cuts: null },
  { name: "a=b&c,d:e", states: ["x:1", "y,2", "%20", ""], intervals: null, parents: [], cuts: null },
  { name: "age", states: ["<=40.5", "40.5..60", ">60"], intervals: ["≤ 40.5", "40.5 – 60", "> 60"], parents: [], cuts: [40.5, 60] },
  { name: "children", states: ["0", "1", "2"], intervals: null, parents: [], cuts: null },
];

test("an address gives back what it was made of", () => {
  const evidence = new Map([
    [0, { state: 1 }],
    [1, { weights: [0.25, 1, 0, 0.125] }],
    [2, { state: 1, number: 60 }],
    [3, { state: 0 }],
  ]);
  const address = toAddress(evidence, variables);
  assert.equal(address.split("&").length, 4);
  assert.deepEqual(fromAddress(address, variables), { evidence, trouble: [] });
  for (const [s] of variables[1].states.entries()) {
    const one = new Map([[1, { state: s }]]);
    assert.deepEqual(fromAddress(toAddress(one, variables), variables).evidence, one);
  }
});

test("what an address does not name rightly is told", () => {
  const { evidence, trouble } = fromAddress("smoker=maybe&nobody=1&age=50&%E0%A4%A=1&smoker", variables);
  assert.deepEqual(evidence, new Map([[2, { state: 1, number: 50 }]]));
  assert.deepEqual(trouble, ["smoker=maybe", "nobody=1", "%E0%A4%A=1", "smoker"]);
  assert.deepEqual(fromAddress("smoker=no:0,yes:0&children=1:-1", variables).evidence, new Map());
});

test("an address that was written by hand may hold a colon", () => {
  const times = { name: "time", states: ["10:30", "11:45"], intervals: null, parents: [], cuts: null };
  assert.deepEqual(fromAddress("time=11:45", [times]), { evidence: new Map([[0, { state: 1 }]]), trouble: [] });
});

test("a number at a cut belongs to its left", () => {
  assert.deepEqual([40, 40.5, 40.6, 60, 61].map((number) => interval([40.5, 60], number)), [0, 0, 1, 1, 2]);
  assert.deepEqual(understood(variables[2], " 61e0 "), { state: 2, number: 61 });
  assert.deepEqual(understood(variables[2], ">60"), { state: 2 });
  assert.equal(understood(variables[2], "old"), null);
  assert.deepEqual(understood(variables[3], "1.0"), { state: 1 });
  assert.equal(told({ state: 2 }, variables[2]), "> 60");
});

test("rows are typed as lines, or as two lines of a spreadsheet", () => {
  const wanted = new Map([[0, { state: 1 }], [2, { state: 0, number: 33 }]]);
  assert.deepEqual(fromText("smoker = yes\n\nage=33", variables).evidence, wanted);
  assert.deepEqual(fromText("smoker\tage\tchildren\nyes\t33\t", variables), { evidence: wanted, trouble: [] });
  assert.deepEqual(fromText("a=b&c,d:e = y,2", variables).evidence, new Map([[1, { state: 1 }]]));
  assert.deepEqual(fromText("smokr = yes", variables).trouble, ["smokr =  yes"]);
});

test("undo, redo, and a slider that is one step", () => {
  const history = new History();
  assert.equal(history.undo(), false);
  history.set(0, { state: 1 });
  for (const weight of [0.9, 0.5, 0.2]) history.set(3, { weights: [1, weight, 0] }, true);
  assert.equal(history.set(3, { weights: [1, 0.2, 0] }), false);
  history.set(0, null);
  assert.deepEqual([...history.now.keys()], [3]);
  history.undo();
  history.undo();
  assert.deepEqual([...history.now], [[0, { state: 1 }]]);
  history.redo();
  assert.deepEqual(history.now.get(3), { weights: [1, 0.2, 0] });
  history.set(2, { state: 0 });
  assert.equal(history.redo(), false);
});

test("a state is known, another takes its place, and once more nothing is", () => {
  const history = new History();
  history.toggle(0, 1);
  history.toggle(0, 0);
  assert.deepEqual(history.now, new Map([[0, { state: 0 }]]));
  history.toggle(0, 0);
  assert.deepEqual(history.now, new Map());
  history.set(0, { weights: [1, 0] });
  history.toggle(0, 0);
  assert.deepEqual(history.now, new Map([[0, { state: 0 }]]));
});

test("findings are likelihoods", () => {
  const evidence = new Map([[0, { state: 1 }], [3, { weights: [1, 0.5, 0] }]]);
  assert.deepEqual(findings(evidence, variables), [[0, 1], null, null, [1, 0.5, 0]]);
});
