// The stage: cards where the layout put them, lines between them, a lens to zoom, a search by name.
import { make, makeButton, makeSvg } from "./dom.mjs";

/**
 * @typedef {object} PictureData
 * @property {number} width
 * @property {number} height
 * @property {number} cardWidth
 * @property {number[][]} cards left, top and height of each
 * @property {string[]} rails lines that edges of the class share
 * @property {{parent: number, child: number, path: string, head: string}[]} edges
 */

const CLOSEST = 1.6;
const FURTHEST = 0.25;
// Letters are read with ease, and in a large picture with an effort, at these zooms.
const READABLE = 0.85;
const LEGIBLE = 0.65;
// A class with more children than this starts with its edges folded away.
const MANY_CHILDREN = 16;

/** The picture of the network; on a narrow page, and as a list, the same cards stand one after the other. */
export class Picture {
  /** @param {PictureData} data @param {import("./card.mjs").Card[]} cards @param {number} target */
  constructor(data, cards, target) {
    this.data = data;
    this.cards = cards;
    this.target = target;
    this.zoom = 1;
    this.lines = new Map();
    const ofClass = makeSvg("g", { class: "class-edges" }, ...data.rails.map((path) => makeSvg("path", { d: path, class: "line" })));
    const others = makeSvg("g", {});
    for (const edge of data.edges) {
      const line = makeSvg("g", { class: "edge" }, makeSvg("path", { d: edge.path, class: "line" }), makeSvg("path", { d: edge.head, class: "head" }));
      (edge.parent === target ? ofClass : others).append(line);
      for (const end of [edge.parent, edge.child]) this.lines.set(end, [...(this.lines.get(end) ?? []), line]);
    }
    const svg = makeSvg("svg", { width: data.width, height: data.height, "aria-hidden": "true" }, ofClass, others);
    this.sheet = make("div", { class: "sheet" }, svg, ...cards.map((card) => this.#placed(card)));
    this.extent = make("div", { class: "extent" }, this.sheet);
    this.view = make("div", { class: "view", role: "region", "aria-label": "Network", tabindex: 0 }, this.extent);
    this.ofClass = ofClass;
    this.nClassEdges = data.edges.filter(({ parent }) => parent === target).length;
    this.#listen();
    /** The cards that are in sight; until that is known, all. */
    this.inSight = new Set(cards);
    this.#watch();
  }

  #watch() {
    const byRoot = new Map(this.cards.map((card) => [/** @type {Element} */ (card.root), card]));
    const observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const card = /** @type {import("./card.mjs").Card} */ (byRoot.get(target));
        if (isIntersecting) this.inSight.add(card);
        else this.inSight.delete(card);
      }
    });
    for (const { root } of this.cards) observer.observe(root);
  }

  /** @param {import("./card.mjs").Card} card */
  #placed(card) {
    const [left, top, height] = this.data.cards[card.v];
    card.root.style.setProperty("--x", `${left}px`);
    card.root.style.setProperty("--y", `${top}px`);
    card.root.style.setProperty("--h", `${height}px`);
    const mark = (/** @type {boolean} */ on) => {
      for (const line of this.lines.get(card.v) ?? []) line.classList.toggle("near", on);
    };
    card.root.addEventListener("pointerenter", () => mark(true));
    card.root.addEventListener("pointerleave", () => mark(false));
    card.root.addEventListener("focusin", () => mark(true));
    card.root.addEventListener("focusout", () => mark(false));
    return card.root;
  }

  #listen() {
    this.view.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.setZoom(this.zoom * Math.exp(-event.deltaY / 300), event.clientX, event.clientY);
    }, { passive: false });
    /** @type {{x: number, y: number} | null} */
    let held = null;
    this.view.addEventListener("pointerdown", (event) => {
      const onCard = event.target instanceof Element && event.target.closest(".card");
      if (event.pointerType === "mouse" && event.button === 0 && !onCard && !this.view.classList.contains("as-list")) {
        held = { x: event.clientX + this.view.scrollLeft, y: event.clientY + this.view.scrollTop };
        this.view.setPointerCapture(event.pointerId);
      }
    });
    this.view.addEventListener("pointermove", (event) => {
      if (held) this.view.scrollTo(held.x - event.clientX, held.y - event.clientY);
    });
    for (const end of ["pointerup", "pointercancel"]) this.view.addEventListener(end, () => (held = null));
  }

  /**
   * Zoom, so that what is at a place of the window stays there.
   * @param {number} zoom @param {number} [x] @param {number} [y]
   */
  setZoom(zoom, x, y) {
    const { left, top, width, height } = this.view.getBoundingClientRect();
    const [dx, dy] = [(x ?? left + width / 2) - left, (y ?? top + height / 2) - top];
    const before = this.zoom;
    this.zoom = Math.max(FURTHEST, Math.min(CLOSEST, zoom));
    const ratio = this.zoom / before;
    const [scrollX, scrollY] = [this.view.scrollLeft, this.view.scrollTop];
    this.sheet.style.transform = `scale(${this.zoom})`;
    this.extent.style.width = `${this.data.width * this.zoom}px`;
    this.extent.style.height = `${this.data.height * this.zoom}px`;
    this.view.scrollTo((scrollX + dx) * ratio - dx, (scrollY + dy) * ratio - dy);
  }

  /** Show all of it; or, to start with, as much as stays readable around the class. @param {boolean} readable */
  fit(readable) {
    const { clientWidth, clientHeight } = this.view;
    const wide = clientWidth / this.data.width;
    const whole = Math.min(wide, clientHeight / this.data.height);
    this.setZoom(Math.min(1, readable ? Math.max(whole, Math.min(READABLE, Math.max(wide, LEGIBLE))) : whole));
    const [left, top] = this.data.cards[this.target];
    const middle = (left + this.data.cardWidth / 2) * this.zoom;
    this.view.scrollTo(middle - clientWidth / 2, Math.max(0, top * this.zoom - clientHeight / 3));
  }

  /** @param {boolean} asList */
  asList(asList) {
    this.view.classList.toggle("as-list", asList);
    this.view.setAttribute("aria-label", asList ? "Features" : "Network");
  }

  /** Bring a card into view, and put the focus on it. @param {number} v */
  goTo(v) {
    const { root, states } = this.cards[v];
    const button = states.buttons.find((state) => state.tabIndex === 0) ?? states.buttons[0];
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    root.scrollIntoView({ block: "center", inline: "center", behavior: calm ? "auto" : "smooth" });
    button.focus({ preventScroll: true });
    root.classList.add("found");
    setTimeout(() => root.classList.remove("found"), 1600);
  }

  /** Dim the cards whose names do not hold a text. @param {string} text @returns {number[]} those that do */
  search(text) {
    const wanted = text.trim().toLowerCase();
    const found = [];
    for (const card of this.cards) {
      const hit = card.variable.name.toLowerCase().includes(wanted);
      card.root.classList.toggle("dim", !hit);
      if (hit) found.push(card.v);
    }
    return found;
  }

  /** The buttons and fields above the picture. @returns {HTMLElement[]} */
  tools() {
    const count = make("output", { class: "count" });
    const field = make("input", { type: "search", placeholder: "Find a feature", "aria-label": "Find a feature by name" });
    field.addEventListener("input", () => {
      const found = this.search(field.value);
      count.textContent = field.value.trim() ? `${found.length} found` : "";
    });
    field.addEventListener("keydown", (event) => {
      const [first] = this.search(field.value);
      if (event.key === "Enter" && first !== undefined) this.goTo(first);
    });
    return [make("span", { class: "search" }, field, count), this.#fold(), this.#lens()];
  }

  #fold() {
    const box = make("input", { type: "checkbox" });
    box.checked = this.nClassEdges <= MANY_CHILDREN;
    const fold = () => this.ofClass.classList.toggle("folded", !box.checked);
    box.addEventListener("change", fold);
    fold();
    return make("label", { class: "fold only-picture" }, box, "edges of the class");
  }

  #lens() {
    return make("span", { class: "lens only-picture", role: "group", "aria-label": "Zoom" },
      makeButton("−", { "aria-label": "Zoom out" }, () => this.setZoom(this.zoom / 1.25)),
      makeButton("+", { "aria-label": "Zoom in" }, () => this.setZoom(this.zoom * 1.25)),
      makeButton("fit", { title: "Show all" }, () => this.fit(false)));
  }
}
