// What is known, as the reader gave it: findings by variable, their history, and how they are written down.

/**
 * A variable of the network, as the page shows it.
 * @typedef {object} Variable
 * @property {string} name
 * @property {string[]} states
 * @property {string[] | null} intervals short texts of a numeric feature's states
 * @property {number[]} parents
 * @property {number[] | null} cuts of a numeric feature, ascending: a number at a cut belongs to its left
 * @property {import("./average.mjs").Cells | null} [cells] of a numeric feature in an average of networks
 */

/**
 * One finding: a state, perhaps by a number that lies in it; or likelihoods of all states.
 * @typedef {{state: number, number?: number} | {weights: number[]}} Known
 */

/** @typedef {ReadonlyMap<number, Known>} Evidence */

/** @param {Known} a @param {Known | undefined} b */
function same(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** @param {Evidence} a @param {Evidence} b */
export function equal(a, b) {
  return a.size === b.size && [...a].every(([v, known]) => same(known, b.get(v)));
}

/** The evidence now, with what it was before and what was undone. */
export class History {
  constructor() {
    /** @type {Evidence} */
    this.now = new Map();
    /** @type {Evidence[]} */
    this.past = [];
    /** @type {Evidence[]} */
    this.future = [];
    /** The variable whose slider moves: all its moves are one step back. @type {number | null} */
    this.moving = null;
  }

  /** @param {Evidence} next @param {number | null} moving @returns {boolean} whether anything has changed */
  go(next, moving = null) {
    if (equal(next, this.now)) return false;
    if (moving === null || moving !== this.moving) this.past.push(this.now);
    this.moving = moving;
    this.future = [];
    this.now = next;
    return true;
  }

  /** @param {number} variable @param {Known | null} known null: nothing is known of it any more */
  set(variable, known, moving = false) {
    const next = new Map(this.now);
    if (known) next.set(variable, known);
    else next.delete(variable);
    return this.go(next, moving ? variable : null);
  }

  /** Know a state, or no longer. @param {number} variable @param {number} state */
  toggle(variable, state) {
    const known = this.now.get(variable);
    return this.set(variable, known && certain(known) === state ? null : { state });
  }

  undo() {
    return this.#step(this.past, this.future);
  }

  redo() {
    return this.#step(this.future, this.past);
  }

  /** @param {Evidence[]} from @param {Evidence[]} to */
  #step(from, to) {
    const next = from.pop();
    if (!next) return false;
    to.push(this.now);
    this.now = next;
    this.moving = null;
    return true;
  }
}

/** @param {Evidence} evidence @param {Variable[]} variables @returns {(number[] | null)[]} likelihoods of states or cells, or null */
export function findings(evidence, variables) {
  return variables.map(({ states, cells }, v) => {
    const known = evidence.get(v);
    if (!known) return null;
    if (!cells) return "weights" in known ? known.weights : states.map((_, s) => Number(s === known.state));
    const { groups, cuts } = cells;
    if ("weights" in known) return groups.map((group) => known.weights[group]);
    const cell = known.number === undefined ? -1 : interval(cuts, known.number);
    return groups.map((group, i) => Number(cell < 0 ? group === known.state : i === cell));
  });
}

/** @param {Known} known @returns {number} the state that is known for sure, or -1 */
export function certain(known) {
  return "state" in known ? known.state : -1;
}

/** @param {number[]} cuts @param {number} number @returns {number} the interval that holds it */
export function interval(cuts, number) {
  const found = cuts.findIndex((cut) => number <= cut);
  return found < 0 ? cuts.length : found;
}

/**
 * What a text says of a variable: one of its states, or a number where it is numeric.
 * @param {Variable} variable @param {string} text @returns {Known | null}
 */
export function understood({ states, cuts }, text) {
  const trimmed = text.trim();
  for (const wanted of [text, trimmed]) {
    const state = states.indexOf(wanted);
    if (state >= 0) return { state };
  }
  const number = Number(trimmed);
  if (trimmed === "" || !Number.isFinite(number)) return null;
  if (cuts) return { state: interval(cuts, number), number };
  const state = states.findIndex((label) => label.trim() !== "" && Number(label) === number);
  return state < 0 ? null : { state };
}

/** @param {Variable} variable @param {number} state @returns {string} for readers */
export function shown({ states, intervals }, state) {
  return intervals ? intervals[state] : states[state];
}

/** @param {Known} known @param {Variable} variable @returns {string} for readers */
export function told(known, variable) {
  if ("weights" in known) return "uncertain";
  return known.number === undefined ? shown(variable, known.state) : String(known.number);
}

/**
 * The evidence as the part of an address after "#".
 * @param {Evidence} evidence @param {Variable[]} variables
 */
export function toAddress(evidence, variables) {
  const parts = [...evidence].map(([v, known]) => {
    const { name, states } = variables[v];
    const value =
      "weights" in known
        ? states.map((label, s) => `${encodeURIComponent(label)}:${+known.weights[s].toPrecision(6)}`).join(",")
        : encodeURIComponent(known.number === undefined ? states[known.state] : String(known.number));
    return `${encodeURIComponent(name)}=${value}`;
  });
  return parts.join("&");
}

/**
 * The evidence that an address holds; what it does not name rightly is left out, and told.
 * @param {string} address the part after "#" @param {Variable[]} variables
 * @returns {{evidence: Evidence, trouble: string[]}}
 */
export function fromAddress(address, variables) {
  /** @type {Map<number, Known>} */
  const evidence = new Map();
  /** @type {string[]} */
  const trouble = [];
  for (const part of address.split("&").filter(Boolean)) {
    const [left, right = ""] = part.split(/=(.*)/s);
    try {
      const v = variables.findIndex(({ name }) => name === decodeURIComponent(left));
      const known = v < 0 ? null : fromValue(right, variables[v]);
      if (known) evidence.set(v, known);
      else trouble.push(decodeURIComponent(part));
    } catch {
      trouble.push(part);
    }
  }
  return { evidence, trouble };
}

/** @param {string} value @param {Variable} variable @returns {Known | null} */
function fromValue(value, variable) {
  const known = understood(variable, decodeURIComponent(value));
  if (known || !value.includes(":")) return known;
  const weights = variable.states.map(() => 0);
  for (const part of value.split(",")) {
    const [label, weight] = part.split(":");
    const state = variable.states.indexOf(decodeURIComponent(label));
    if (state < 0 || !(Number(weight) >= 0) || !Number.isFinite(Number(weight))) return null;
    weights[state] = Number(weight);
  }
  return weights.some((weight) => weight > 0) ? { weights } : null;
}

/**
 * A row that was typed: `name = value` on each line, or two lines of a spreadsheet, names above values.
 * @param {string} text @param {Variable[]} variables @returns {{evidence: Evidence, trouble: string[]}}
 */
export function fromText(text, variables) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  const pairs = sheet(lines, variables) ?? lines.map((line) => pair(line, variables));
  /** @type {Map<number, Known>} */
  const evidence = new Map();
  /** @type {string[]} */
  const trouble = [];
  for (const [name, value] of pairs) {
    const v = variables.findIndex((variable) => variable.name === name || variable.name === name.trim());
    const known = v < 0 ? null : understood(variables[v], value);
    if (known) evidence.set(v, known);
    else if (value.trim() || v < 0) trouble.push(`${name} = ${value}`);
  }
  return { evidence, trouble };
}

/** A line at the "=" behind a name that there is. @param {string} line @param {Variable[]} variables */
function pair(line, variables) {
  const ends = [...line.matchAll(/=/g)].map(({ index }) => index);
  const named = ends.find((end) => variables.some(({ name }) => name.trim() === line.slice(0, end).trim()));
  const end = named ?? ends[0] ?? line.length;
  return [line.slice(0, end).trim(), line.slice(end + 1)];
}

/** @param {string[]} lines @param {Variable[]} variables @returns {string[][] | null} */
function sheet(lines, variables) {
  const mark = ["\t", ";", ","].find((separator) => lines[0]?.includes(separator));
  if (lines.length !== 2 || !mark) return null;
  const [names, values] = lines.map((line) => line.split(mark));
  const known = names.filter((name) => variables.some((variable) => variable.name === name.trim()));
  return known.length * 2 > names.length ? names.map((name, i) => [name.trim(), values[i] ?? ""]) : null;
}
