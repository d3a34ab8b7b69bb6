"use strict";
// A click, or Enter, on a node of the graph shows its table in the panel beside it; #node=NAME does so from outside.
(() => {
  const panel = document.getElementById("panel");
  const svg = document.querySelector(".graph svg");
  const folds = new Map();
  const boxes = new Map();
  for (const fold of document.querySelectorAll("details[data-name]")) folds.set(fold.dataset.name, fold);
  for (const box of svg.querySelectorAll("[data-node]")) boxes.set(box.dataset.node, box);

  const namesIn = (fold, position) =>
    [...fold.querySelectorAll(`.relations > div:nth-child(${position}) a`)].map((link) => link.textContent);

  function mark(fold, name) {
    const near = new Set([...namesIn(fold, 1), ...namesIn(fold, 2)]);
    for (const [other, box] of boxes) {
      box.classList.toggle("selected", other === name);
      box.classList.toggle("near", near.has(other) && near.size < boxes.size - 1);
      box.setAttribute("aria-pressed", String(other === name));
    }
  }

  function show(name) {
    const fold = folds.get(name);
    if (!fold) return false;
    const title = document.createElement("h3");
    title.className = "title";
    title.append(...fold.querySelector("summary").cloneNode(true).childNodes);
    panel.replaceChildren(title, fold.querySelector(".node").cloneNode(true));
    panel.hidden = false;
    mark(fold, name);
    return true;
  }

  function select(name) {
    if (!show(name)) return;
    try {
      history.replaceState(null, "", "#node=" + encodeURIComponent(name));
    } catch {
      // A page inside another has no address of its own.
    }
    panel.scrollIntoView({ block: "nearest" });
  }

  function fromAddress() {
    const found = /^#node=(.*)$/s.exec(location.hash);
    try {
      return found !== null && show(decodeURIComponent(found[1]));
    } catch {
      return false;
    }
  }

  svg.setAttribute("role", "group");
  // A large graph scrolls rather than shrink until its names cannot be read.
  svg.style.minWidth = `${0.6 * svg.viewBox.baseVal.width}px`;
  for (const [name, box] of boxes) {
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "button");
    box.setAttribute("aria-label", name);
    box.addEventListener("click", () => select(name));
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      select(name);
    });
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#node-"]');
    const fold = link && document.getElementById(link.getAttribute("href").slice(1));
    if (!fold) return;
    event.preventDefault();
    select(fold.dataset.name);
  });
  window.addEventListener("hashchange", fromAddress);
  if (!fromAddress()) show(panel.dataset.first);
  const selected = svg.querySelector(".selected").getBoundingClientRect();
  const frame = svg.parentElement;
  frame.scrollLeft = selected.left - frame.getBoundingClientRect().left - frame.clientWidth / 2;
})();
