// Beside the picture: the class, what speaks for it, what to ask next, and rows to start from.
import { States } from "./card.mjs";
import { make, makeButton, named, percent, signed } from "./dom.mjs";
import { equal, fromText, shown, told } from "./evidence.mjs";
import { entropy } from "./questions.mjs";

/** @typedef {import("./evidence.mjs").Variable} Variable */
/** @typedef {import("./evidence.mjs").Evidence} Evidence */

const ASKED_AT_ONCE = 8;
// A conflict below this, findings half as probable as if they were independent, goes without saying.
const NOTABLE = Math.log(2);

/** @param {ArrayLike<number>} values @returns {number} the first of the largest */
export function winner(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}

/** The class, large: its probabilities, and where they would go. */
export class ClassPanel {
  /** @param {number} v @param {Variable} variable @param {Float64Array} prior @param {import("./card.mjs").Listener} listener */
  constructor(v, variable, prior, listener) {
    this.variable = variable;
    this.states = new States(v, variable, prior, listener);
    this.note = make("p", { class: "note" });
    this.list = make("div", { class: "classes", role: "group", "aria-label": variable.name }, ...this.states.buttons);
    this.list.style.setProperty("--label", this.states.labelWidth);
    this.root = make("section", { class: "class-panel", "aria-label": "The class" }, make("h1", {}, make("bdi", {}, variable.name)), this.list, this.note);
    this.rest();
  }

  /** @param {Float64Array} posterior @param {import("./evidence.mjs").Known | undefined} known @param {boolean} possible */
  show(posterior, known, possible) {
    this.states.show(posterior, known);
    this.root.classList.toggle("impossible", !possible);
    const best = possible ? winner(posterior) : -1;
    for (const [s, button] of this.states.buttons.entries()) button.classList.toggle("best", s === best);
    this.posterior = posterior;
    this.possible = possible;
    this.rest();
  }

  /** Of more classes than there is room for, the most probable is in sight, unless somebody looks for another. */
  reveal() {
    const { scrollHeight, clientHeight, offsetTop } = this.list;
    if (!this.posterior || scrollHeight <= clientHeight || this.list.matches(":hover, :focus-within")) return;
    const best = this.states.buttons[winner(this.posterior)];
    this.list.scrollTop = best.offsetTop - offsetTop - (clientHeight - best.offsetHeight) / 2;
  }

  rest() {
    for (const bar of this.states.bars) bar.suggest(null);
    this.note.replaceChildren(
      this.possible === false
        ? "By this network, these findings cannot occur together. Undo the last one, or take one back."
        : "Click what you know: every bar shows how probable a state is then; the thin line, how probable it was before.",
    );
  }

  /** @param {Variable} variable @param {number} state @param {Float64Array} posterior where the class would go */
  suggest(variable, state, posterior) {
    const best = winner(posterior);
    const impossible = posterior[best] === 0;
    for (const [s, bar] of this.states.bars.entries()) bar.suggest(impossible ? null : posterior[s]);
    const outcome = impossible
      ? ["that cannot be, given what is known"]
      : [named(this.variable.states[best]), ` ${percent(this.posterior?.[best] ?? 0)} → ${percent(posterior[best])}`];
    this.note.replaceChildren("If ", named(variable.name), " = ", named(shown(variable, state)), ": ", ...outcome);
  }
}

/** What is known, and what each finding adds to the log odds of a class. */
export class WhyPanel {
  /** @param {Variable[]} variables @param {number} target @param {import("./card.mjs").Listener} listener */
  constructor(variables, target, listener) {
    this.variables = variables;
    this.target = target;
    this.listener = listener;
    this.choice = make("select", { "aria-label": "The class to explain" }, make("option", { value: -1 }, "most probable"),
      ...variables[target].states.map((label, c) => make("option", { value: c }, label)));
    this.choice.addEventListener("change", () => this.#draw());
    this.list = make("ul", { class: "why" });
    this.conflict = make("p", { class: "note conflict", hidden: true });
    this.title = make("h2", {}, "What speaks for it");
    this.root = make("section", {}, make("div", { class: "title" }, this.title, this.choice), this.list, this.conflict);
  }

  /**
   * @param {Evidence} evidence @param {import("./questions.mjs").Answer} answer
   * @param {import("./questions.mjs").Contributions | null} contributions null: not yet known
   */
  show(evidence, answer, contributions) {
    this.evidence = evidence;
    this.answer = answer;
    // Until the new ones are known, the last stand for them.
    this.contributions = contributions ?? this.contributions;
    this.conflict.hidden = answer.conflict < NOTABLE;
    this.conflict.textContent = answer.possible
      ? `Together, these findings are ${times(answer.conflict)} less probable than if they had nothing to do with each other.`
      : "Together, these findings are impossible.";
    this.#draw();
  }

  #draw() {
    const { evidence, answer, contributions } = this;
    if (!evidence || !answer) return;
    const chosen = Number(this.choice.value);
    const c = chosen < 0 ? winner(answer.posteriors[this.target]) : chosen;
    this.title.replaceChildren("What speaks for ", named(this.variables[this.target].states[c]));
    const shares = answer.possible ? contributions?.findings : undefined;
    const values = new Map([...evidence.keys()].map((v) => [v, shares?.get(v)?.[c]]));
    const order = [...evidence.keys()].sort((a, b) => Math.abs(values.get(b) ?? 0) - Math.abs(values.get(a) ?? 0));
    const prior = contributions?.prior[c] ?? 0;
    const largest = Math.max(Math.abs(prior), ...order.map((v) => Math.abs(values.get(v) ?? 0)), 1e-9);
    const averaging = (order.length && answer.possible && contributions?.averaging?.[c]) || 0;
    const total = order.reduce((sum, v) => sum + (values.get(v) ?? 0), prior + averaging);
    this.list.replaceChildren(
      make("li", { class: "base" }, make("span", { class: "what" }, "before anything is known"), signedBar(prior, largest)),
      ...order.map((v) => this.#finding(v, values.get(v), largest)),
      averaging ? make("li", { class: "base" }, make("span", { class: "what" }, "averaging probabilities, not log odds"), signedBar(averaging, largest)) : "",
      answer.possible ? make("li", { class: "sum" }, make("span", { class: "what" }, "together, log odds"), make("b", {}, signed(total))) : "",
    );
  }

  /** @param {number} v @param {number | undefined} value @param {number} largest */
  #finding(v, value, largest) {
    const { name } = this.variables[v];
    const known = /** @type {import("./evidence.mjs").Known} */ (this.evidence?.get(v));
    const finding = this.answer?.findings.get(v);
    const remove = makeButton("×", { class: "remove", "aria-label": `Take back ${name}`, title: "Take it back" }, () => this.listener.set(v, null));
    const what = make("span", { class: "what" }, named(name), " = ", named(told(known, this.variables[v])));
    const flag = finding?.surprising
      ? make("span", { class: "flag", title: `probability ${percent(finding.alone)} alone, ${percent(finding.given)} given the others` }, "surprising")
      : null;
    return make("li", {}, make("span", { class: "finding" }, what, flag), value === undefined ? null : signedBar(value, largest), remove);
  }
}

/** @param {number} conflict a logarithm @returns {string} */
function times(conflict) {
  const ratio = Math.exp(conflict);
  if (ratio >= 1000) return "more than a thousand times";
  return `${ratio < 10 ? ratio.toFixed(1) : ratio.toFixed(0)} times`;
}

/** @param {number} value @param {number} largest */
function signedBar(value, largest) {
  const fill = make("i", { class: value < 0 ? "against" : "for" });
  fill.style.width = `${(50 * Math.abs(value)) / largest}%`;
  return make("span", { class: "signed" }, make("span", { class: "track", "aria-hidden": "true" }, fill), make("data", { value }, signed(value)));
}

/** The unknown features that would tell most of the class. */
export class NextPanel {
  /** @param {Variable[]} variables @param {(variable: number) => void} goTo */
  constructor(variables, goTo) {
    this.variables = variables;
    this.goTo = goTo;
    this.all = false;
    this.list = make("ol", { class: "next" });
    this.more = makeButton("show all", { class: "link" }, () => {
      this.all = !this.all;
      this.#draw();
    });
    this.note = make("p", { class: "note" }, "How much of the doubt about the class each answer would remove, on average.");
    this.root = make("section", {}, make("h2", {}, "What to ask next"), this.note, this.list, this.more);
    /** @type {{variable: number, information: number}[]} */
    this.ranked = [];
    this.doubt = 0;
  }

  /** @param {{variable: number, information: number}[]} ranked @param {Float64Array} classes */
  show(ranked, classes) {
    this.ranked = ranked;
    this.doubt = entropy(classes);
    this.#draw();
  }

  #draw() {
    const shown = this.all ? this.ranked : this.ranked.slice(0, ASKED_AT_ONCE);
    const largest = Math.max(this.ranked[0]?.information ?? 0, 1e-12);
    this.more.hidden = this.ranked.length <= ASKED_AT_ONCE;
    this.more.textContent = this.all ? "show fewer" : `show all ${this.ranked.length}`;
    this.list.replaceChildren(...shown.map(({ variable, information }) => this.#line(variable, information, largest)));
    if (this.ranked.length === 0) this.list.replaceChildren(make("li", { class: "note" }, "Nothing is left to ask."));
  }

  /** @param {number} v @param {number} information @param {number} largest */
  #line(v, information, largest) {
    const fill = make("i", { class: "fill" });
    fill.style.width = `${(100 * information) / largest}%`;
    const share = this.doubt > 1e-12 ? percent(information / this.doubt) : "0%";
    const button = makeButton("", { title: `${information.toPrecision(3)} nats` }, () => this.goTo(v));
    button.append(
      make("span", { class: "what" }, named(this.variables[v].name)),
      make("span", { class: "bar", "aria-hidden": "true" }, fill),
      make("data", { value: information }, share),
    );
    return make("li", {}, button);
  }
}

/**
 * A row of the data that was given with the page.
 * @typedef {{name: string, states: number[], numbers: Record<number, number>, truth?: string}} Row
 */

/** Rows to start from: one that was given, or one that is typed. */
export class RowPanel {
  /** @param {Row[]} rows @param {Variable[]} variables @param {(evidence: Evidence) => void} load */
  constructor(rows, variables, load) {
    this.rows = rows;
    this.variables = variables;
    this.load = load;
    this.at = -1;
    this.note = make("p", { class: "note" });
    this.root = make("section", {}, make("h2", {}, "A row"), rows.length ? this.#chooser() : null, this.#typed(), this.note);
  }

  #chooser() {
    const options = this.rows.map(({ name }, m) => make("option", { value: m }, `row ${name}`));
    this.choice = make("select", { "aria-label": "Load a row" }, make("option", { value: "" }, "load a row…"), ...options);
    this.choice.addEventListener("change", () => this.choice?.value && this.#choose(Number(this.choice.value)));
    const step = (/** @type {number} */ by) => () => this.#choose(Math.max(0, Math.min(this.rows.length - 1, this.at + by)));
    return make("div", { class: "chooser" }, this.choice,
      makeButton("‹", { "aria-label": "The row before" }, step(-1)), makeButton("›", { "aria-label": "The next row" }, step(1)));
  }

  /** @param {number} m */
  #choose(m) {
    this.at = m;
    const { states, numbers, truth } = this.rows[m];
    /** @type {Map<number, import("./evidence.mjs").Known>} */
    const evidence = new Map();
    for (const [v, state] of states.entries()) {
      if (state >= 0) evidence.set(v, v in numbers ? { state, number: numbers[v] } : { state });
    }
    this.#take(evidence, String(m), ...(truth === undefined ? [] : ["In the data, the class of this row is ", named(truth), "."]));
  }

  /** @param {Evidence} evidence @param {string} choice the row's number, or nothing @param {...(Node | string)} note */
  #take(evidence, choice, ...note) {
    this.taken = evidence;
    this.load(evidence);
    if (this.choice) this.choice.value = choice;
    this.note.replaceChildren(...note);
  }

  /** What was said of a row holds until something else is known. @param {Evidence} evidence */
  show(evidence) {
    if (!this.taken || equal(evidence, this.taken)) return;
    if (this.choice) this.choice.value = "";
    this.note.replaceChildren();
  }

  #typed() {
    const label = "A row, name = value on each line";
    const text = make("textarea", { rows: 4, "aria-label": label, placeholder: "name = value\nor two lines of a spreadsheet" });
    const take = makeButton("use it", {}, () => {
      const { evidence, trouble } = fromText(text.value, this.variables);
      this.#take(evidence, "", trouble.length ? `Not understood, and left out: ${trouble.join("; ")}` : "");
    });
    return make("details", {}, make("summary", {}, "type a row"), text, take);
  }
}
