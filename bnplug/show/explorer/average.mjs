// The questions to an average of networks: the mean of the answers of each.
//
// The page of an average has the variables that all networks share. A numeric variable has *cells*, the intervals
// between the cuts of all networks. Each bin of a network consists of cells, each of which has a share of the bin. The
// states on the page are groups of cells. Findings about such a variable are likelihoods of its cells.
import { treeData } from "./inference.mjs";
import { entropy, logOdds, logSum, Questions, ranked, SURPRISE } from "./questions.mjs";

/**
 * @typedef {object} Cells
 * @property {number[]} cuts the ascending cuts of all networks
 * @property {number[]} groups the state on the page that contains each cell
 */

/**
 * One network of an average.
 * @typedef {object} Network
 * @property {import("./inference.mjs").PackedTree & {target: number, calibration: import("./questions.mjs").Calibration}} data
 * @property {number[]} places the position in this network of each variable of the page
 * @property {Record<number, {bins: number[], shares: number[]}>} cells the bin of each cell, and its share of the bin
 * @property {boolean} always whether the network answers if all features are known
 */

/**
 * @typedef {object} AverageData
 * @property {number} target
 * @property {{states: string[], cells?: Cells | null}[]} variables
 * @property {Network[]} networks
 * @property {number} leftOut features of the model that are not on the page, and thus never known
 */

/** @param {ArrayLike<number>[]} arrays @returns {number[]} */
function meanOf(arrays) {
  return Array.from(arrays[0], (_, i) => arrays.reduce((sum, values) => sum + values[i], 0) / arrays.length);
}

/** The questions about an average of networks, with the methods of `Questions`. */
export class AverageQuestions {
  /** @param {AverageData} data */
  constructor(data) {
    this.data = data;
    this.networks = data.networks.map((network) => ({
      ...network,
      questions: new Questions(treeData(network.data), network.data.target, network.data.calibration),
    }));
    this.priors = this.answer(data.variables.map(() => null)).posteriors;
  }

  /** @param {import("./questions.mjs").Findings} findings @returns the networks that answer, with their findings */
  #asked(findings) {
    const { target, leftOut } = this.data;
    const complete = leftOut === 0 && findings.every((known, v) => v === target || (known && known.filter(Boolean).length === 1));
    return this.networks.filter(({ always }) => always || !complete).map((network) => ({ ...network, known: this.#findings(findings, network) }));
  }

  /** Translate findings about the page's variables. @param {import("./questions.mjs").Findings} findings @param {Network} network */
  #findings(findings, { data, places, cells }) {
    /** @type {import("./questions.mjs").Findings} */
    const known = data.variables.map(() => null);
    for (const [v, finding] of findings.entries()) {
      if (!finding) continue;
      known[places[v]] = cells[v] ? this.#inBins(finding, cells[v], data.variables[places[v]].states.length) : finding;
    }
    return known;
  }

  /** @param {number[]} finding @param {{bins: number[], shares: number[]}} cells @param {number} nBins */
  #inBins(finding, { bins, shares }, nBins) {
    const likelihood = Array.from({ length: nBins }, () => 0);
    for (const [cell, bin] of bins.entries()) likelihood[bin] += shares[cell] * finding[cell];
    return likelihood;
  }

  /** The probabilities of the page's states, or of cells. @param {ArrayLike<number>} posterior @param {Network} network @param {number} v */
  #spread(posterior, { cells }, v, grouped = true) {
    const own = cells[v];
    if (!own) return Float64Array.from(posterior);
    const spread = own.bins.map((bin, cell) => posterior[bin] * own.shares[cell]);
    if (!grouped) return Float64Array.from(spread);
    const result = new Float64Array(this.data.variables[v].states.length);
    const groups = this.data.variables[v].cells?.groups ?? [];
    for (const [cell, value] of spread.entries()) result[groups[cell]] += value;
    return result;
  }

  /** @param {import("./questions.mjs").Findings} findings @returns {import("./questions.mjs").Answer} */
  answer(findings) {
    const answers = this.#asked(findings)
      .map((network) => ({ network, answer: network.questions.answer(network.known) }))
      .filter(({ answer }) => answer.possible);
    if (answers.length === 0) {
      const none = this.data.variables.map(({ states }) => new Float64Array(states.length));
      return { posteriors: none, possible: false, conflict: 0, findings: new Map() };
    }
    const posteriors = this.data.variables.map((_, v) =>
      Float64Array.from(meanOf(answers.map(({ network, answer }) => this.#spread(answer.posteriors[network.places[v]], network, v)))),
    );
    /** @type {Map<number, import("./questions.mjs").Finding>} */
    const found = new Map();
    let apart = 0;
    for (const [v, known] of findings.entries()) {
      if (!known) continue;
      const each = answers.flatMap(({ network, answer }) => answer.findings.get(network.places[v]) ?? []);
      const [alone, given] = meanOf(each.map((one) => [one.alone, one.given]));
      found.set(v, { alone, given, surprising: given * SURPRISE < alone });
      apart += Math.log(alone);
    }
    // log P(findings) of each network
    const joints = answers.map(({ answer }) => [...answer.findings.values()].reduce((sum, { alone }) => sum + Math.log(alone), -answer.conflict));
    const conflict = found.size ? apart - (logSum(joints) - Math.log(joints.length)) : 0;
    return { posteriors, possible: true, conflict, findings: found };
  }

  /**
   * P(class | findings) if in addition, or instead, one variable were in a state.
   * @param {import("./questions.mjs").Findings} findings @param {number} variable @param {number} state
   */
  whatIf(findings, variable, state) {
    const { states, cells } = this.data.variables[variable];
    const groups = cells ? cells.groups : states.map((_, s) => s);
    const known = findings.with(variable, groups.map((group) => Number(group === state)));
    const posteriors = this.#asked(known).map(({ questions, known: own, places }) => questions.whatIf(own, places[variable], null));
    const possible = posteriors.filter((posterior) => posterior.some((value) => value > 0));
    return Float64Array.from(meanOf(possible.length ? possible : posteriors));
  }

  /**
   * The unknown features by I(class; feature | findings) under the averaged joint, of cells for numeric features.
   * It yields between steps.
   * @param {import("./questions.mjs").Findings} findings
   * @returns {Generator<void, {variable: number, information: number}[]>} the largest first
   */
  *whatNext(findings) {
    const asked = this.#asked(findings);
    const unknown = this.data.variables.map((_, v) => v).filter((v) => v !== this.data.target && !findings[v]);
    /** @type {Map<number, Float64Array[]>} the joint of class and feature, a row for each class */
    const joints = new Map();
    for (const network of asked) {
      const { classes, given } = yield* network.questions.conditionals(network.known);
      for (const v of unknown) {
        for (const [c, share] of classes.entries()) {
          const posterior = given[c] && this.#spread(given[c][network.places[v]], network, v, false);
          if (!posterior) continue;
          const joint = joints.get(v) ?? Array.from(classes, () => new Float64Array(posterior.length));
          joints.set(v, joint);
          for (let s = 0; s < posterior.length; s++) joint[c][s] += (share * posterior[s]) / asked.length;
        }
      }
      yield;
    }
    return ranked(unknown.map((variable) => ({ variable, information: Math.max(0, information(joints.get(variable) ?? [])) })));
  }

  /**
   * The mean contributions of the networks, and the difference between the log odds of their mean and the mean of
   * their log odds. It yields between steps.
   * @param {import("./questions.mjs").Findings} findings
   * @returns {Generator<void, import("./questions.mjs").Contributions>}
   */
  *contributions(findings) {
    const each = [];
    for (const network of this.#asked(findings)) {
      const { prior, findings: shares } = yield* network.questions.contributions(network.known);
      each.push({ network, prior, shares });
    }
    const prior = meanOf(each.map((one) => one.prior));
    /** @type {Map<number, number[]>} */
    const found = new Map();
    for (const [v, known] of findings.entries()) {
      if (known) found.set(v, meanOf(each.map(({ network, shares }) => shares.get(network.places[v]) ?? prior.map(() => 0))));
    }
    const odds = logOdds(this.answer(findings).posteriors[this.data.target].map(Math.log));
    const averaging = odds.map((value, c) => [...found.values()].reduce((rest, shares) => rest - shares[c], value - prior[c]));
    return { prior, findings: found, averaging };
  }
}

/** @param {Float64Array[]} joint of class and feature @returns {number} their mutual information in nats */
function information(joint) {
  const total = joint.reduce((sum, row) => row.reduce((all, value) => all + value, sum), 0);
  const classes = joint.map((row) => row.reduce((sum, value) => sum + value, 0) / total);
  const states = Array.from(joint[0] ?? [], (_, s) => joint.reduce((sum, row) => sum + row[s], 0) / total);
  return entropy(classes) + entropy(states) - entropy(joint.flatMap((row) => Array.from(row, (value) => value / total)));
}
