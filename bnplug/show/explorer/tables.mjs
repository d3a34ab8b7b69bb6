// The parameters of one variable: a line for each configuration of its parents.
import { make, named, percent } from "./dom.mjs";
import { certain, shown } from "./evidence.mjs";

/** @typedef {import("./evidence.mjs").Variable} Variable */

// A table with more lines than this is cut off.
const MOST_LINES = 400;

/** The view of tables. */
export class TablesView {
  /** @param {Variable[]} variables @param {Float64Array[]} tables logarithms @param {boolean} isNetwork */
  constructor(variables, tables, isNetwork) {
    this.variables = variables;
    this.tables = tables;
    this.isNetwork = isNetwork;
    this.choice = make("select", { id: "table-of" }, ...variables.map(({ name }, v) => make("option", { value: v }, name)));
    this.choice.addEventListener("change", () => this.draw());
    this.place = make("div", { class: "scroll", role: "region", "aria-label": "Table", tabindex: 0 });
    this.note = make("p", { class: "note" });
    this.root = make("section", { class: "tables", hidden: true }, make("label", { for: "table-of" }, "Table of "), this.choice, this.place, this.note);
    /** @type {import("./evidence.mjs").Evidence} */
    this.evidence = new Map();
  }

  /** @param {import("./evidence.mjs").Evidence} evidence */
  show(evidence) {
    this.evidence = evidence;
    if (!this.root.hidden) this.draw();
  }

  draw() {
    const v = Number(this.choice.value);
    const { name, states, parents } = this.variables[v];
    const lines = parents.reduce((n, parent) => n * this.variables[parent].states.length, 1);
    const heads = [...parents.map((parent) => this.variables[parent].name), ...states.map((_, s) => shown(this.variables[v], s))];
    const body = make("tbody");
    for (let line = 0; line < Math.min(lines, MOST_LINES); line++) body.append(this.#line(v, line, lines));
    const above = make("tr", {}, ...parents.map(() => make("td")), make("th", { colspan: states.length, scope: "colgroup" }, named(name)));
    const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, named(text || "\u00a0"))));
    this.place.replaceChildren(make("table", {}, make("thead", {}, above, head), body));
    this.note.textContent =
      (lines > MOST_LINES ? `The first ${MOST_LINES} of ${lines.toLocaleString("en")} lines. ` : "") +
      (parents.length ? "Lines that what is known rules out are pale. " : "") +
      (this.isNetwork ? "" : "These parameters are discriminative: lines need not sum to one.");
  }

  /** @param {number} v @param {number} line @param {number} lines */
  #line(v, line, lines) {
    const { states, parents } = this.variables[v];
    let [rest, open] = [line, true];
    const given = parents.toReversed().map((parent) => {
      const own = this.variables[parent].states;
      const state = rest % own.length;
      rest = Math.floor(rest / own.length);
      const known = this.evidence.get(parent);
      if (known && certain(known) >= 0 && certain(known) !== state) open = false;
      return make("th", { scope: "row" }, named(shown(this.variables[parent], state) || "\u00a0"));
    });
    const cells = states.map((_, s) => {
      const p = Math.exp(this.tables[v][s * lines + line]);
      const cell = make("td", {}, this.isNetwork ? percent(p) : p.toPrecision(3));
      cell.style.setProperty("--p", String(Math.min(p, 1)));
      return cell;
    });
    return make("tr", { class: open ? null : "closed" }, ...given.reverse(), ...cells);
  }
}
