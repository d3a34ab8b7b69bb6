// The page: reads the data that came with it, and keeps everything in step with what is known.
import { AverageQuestions } from "./average.mjs";
import { Card } from "./card.mjs";
import { make, makeButton, percent } from "./dom.mjs";
import { certain, findings, fromAddress, History, toAddress } from "./evidence.mjs";
import { ClassPanel, NextPanel, RowPanel, WhyPanel, winner } from "./panels.mjs";
import { Picture } from "./picture.mjs";
import { treeData } from "./inference.mjs";
import { Questions } from "./questions.mjs";
import { TablesView } from "./tables.mjs";

/**
 * @typedef {object} PageData
 * @property {number} target
 * @property {import("./evidence.mjs").Variable[]} variables
 * @property {string} tables
 * @property {import("./inference.mjs").PackedTree["tree"]} tree
 * @property {import("./picture.mjs").PictureData} picture
 * @property {import("./panels.mjs").Row[]} rows
 * @property {string} contents what the page contains, in words
 * @property {number} leftOut variables of the model that are not on the page
 * @property {boolean} isNetwork
 * @property {import("./questions.mjs").Calibration} calibration
 * @property {import("./average.mjs").Network[]} [networks] of an average, which has no tables and no tree
 */

/**
 * One view of a page with several: an average of networks, or one of them.
 * @typedef {object} View
 * @property {string} label
 * @property {PageData} data
 */

// A slice of work that leaves the page answering, in milliseconds.
const SLICE = 12;
// The address follows what is known after a moment, in milliseconds.
const WRITING = 150;
const NARROW = 700;

/** The page and all that is on it. */
class Explorer {
  /** @param {PageData} data @param {HTMLElement | null} chooser selects another view of the page */
  constructor(data, chooser) {
    this.data = data;
    this.variables = data.variables;
    const tree = data.networks ? null : treeData(data);
    this.questions = tree ? new Questions(tree, data.target, data.calibration) : new AverageQuestions(/** @type {PageData & import("./average.mjs").AverageData} */ (data));
    this.chooser = chooser;
    this.listening = new AbortController();
    this.history = new History();
    this.turn = 0;
    /** @type {import("./card.mjs").Listener} */
    const listener = {
      set: (v, known, moving) => this.changed(this.history.set(v, known, moving), v),
      toggle: (v, state) => this.changed(this.history.toggle(v, state), v),
      suggest: (v, state) => this.#suggest(v, state),
      unsuggest: () => this.classPanel.rest(),
    };
    const { priors } = this.questions;
    const [target, { states }] = [data.target, data.variables[data.target]];
    this.classPanel = new ClassPanel(target, data.variables[target], priors[target], listener);
    this.cards = data.variables.map((variable, v) => new Card(v, variable, priors[v], listener, v === target));
    this.picture = new Picture(data.picture, this.cards, target);
    this.why = new WhyPanel(data.variables, target, listener);
    this.next = new NextPanel(data.variables, (v) => this.#goTo(v));
    this.row = new RowPanel(data.rows, data.variables, (evidence) => this.changed(this.history.go(evidence)));
    this.tables = new TablesView(data.variables, tree ? tree.tables : [], data.isNetwork);
    this.notice = make("p", { class: "notice", role: "alert" });
    this.status = make("p", { class: "unseen", role: "status", "aria-live": "polite" });
    this.#assemble(states.length);
  }

  /** @param {number} nClasses */
  #assemble(nClasses) {
    this.views = make("div", { class: "tabs", role: "radiogroup", "aria-label": "View" },
      ...["network", "list", "tables", "answers"].filter((view) => view !== "tables" || !this.data.networks).map((view) => this.#tab(view)));
    const stage = make("section", { class: "stage", "aria-label": "The network" },
      make("div", { class: "tools" }, this.views, ...this.picture.tools()), this.picture.view, this.tables.root);
    const left = this.data.leftOut
      ? make("p", { class: "note" }, `Left out of this page: ${this.data.leftOut} of the model's features; what is shown does not depend on them.`)
      : null;
    const contents = make("section", { class: "contents" }, make("h2", {}, "What this page contains"), make("p", { class: "note" }, this.data.contents));
    const aside = make("aside", { "aria-label": "Answers" }, this.why.root, this.next.root, this.row.root, left, contents);
    document.body.classList.toggle("many-classes", nClasses > 8);
    this.roots = [make("header", {}, this.classPanel.root, this.#actions()), this.notice, make("main", {}, stage, aside), this.status];
    document.body.append(...this.roots);
  }

  /** Remove the page, before another view is shown. */
  close() {
    this.turn++;
    clearTimeout(this.writing);
    this.#write();
    this.listening.abort();
    for (const root of this.roots ?? []) root.remove();
  }

  /** @param {string} view */
  #tab(view) {
    const radio = make("input", { type: "radio", name: "view", value: view });
    radio.addEventListener("change", () => this.#view(view));
    // Where there is room, the answers stand beside the picture.
    return make("label", { class: view === "answers" ? "only-narrow" : null }, radio, view);
  }

  /** @param {string} view */
  #view(view) {
    for (const radio of this.views?.querySelectorAll("input") ?? []) radio.checked = radio.value === view;
    document.body.dataset.view = view;
    this.tables.root.hidden = view !== "tables";
    this.picture.view.hidden = view === "tables";
    this.picture.asList(view === "list");
    if (view === "network") this.picture.fit(true);
    if (view === "tables") this.tables.draw();
  }

  #actions() {
    this.undo = makeButton("undo", { title: "Ctrl+Z" }, () => this.changed(this.history.undo()));
    this.redo = makeButton("redo", { title: "Ctrl+Shift+Z" }, () => this.changed(this.history.redo()));
    this.reset = makeButton("reset", {}, () => this.changed(this.history.go(new Map())));
    this.link = makeButton("copy link", { title: "The address holds what is known", hidden: location.protocol === "about:" }, () => this.#copy());
    return make("div", { class: "actions", role: "group", "aria-label": "Evidence" }, this.chooser, this.undo, this.redo, this.reset, this.link);
  }

  async #copy() {
    this.#write();
    try {
      await navigator.clipboard.writeText(location.href);
      this.status.textContent = "The link is copied.";
    } catch {
      prompt("The link to this page with what is known:", location.href);
    }
  }

  /** @param {number} v */
  #goTo(v) {
    const { view } = document.body.dataset;
    if (view === "tables" || view === "answers") this.#view(view === "tables" ? "network" : "list");
    this.picture.goTo(v);
  }

  /** @param {number} v @param {number} state */
  #suggest(v, state) {
    if (v === this.data.target) return;
    const posterior = this.questions.whatIf(findings(this.history.now, this.variables), v, state);
    this.classPanel.suggest(this.variables[v], state, posterior);
  }

  /** Show what follows from what is known. @param {boolean} isNew @param {number} [v] what was clicked */
  changed(isNew, v) {
    if (!isNew) return;
    this.notice.textContent = "";
    this.show(v);
    // Browsers refuse to hear of every step of a slider.
    clearTimeout(this.writing);
    this.writing = setTimeout(() => this.#write(), WRITING);
  }

  #write() {
    try {
      history.replaceState(null, "", `#${toAddress(this.history.now, this.variables)}`);
    } catch {
      // A page inside another has no address of its own.
    }
  }

  /** @param {number} [v] what was clicked */
  show(v) {
    const evidence = this.history.now;
    const known = findings(evidence, this.variables);
    const answer = this.questions.answer(known);
    for (const card of this.picture.inSight) this.#showCard(card, answer);
    const classes = answer.posteriors[this.data.target];
    this.classPanel.show(classes, evidence.get(this.data.target), answer.possible);
    this.why.show(evidence, answer, null);
    this.tables.show(evidence);
    this.row.show(evidence);
    for (const [button, on] of /** @type {const} */ ([[this.undo, this.history.past.length], [this.redo, this.history.future.length], [this.reset, evidence.size]])) {
      if (button) button.disabled = !on;
    }
    this.#announce(v, answer);
    this.#later(known, answer);
  }

  /** @param {Card} card @param {import("./questions.mjs").Answer} answer */
  #showCard(card, answer) {
    card.show(answer.posteriors[card.v], this.history.now.get(card.v), answer.findings.get(card.v));
  }

  /**
   * The cards that are out of sight.
   * @param {import("./questions.mjs").Answer} answer
   * @returns {Generator<void, void>}
   */
  *#showOthers(answer) {
    for (const card of this.cards) {
      this.#showCard(card, answer);
      yield;
    }
  }

  /** @param {number | undefined} v @param {import("./questions.mjs").Answer} answer */
  #announce(v, answer) {
    const { name, states } = this.variables[this.data.target];
    const classes = answer.posteriors[this.data.target];
    const best = winner(classes);
    const cause = v === undefined ? "" : `${this.variables[v].name}: ${this.history.now.has(v) ? "known" : "not known"}. `;
    const surprise = [...answer.findings.values()].some(({ surprising }) => surprising) ? " Some findings are surprising." : "";
    this.status.textContent = answer.possible
      ? `${cause}${name}: ${states[best]} ${percent(classes[best])}.${surprise}`
      : `${cause}These findings are impossible together.`;
  }

  /**
   * What is out of sight, or takes several answers, comes after the bars are painted, in slices, unless something else is clicked first.
   * @param {import("./questions.mjs").Findings} known @param {import("./questions.mjs").Answer} answer
   */
  #later(known, answer) {
    const turn = ++this.turn;
    const classes = answer.posteriors[this.data.target];
    const evidence = this.history.now;
    const given = evidence.get(this.data.target);
    // A class that is given needs no reasons: they are those for it without that.
    const reasons = given && certain(given) >= 0 ? known.with(this.data.target, null) : known;
    /** @type {Generator<void, void>[]} */
    const jobs = [this.#showOthers(answer)];
    if (answer.possible) {
      jobs.push(run(this.questions.contributions(reasons), (found) => this.why.show(evidence, answer, found)));
      jobs.push(run(this.questions.whatNext(known), (found) => this.next.show(found, classes)));
    } else this.next.show([], classes);
    document.body.setAttribute("aria-busy", "true");
    const slice = () => {
      const end = performance.now() + SLICE;
      while (this.turn === turn && jobs.length && performance.now() < end) if (jobs[0].next().done) jobs.shift();
      if (this.turn !== turn) return;
      if (jobs.length) setTimeout(slice);
      else document.body.removeAttribute("aria-busy");
    };
    requestAnimationFrame(() => setTimeout(() => {
      this.classPanel.reveal();
      slice();
    }));
  }

  /** Take what is known from the address. */
  open() {
    clearTimeout(this.writing);
    const { evidence, trouble } = fromAddress(location.hash.slice(1), this.variables);
    this.history.go(evidence);
    this.show();
    this.notice.textContent = trouble.length ? `Not understood in the address, and left out: ${trouble.join("; ")}` : "";
  }

  start() {
    this.open();
    this.#view(document.documentElement.clientWidth < NARROW ? "list" : "network");
    const { signal } = this.listening;
    addEventListener("hashchange", () => this.open(), { signal });
    addEventListener("keydown", (event) => {
      const typing = event.target instanceof HTMLElement && event.target.matches("textarea, input[type=text], input[type=search]");
      if (typing || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
      event.preventDefault();
      this.changed(event.shiftKey ? this.history.redo() : this.history.undo());
    }, { signal });
  }
}

/** Show one of several views, with a menu of all; evidence is kept. @param {View[]} views @param {number} at */
function showView(views, at) {
  const menu = make("select", { "aria-label": "The networks to ask" }, ...views.map(({ label }, i) => make("option", { value: i, selected: i === at }, label)));
  const explorer = new Explorer(views[at].data, menu);
  menu.addEventListener("change", () => {
    explorer.close();
    showView(views, Number(menu.value));
  });
  explorer.start();
}

/**
 * @template T
 * @param {Generator<void, T>} job @param {(found: T) => void} use
 * @returns {Generator<void, void>}
 */
function* run(job, use) {
  use(yield* job);
}

/**
 * The networks of an average that are views themselves are in the page once.
 * @param {(View & {data: {networks?: {data: PageData | number}[]}})[]} views @returns {View[]}
 */
function withNetworks(views) {
  for (const { data } of views) for (const network of data.networks ?? []) if (typeof network.data === "number") network.data = views[network.data].data;
  return views;
}

const source = typeof document === "undefined" ? null : document.getElementById("data");
if (source) {
  const data = JSON.parse(source.textContent ?? "");
  if ("views" in data) showView(withNetworks(data.views), 0);
  else new Explorer(data, null).start();
}
