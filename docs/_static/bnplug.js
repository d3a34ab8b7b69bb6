// A page that was opened from a disk may not fetch others, so the search there shows titles without the text around them.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// The list of versions leads from a page to the same page of another version.
document.addEventListener("DOMContentLoaded", () => {
  for (const select of document.querySelectorAll(".versions select")) {
    const { version, page, root } = select.dataset;
    const others = (window.bnplugVersions || []).filter((own) => own !== version);
    select.append(...others.map((own) => new Option(own)));
    select.disabled = others.length === 0;
    select.addEventListener("change", () => location.assign(`${root}../${select.value}/${page}`));
  }
});
