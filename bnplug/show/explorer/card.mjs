// The card of one variable: a group of buttons, one for each state, with sliders and a field behind them.
import { certain, shown, understood } from "./evidence.mjs";
import { Bar, make, makeButton } from "./dom.mjs";

/**
 * What a card tells the page.
 * @typedef {object} Listener
 * @property {(variable: number, known: import("./evidence.mjs").Known | null, moving?: boolean) => void} set
 * @property {(variable: number, state: number) => void} toggle
 * @property {(variable: number, state: number) => void} suggest
 * @property {() => void} unsuggest
 */

// Texts of as many letters fit where they stand, whatever the letters.
const SHORT = 9;
// Labels are cut off behind as many letters' sizes.
const LONGEST = 8.6;

/** The buttons of a variable's states; a click makes one evidence, another takes it back. */
export class States {
  /**
   * @param {number} v @param {import("./evidence.mjs").Variable} variable @param {Float64Array} prior
   * @param {Listener} listener
   */
  constructor(v, variable, prior, listener) {
    this.v = v;
    this.listener = listener;
    this.bars = variable.states.map((_, s) => new Bar(prior[s]));
    this.buttons = variable.states.map((label, s) => this.#button(label, shown(variable, s), s));
    this.buttons[0].tabIndex = 0;
    /** What the labels need, in the size of their letters; the bars get the rest. */
    this.labelWidth = `${Math.min(LONGEST, 0.8 + 0.58 * Math.max(...variable.states.map((_, s) => shown(variable, s).length)))}em`;
    /** @type {import("./evidence.mjs").Known | undefined} */
    this.known = undefined;
  }

  /** @param {string} label @param {string} text @param {number} s */
  #button(label, text, s) {
    const { root, number } = this.bars[s];
    const button = make("button", { type: "button", class: "state", "aria-pressed": "false", tabindex: -1 });
    button.append(make("bdi", { class: text.length > SHORT ? "label long" : "label", title: label }, text || "\u00a0"), root, number);
    button.addEventListener("click", () => this.listener.toggle(this.v, s));
    button.addEventListener("pointerenter", () => this.listener.suggest(this.v, s));
    button.addEventListener("pointerleave", () => this.listener.unsuggest());
    button.addEventListener("focus", () => {
      for (const other of this.buttons) other.tabIndex = other === button ? 0 : -1;
      if (button.matches(":focus-visible")) this.listener.suggest(this.v, s);
    });
    button.addEventListener("blur", () => this.listener.unsuggest());
    button.addEventListener("keydown", (event) => this.#move(event, s));
    return button;
  }

  /** Arrows go from state to state; Tab goes to the next card. @param {KeyboardEvent} event @param {number} s */
  #move(event, s) {
    const last = this.buttons.length - 1;
    const to = { ArrowUp: s - 1, ArrowLeft: s - 1, ArrowDown: s + 1, ArrowRight: s + 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.buttons[Math.max(0, Math.min(last, to))].focus();
  }

  /** @param {Float64Array} posterior @param {import("./evidence.mjs").Known | undefined} known */
  show(posterior, known) {
    for (const [s, bar] of this.bars.entries()) bar.set(posterior[s]);
    if (known === this.known) return;
    this.known = known;
    const sure = known ? certain(known) : -1;
    for (const [s, button] of this.buttons.entries()) button.setAttribute("aria-pressed", String(s === sure));
  }
}

// A card with more states scrolls.
const MOST_STATES = 8;

/** A card of the picture. */
export class Card {
  /**
   * @param {number} v @param {import("./evidence.mjs").Variable} variable @param {Float64Array} prior
   * @param {Listener} listener @param {boolean} isClass
   */
  constructor(v, variable, prior, listener, isClass) {
    this.v = v;
    this.variable = variable;
    this.listener = listener;
    this.states = new States(v, variable, prior, listener);
    this.flag = make("span", { class: "flag", hidden: true }, "surprising");
    this.unsure = this.#unsure();
    this.body = make("div", { class: "states" }, ...this.states.buttons);
    this.body.style.setProperty("--label", this.states.labelWidth);
    this.field = variable.cuts ? this.#field() : null;
    const kinds = ["card", isClass && "is-class", variable.states.length > MOST_STATES && "many"];
    this.root = make("section", { class: kinds.filter(Boolean).join(" "), role: "group", "aria-labelledby": `name-${v}` },
      make("header", {}, this.#heading(), this.flag, this.unsure),
      make("p", { class: "hint" }, "How well does each fit what you know?"), this.body,
      this.field && make("label", { class: "number" }, "a number", this.field));
    /** @type {HTMLInputElement[]} */
    this.sliders = [];
  }

  #heading() {
    const { name } = this.variable;
    return make("h3", { id: `name-${this.v}`, title: name, class: name.length > SHORT ? "long" : null }, make("bdi", {}, name || "\u00a0"));
  }

  #unsure() {
    const label = `unsure about ${this.variable.name}`;
    const title = "Not sure? Say how well each state fits";
    return makeButton("unsure", { class: "unsure", "aria-expanded": "false", "aria-label": label, title }, () => this.#open());
  }

  #field() {
    const field = make("input", { type: "text", inputmode: "decimal", autocomplete: "off", "aria-label": `${this.variable.name}, a number` });
    field.addEventListener("change", () => {
      const known = understood(this.variable, field.value);
      if (known || !field.value.trim()) this.listener.set(this.v, known);
      field.setCustomValidity(known || !field.value.trim() ? "" : "Not a number");
      field.reportValidity();
    });
    return field;
  }

  /** Show the sliders, or hide them. */
  #open() {
    if (this.sliders.length === 0) this.#addSliders();
    const open = this.root.classList.toggle("open");
    this.unsure.setAttribute("aria-expanded", String(open));
    this.#setSliders();
  }

  #addSliders() {
    this.sliders = this.variable.states.map((label) => {
      const slider = make("input", { type: "range", min: 0, max: 100, step: 1, "aria-label": `${label}: how well it fits what you know` });
      slider.addEventListener("input", () => {
        const weights = this.sliders.map((other) => Number(other.value) / 100);
        this.listener.set(this.v, weights.some((weight) => weight > 0) ? { weights } : null, true);
      });
      return slider;
    });
    this.body.replaceChildren(...this.states.buttons.flatMap((button, s) => [button, this.sliders[s]]));
  }

  #setSliders() {
    const known = this.states.known;
    for (const [s, slider] of this.sliders.entries()) {
      const weight = !known ? 1 : "weights" in known ? known.weights[s] : Number(s === known.state);
      if (document.activeElement !== slider) slider.value = String(Math.round(100 * weight));
    }
  }

  /**
   * @param {Float64Array} posterior @param {import("./evidence.mjs").Known | undefined} known
   * @param {import("./questions.mjs").Finding | undefined} finding
   */
  show(posterior, known, finding) {
    const changed = known !== this.states.known;
    this.states.show(posterior, known);
    this.flag.hidden = !finding?.surprising;
    if (!changed) return;
    this.root.classList.toggle("known", Boolean(known));
    this.root.classList.toggle("soft", Boolean(known && "weights" in known));
    if (this.field && document.activeElement !== this.field) {
      this.field.value = known && "number" in known && known.number !== undefined ? String(known.number) : "";
      this.field.setCustomValidity("");
    }
    if (this.root.classList.contains("open")) this.#setSliders();
  }
}
