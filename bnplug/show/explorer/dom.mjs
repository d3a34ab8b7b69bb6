// Elements made of text: nothing here reads markup, so no name or label can become any.

/**
 * Make an element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number | boolean | null | undefined>} attributes false, null and undefined are left out
 * @param {...(Node | string | null)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : `${value}`);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/**
 * @param {string} tag @param {Record<string, string | number>} attributes @param {...SVGElement} children
 * @returns {SVGElement}
 */
export function makeSvg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, `${value}`);
  element.append(...children);
  return element;
}

/**
 * A button with a text.
 * @param {string} text @param {Record<string, string | boolean>} attributes @param {(event: MouseEvent) => void} onClick
 */
export function makeButton(text, attributes, onClick) {
  const button = make("button", { type: "button", ...attributes }, text);
  button.addEventListener("click", onClick);
  return button;
}

/** A name inside a sentence: its script and direction stay its own. @param {string} text */
export function named(text) {
  return make("bdi", {}, text);
}

/** @param {number} p @returns {string} a probability for readers */
export function percent(p) {
  if (p > 0 && p < 0.0005) return "<0.1%";
  if (p < 1 && p > 0.9995) return ">99.9%";
  return `${(100 * p).toFixed(1)}%`;
}

/** @param {number} x @returns {string} with its sign */
export function signed(x) {
  const text = Math.abs(x) >= 100 ? Math.abs(x).toFixed(0) : Math.abs(x).toFixed(2);
  return Number(text) === 0 ? text : `${x < 0 ? "−" : "+"}${text}`;
}

/** A bar of a probability, with a mark where it was before anything was known. */
export class Bar {
  /** @param {number} prior */
  constructor(prior) {
    this.fill = make("i", { class: "fill" });
    const line = make("i", { class: "prior" });
    line.style.left = `${100 * prior}%`;
    this.ghost = make("i", { class: "ghost", hidden: true });
    this.root = make("span", { class: "bar", "aria-hidden": "true" }, this.fill, line, this.ghost);
    this.number = make("data", { value: "" });
    this.shown = NaN;
  }

  /** @param {number} p */
  set(p) {
    if (p === this.shown) return;
    this.shown = p;
    this.fill.style.width = `${100 * p}%`;
    this.number.value = String(p);
    const text = percent(p);
    if (this.number.textContent !== text) this.number.textContent = text;
  }

  /** Mark where it would go. @param {number | null} p */
  suggest(p) {
    this.ghost.hidden = p === null;
    if (p !== null) this.ghost.style.left = `${100 * p}%`;
  }
}
