// Leads from a page to the same page of another version, or to that version's front page where the list has no more.
document.addEventListener("DOMContentLoaded", () => {
  for (const select of document.querySelectorAll(".versions select")) {
    const { version, page, root } = select.dataset;
    const others = (window.bnplugVersions || []).filter((own) => own !== version);
    select.append(...others.map((own) => new Option(own)));
    select.disabled = others.length === 0;
    select.addEventListener("change", () => location.assign(`${root}../${select.value}/${page}`));
  }
});
