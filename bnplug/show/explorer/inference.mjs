// Exact posteriors by messages in a clique tree. The tree comes with the page; nothing here decides a structure.
//
// A message is kept as logarithms whose largest is 0, with what was taken out as its scale. Products are taken of
// plain numbers as long as known spreads rule out underflow, else of logarithms: that is exact for any evidence.

/**
 * @typedef {object} TreeData
 * @property {number[]} cards the number of states of each variable
 * @property {number[][]} parents
 * @property {Float64Array[]} tables log parameters of each variable, axes (variable, ...parents), the last fastest
 * @property {number[][]} cliques the variables of each, the root first, each behind its parent
 * @property {number[]} above the clique that each hangs on; -1 for the root
 * @property {number[]} homes a clique that holds the variable
 * @property {number[]} families a clique that holds the variable and its parents
 */

/**
 * @typedef {object} Message
 * @property {Float64Array} logs the largest is 0, unless all are -Infinity
 * @property {Float64Array} plain their exponentials
 * @property {number} scale the logarithm of what was divided out
 * @property {number} spread the largest minus the smallest finite logarithm
 */

/**
 * What multiplies a clique: a message through a map of cells, or one variable's likelihood along its axis.
 * @typedef {{message: Message, map: Int32Array | null, stride: number, card: number}} Factor
 */

/**
 * @typedef {object} Clique
 * @property {number[]} variables
 * @property {number[]} strides
 * @property {number} size
 * @property {Message} base the product of the tables that live here
 * @property {number} above
 * @property {number[]} below
 * @property {number[]} guests the variables that have their home here
 * @property {number} separated cells of the separator to the clique above
 * @property {Int32Array} inner this clique's cells to those of the separator
 * @property {Int32Array} outer the cells of the clique above to those of the separator
 */

// Float64 ends at about e**-708 and e**709.
const RANGE = 600;

/** @param {Float64Array} logs @returns {Message} */
function message(logs) {
  let largest = -Infinity;
  let smallest = Infinity;
  for (const value of logs) {
    if (value > largest) largest = value;
    if (value < smallest && value !== -Infinity) smallest = value;
  }
  const plain = new Float64Array(logs.length);
  if (largest === -Infinity) return { logs, plain, scale: -Infinity, spread: 0 };
  for (let i = 0; i < logs.length; i++) {
    logs[i] -= largest;
    plain[i] = Math.exp(logs[i]);
  }
  return { logs, plain, scale: largest, spread: largest - smallest };
}

/**
 * The position, in a table over `scope`, of every cell of a table over `variables`, which holds all of `scope`.
 * @param {number[]} variables @param {number[]} scope @param {number[]} cards @returns {Int32Array}
 */
function cellMap(variables, scope, cards) {
  const steps = new Map();
  for (let i = scope.length - 1, step = 1; i >= 0; step *= cards[scope[i--]]) steps.set(scope[i], step);
  let map = new Int32Array(1);
  for (const variable of variables) {
    const card = cards[variable];
    const step = steps.get(variable) ?? 0;
    const next = new Int32Array(map.length * card);
    for (let i = 0, at = 0; i < map.length; i++) for (let s = 0; s < card; s++) next[at++] = map[i] + s * step;
    map = next;
  }
  return map;
}

/**
 * Write every cell of a source times its factor, or plus its logarithm.
 * @param {Float64Array} cells where to; may be the source @param {Float64Array} source
 * @param {Factor} factor @param {boolean} inLogs
 */
function apply(cells, source, { message: { logs, plain }, map, stride, card }, inLogs) {
  const values = inLogs ? logs : plain;
  if (map && inLogs) for (let i = 0; i < cells.length; i++) cells[i] = source[i] + values[map[i]];
  else if (map) for (let i = 0; i < cells.length; i++) cells[i] = source[i] * values[map[i]];
  else {
    for (let i = 0; i < cells.length; ) {
      for (let s = 0; s < card; s++) {
        const value = values[s];
        const end = i + stride;
        if (inLogs) for (; i < end; i++) cells[i] = source[i] + value;
        else for (; i < end; i++) cells[i] = source[i] * value;
      }
    }
  }
}

/**
 * Sum cells that go to the same place; return the logarithms of the sums.
 * @param {Float64Array} cells @param {Int32Array} map @param {number} size @param {boolean} inLogs
 */
function project(cells, map, size, inLogs) {
  const sums = new Float64Array(size);
  const peaks = inLogs ? new Float64Array(size).fill(-Infinity) : sums;
  if (!inLogs) for (let i = 0; i < cells.length; i++) sums[map[i]] += cells[i];
  else {
    for (let i = 0; i < cells.length; i++) if (cells[i] > peaks[map[i]]) peaks[map[i]] = cells[i];
    for (let i = 0; i < cells.length; i++) {
      if (cells[i] !== -Infinity) sums[map[i]] += Math.exp(cells[i] - peaks[map[i]]);
    }
  }
  for (let i = 0; i < size; i++) sums[i] = Math.log(sums[i]) + (inLogs && sums[i] > 0 ? peaks[i] : 0);
  return sums;
}

/**
 * The sum of the cells in each state of one variable, as logarithms.
 * @param {Float64Array} cells @param {number} stride @param {number} card @param {boolean} inLogs
 */
function marginal(cells, stride, card, inLogs) {
  let peak = 0;
  if (inLogs) {
    peak = -Infinity;
    for (let i = 0; i < cells.length; i++) if (cells[i] > peak) peak = cells[i];
    if (peak === -Infinity) return new Float64Array(card).fill(-Infinity);
  }
  const sums = new Float64Array(card);
  for (let i = 0; i < cells.length; ) {
    for (let s = 0; s < card; s++) {
      let sum = 0;
      for (const end = i + stride; i < end; i++) sum += inLogs ? Math.exp(cells[i] - peak) : cells[i];
      sums[s] += sum;
    }
  }
  return sums.map((sum) => Math.log(sum) + peak);
}

/** @param {Float64Array} logs @returns {Float64Array} numbers that sum to one; all 0 where nothing is possible */
export function normalized(logs) {
  const { plain } = message(Float64Array.from(logs));
  let total = 0;
  for (const value of plain) total += value;
  return total > 0 ? plain.map((value) => value / total) : plain;
}

/** @param {Message | null} a @param {Message | null} b */
function sameEvidence(a, b) {
  return a === b || (a && b ? a.scale === b.scale && a.logs.every((value, s) => value === b.logs[s]) : false);
}

/** A network with evidence, and what it says of every variable. */
export class CliqueTree {
  /** @param {TreeData} data */
  constructor(data) {
    this.cards = data.cards;
    this.homes = data.homes;
    /** @type {(Message | null)[]} */
    this.evidence = data.cards.map(() => null);
    /** @type {Clique[]} */
    this.cliques = data.cliques.map((variables, k) => this.#clique(data, variables, k));
    for (const [k, { above }] of this.cliques.entries()) if (above >= 0) this.cliques[above].below.push(k);
    for (const [v, home] of data.homes.entries()) this.cliques[home].guests.push(v);
    /** @type {(Message | null)[]} */
    this.up = this.cliques.map(() => null);
    /** @type {(Message | null)[]} */
    this.down = this.cliques.map(() => null);
    this.collected = false;
    this.work = new Float64Array(Math.max(...this.cliques.map(({ size }) => size)));
  }

  /** @param {TreeData} data @param {number[]} variables @param {number} k @returns {Clique} */
  #clique(data, variables, k) {
    const { cards, parents, tables, families, above } = data;
    const strides = variables.map((_, i) => variables.slice(i + 1).reduce((step, v) => step * cards[v], 1));
    const size = variables.reduce((cells, v) => cells * cards[v], 1);
    const logs = new Float64Array(size);
    for (const [v, family] of families.entries()) {
      if (family !== k) continue;
      const map = cellMap(variables, [v, ...parents[v]], cards);
      for (let i = 0; i < size; i++) logs[i] += tables[v][map[i]];
    }
    const over = above[k] < 0 ? [] : data.cliques[above[k]];
    const shared = variables.filter((v) => over.includes(v));
    return {
      variables, strides, size, above: above[k], below: [], guests: [],
      base: message(logs),
      separated: shared.reduce((cells, v) => cells * cards[v], 1),
      inner: cellMap(variables, shared, cards),
      outer: cellMap(over, shared, cards),
    };
  }

  /**
   * Set what is known of a variable.
   * @param {number} variable
   * @param {ArrayLike<number> | null} likelihood of each state, not negative; null: nothing is known
   */
  observe(variable, likelihood) {
    const known = likelihood && message(Float64Array.from(likelihood, Math.log));
    if (sameEvidence(known, this.evidence[variable])) return;
    this.evidence[variable] = known;
    this.collected = false;
    for (let k = this.homes[variable]; k >= 0; k = this.cliques[k].above) this.up[k] = null;
    this.down.fill(null);
  }

  /**
   * What multiplies clique k: its guests' evidence, and messages from its neighbours.
   * @param {number} k
   * @param {{clique?: number, variable?: number}} except the neighbour, or the guest, that is left out
   * @returns {Factor[]}
   */
  #factors(k, { clique = -2, variable = -1 }) {
    const { variables, strides, guests, below, above, inner } = this.cliques[k];
    /** @type {Factor[]} */
    const factors = [];
    for (const v of guests) {
      const known = this.evidence[v];
      const stride = strides[variables.indexOf(v)];
      if (known && v !== variable) factors.push({ message: known, map: null, stride, card: this.cards[v] });
    }
    for (const child of below) {
      if (child === clique) continue;
      factors.push({ message: this.#upward(child), map: this.cliques[child].outer, stride: 0, card: 0 });
    }
    if (above >= 0 && above !== clique) {
      factors.push({ message: this.#downward(k), map: inner, stride: 0, card: 0 });
    }
    return factors;
  }

  /**
   * The product in clique k, to be read only, with what was divided out of it. It is valid until the next product.
   * @param {number} k @param {{clique?: number, variable?: number}} except
   */
  #product(k, except) {
    const factors = this.#factors(k, except);
    const { base, size } = this.cliques[k];
    const spread = factors.reduce((sum, factor) => sum + factor.message.spread, base.spread);
    const inLogs = spread > RANGE;
    let cells = inLogs ? base.logs : base.plain;
    for (const factor of factors) {
      const source = cells;
      cells = this.work.subarray(0, size);
      apply(cells, source, factor, inLogs);
    }
    return { cells, inLogs, scale: factors.reduce((sum, factor) => sum + factor.message.scale, base.scale) };
  }

  /** @param {number} k @returns {Message} from clique k to the one above */
  #upward(k) {
    const known = this.up[k];
    if (known) return known;
    const { above, inner, separated } = this.cliques[k];
    const { cells, inLogs, scale } = this.#product(k, { clique: above });
    const sent = message(project(cells, inner, separated, inLogs));
    sent.scale += scale;
    return (this.up[k] = sent);
  }

  /** @param {number} k @returns {Message} from the clique above to clique k */
  #downward(k) {
    const known = this.down[k];
    if (known) return known;
    const { above, outer, separated } = this.cliques[k];
    if (this.cliques[above].above >= 0) this.#downward(above);
    const { cells, inLogs, scale } = this.#product(above, { clique: k });
    const sent = message(project(cells, outer, separated, inLogs));
    sent.scale += scale;
    return (this.down[k] = sent);
  }

  /**
   * The logarithms of the measure of every state of a variable together with all evidence on the others.
   * @param {number} variable @returns {Float64Array}
   */
  others(variable) {
    const k = this.homes[variable];
    this.#settle(k);
    return this.#sums(k, variable, this.#product(k, { variable }));
  }

  /**
   * The probabilities of every variable given all evidence; all 0 where the evidence is impossible.
   * @returns {Float64Array[]}
   */
  posteriors() {
    /** @type {Float64Array[]} */
    const found = this.cards.map(() => new Float64Array(0));
    for (const [k, { guests }] of this.cliques.entries()) {
      if (guests.length === 0) continue;
      this.#settle(k);
      const product = this.#product(k, {});
      for (const v of guests) found[v] = normalized(this.#sums(k, v, product));
    }
    return found;
  }

  /** @param {number} variable @returns {Float64Array} the logarithms of the measure of its states with all evidence */
  measure(variable) {
    const logs = this.others(variable);
    const known = this.evidence[variable];
    return known ? logs.map((value, s) => value + known.logs[s] + known.scale) : logs;
  }

  /** Messages are made before a product that needs them, since they use the same cells. @param {number} k */
  #settle(k) {
    // From the leaves, so that no message waits for another.
    if (!this.collected) for (let child = this.cliques.length - 1; child > 0; child--) this.#upward(child);
    this.collected = true;
    if (k > 0) this.#downward(k);
  }

  /** @param {number} k @param {number} v @param {{cells: Float64Array, inLogs: boolean, scale: number}} product */
  #sums(k, v, { cells, inLogs, scale }) {
    const { variables, strides } = this.cliques[k];
    return marginal(cells, strides[variables.indexOf(v)], this.cards[v], inLogs).map((value) => value + scale);
  }
}

/**
 * The tree as the page brings it.
 * @typedef {object} PackedTree
 * @property {{states: string[], parents: number[]}[]} variables
 * @property {string} tables base64 of float64 logarithms, one table after the other
 * @property {{cliques: number[][], above: number[], homes: number[], families: number[]}} tree
 */

/** @param {PackedTree} data @returns {TreeData} */
export function treeData({ variables, tables, tree }) {
  const bytes = Uint8Array.from(atob(tables), (letter) => letter.charCodeAt(0));
  const numbers = new Float64Array(bytes.buffer);
  const cards = variables.map(({ states }) => states.length);
  const parents = variables.map((variable) => variable.parents);
  let at = 0;
  const own = cards.map((card, v) => {
    const size = parents[v].reduce((cells, parent) => cells * cards[parent], card);
    at += size;
    return numbers.subarray(at - size, at);
  });
  return { ...tree, cards, parents, tables: own };
}
