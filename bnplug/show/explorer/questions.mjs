// What the page asks of the network: posteriors, conflict, what to ask next, and what each finding contributes.
import { CliqueTree, normalized } from "./inference.mjs";

/**
 * What is known: for each variable a likelihood of its states, or null.
 * @typedef {(number[] | null)[]} Findings
 */

/**
 * @typedef {object} Answer
 * @property {Float64Array[]} posteriors of every variable; all 0 where the findings are impossible together
 * @property {boolean} possible
 * @property {number} conflict log of the product of the findings' probabilities over their joint probability
 * @property {Map<number, Finding>} findings by variable
 */

/**
 * @typedef {object} Finding
 * @property {number} alone its probability with nothing else known (of soft evidence: its mean likelihood)
 * @property {number} given its probability given all other findings
 * @property {boolean} surprising whether the others make it less than half as probable
 */

/**
 * The log odds of each class with nothing known, and what each finding adds; in an average of networks, also the
 * difference between the log odds of the mean and the mean of the log odds.
 * @typedef {{prior: number[], findings: Map<number, number[]>, averaging?: number[]}} Contributions
 */

/**
 * The factors of evidence for posteriors of the class, and the features that they depend on.
 * @typedef {object} Calibration
 * @property {number} observed the factor if all features of the Markov blanket are known
 * @property {number} missing the factor if none is
 * @property {number[]} blanket the variables of the blanket on this page
 * @property {number} size the number of all features of the blanket
 */

// Log odds beyond this are as good as certain, and are cut off, so that contributions stay finite.
const CERTAIN = 1000;
// A finding is surprising where the others divide its probability by more than this.
export const SURPRISE = 2;
// Information values this close are tied, as in Python; of tied features the first comes first.
const TIE = 1e-9;

/** @param {ArrayLike<number>} logs */
export function logSum(logs) {
  let largest = -Infinity;
  for (let i = 0; i < logs.length; i++) largest = Math.max(largest, logs[i]);
  if (largest === -Infinity) return largest;
  let sum = 0;
  for (let i = 0; i < logs.length; i++) sum += Math.exp(logs[i] - largest);
  return largest + Math.log(sum);
}

/** @param {ArrayLike<number>} probabilities @param {ArrayLike<number>} weights */
function mean(probabilities, weights) {
  let sum = 0;
  for (let i = 0; i < probabilities.length; i++) sum += probabilities[i] * weights[i];
  return sum;
}

/** @param {ArrayLike<number>} probabilities @returns {number} in nats */
export function entropy(probabilities) {
  let sum = 0;
  for (let i = 0; i < probabilities.length; i++) {
    if (probabilities[i] > 0) sum -= probabilities[i] * Math.log(probabilities[i]);
  }
  return sum;
}

/** @param {number[] | null} likelihood @returns {number} how much is known: 1 for a state, 0 for nothing */
function degree(likelihood) {
  if (!likelihood) return 0;
  const total = likelihood.reduce((sum, value) => sum + value, 0);
  return 1 - entropy(likelihood.map((value) => value / total)) / Math.log(likelihood.length);
}

/** @param {ArrayLike<number> & Iterable<number>} logs of the classes' measures @returns {number[]} the log odds of each class */
export function logOdds(logs) {
  const values = [...logs];
  if (values.every((value) => value === -Infinity)) return values.map(() => -Math.log(values.length - 1));
  return values.map((value, c) => {
    const odds = value - logSum(values.filter((_, other) => other !== c));
    return Math.max(-CERTAIN, Math.min(CERTAIN, odds));
  });
}

/** @param {{variable: number, information: number}[]} left by variable @returns the largest first */
export function ranked(left) {
  const order = [];
  while (left.length) {
    const largest = left.reduce((most, { information }) => Math.max(most, information), 0);
    order.push(...left.splice(left.findIndex(({ information }) => information >= largest - TIE), 1));
  }
  return order;
}

/** The questions about one network. */
export class Questions {
  /**
   * @param {import("./inference.mjs").TreeData} data @param {number} target the class
   * @param {Calibration} calibration
   */
  constructor(data, target, calibration = { observed: 1, missing: 1, blanket: [], size: 0 }) {
    this.tree = new CliqueTree(data);
    this.target = target;
    this.calibration = calibration;
    this.nothing = this.tree.others(target);
    this.n = data.cards.length;
    this.priors = this.tree.posteriors();
    this.total = logSum(this.tree.measure(target));
  }

  /** @param {Findings} findings */
  #observe(findings) {
    for (let v = 0; v < this.n; v++) this.tree.observe(v, findings[v]);
  }

  /** @param {Findings} findings @returns {number} by how much evidence counts: T(e) */
  #factor(findings) {
    const { observed, missing, blanket, size } = this.calibration;
    if (size === 0) return missing;
    const known = blanket.reduce((sum, v) => sum + degree(findings[v]), 0) / size;
    return observed * known + missing * (1 - known);
  }

  /**
   * The logarithms of the measure of each class with all findings, the evidence tempered.
   * @param {Findings} findings @param {number} factor
   */
  #classes(findings, factor = this.#factor(findings)) {
    this.#observe(findings);
    const given = findings[this.target];
    return this.tree.others(this.target).map((value, c) => {
      const prior = this.nothing[c];
      const logs = factor === 1 || value === -Infinity ? value : prior + factor * (value - prior);
      return logs + (given ? Math.log(given[c]) : 0);
    });
  }

  /** @param {Findings} findings @returns {Answer} */
  answer(findings) {
    this.#observe(findings);
    const posteriors = this.tree.posteriors();
    posteriors[this.target] = normalized(this.#classes(findings));
    /** @type {Map<number, Finding>} */
    const found = new Map();
    let conflict = 0;
    for (let v = 0; v < this.n; v++) {
      const known = findings[v];
      if (!known) continue;
      const alone = mean(this.priors[v], known);
      const given = mean(normalized(this.tree.others(v)), known);
      found.set(v, { alone, given, surprising: given * SURPRISE < alone });
      conflict += Math.log(alone);
    }
    const joint = logSum(this.tree.measure(this.target)) - this.total;
    return { posteriors, possible: joint > -Infinity, conflict: found.size ? conflict - joint : 0, findings: found };
  }

  /**
   * P(class | findings) if in addition, or instead, one variable were in a state.
   * @param {Findings} findings @param {number} variable @param {number | null} state null: as the findings say
   */
  whatIf(findings, variable, state) {
    if (state === null) return normalized(this.#classes(findings));
    const likelihood = Array.from({ length: this.tree.cards[variable] }, (_, s) => Number(s === state));
    return normalized(this.#classes(findings.with(variable, likelihood)));
  }

  /**
   * P(class | findings), and the posteriors of all variables given each class that is possible. It yields between steps.
   * @param {Findings} findings
   * @returns {Generator<void, {classes: Float64Array, given: (Float64Array[] | null)[]}>}
   */
  *conditionals(findings) {
    const classes = normalized(this.#classes(findings));
    const given = [];
    for (const [c, share] of classes.entries()) {
      if (share > 0) {
        yield;
        this.#observe(findings.with(this.target, Array.from(classes, (_, other) => Number(other === c))));
      }
      given.push(share > 0 ? this.tree.posteriors() : null);
    }
    return { classes, given };
  }

  /**
   * The unknown features by the expected fall of the class's entropy, I(class; feature | findings) in nats.
   * It yields between steps, each of which may take as long as an answer.
   * @param {Findings} findings
   * @returns {Generator<void, {variable: number, information: number}[]>} the largest first
   */
  *whatNext(findings) {
    const { classes, given } = yield* this.conditionals(findings);
    const mixed = this.tree.cards.map((card) => new Float64Array(card));
    const left = new Float64Array(this.n);
    for (const [c, share] of classes.entries()) {
      for (const [v, posterior] of (given[c] ?? []).entries()) {
        left[v] += share * entropy(posterior);
        for (let s = 0; s < posterior.length; s++) mixed[v][s] += share * posterior[s];
      }
    }
    const unknown = [...mixed.keys()].filter((v) => v !== this.target && !findings[v]);
    return ranked(
      unknown.map((variable) => ({ variable, information: Math.max(0, entropy(mixed[variable]) - left[variable]) })),
    );
  }

  /**
   * What each finding adds to the log odds of each class: findings are revealed one by one, as the variables come
   * and in reverse, and the mean of both is taken. With the prior, they add up to the posterior log odds.
   * It yields between steps.
   * @param {Findings} findings
   * @returns {Generator<void, Contributions>}
   */
  *contributions(findings) {
    const known = [...findings.keys()].filter((v) => findings[v]);
    /** @type {Map<number, number[]>} */
    const found = new Map();
    const nothing = findings.map(() => null);
    const factor = this.#factor(findings);
    const prior = this.#odds(nothing, factor);
    for (const order of [known, known.toReversed()]) {
      /** @type {Findings} */
      const shown = [...nothing];
      let before = prior;
      for (const v of order) {
        yield;
        shown[v] = findings[v];
        const after = this.#odds(shown, factor);
        const half = found.get(v) ?? after.map(() => 0);
        found.set(v, after.map((odds, c) => half[c] + (odds - before[c]) / 2));
        before = after;
      }
    }
    return { prior, findings: found };
  }

  /** @param {Findings} findings @param {number} factor @returns {number[]} the log odds of each class */
  #odds(findings, factor) {
    return logOdds(this.#classes(findings, factor));
  }
}
