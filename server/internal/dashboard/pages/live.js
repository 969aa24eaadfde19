// Keeps a page up to date: puts in place the parts that the stream of server-sent events brings. Without it
// the page shows what was known when it was loaded.
"use strict";
(() => {
  const source = new EventSource(document.body.dataset.live);
  source.addEventListener("parts", (event) => {
    const parts = JSON.parse(event.data);
    for (const name of Object.keys(parts)) {
      const place = document.querySelector(`[data-part="${CSS.escape(name)}"]`);
      if (place === null || place.innerHTML === parts[name]) continue;
      const detail = { place, html: parts[name] };
      if (!document.dispatchEvent(new CustomEvent("part", { detail, cancelable: true }))) continue; // charts.js did it
      const focused = place.contains(document.activeElement) ? document.activeElement.id : "";
      const open = [...place.querySelectorAll("details[open]")].map((d) => d.id);
      place.innerHTML = parts[name]; // escaped by the server
      for (const d of place.querySelectorAll("details")) d.open = open.includes(d.id);
      if (focused !== "") document.getElementById(focused)?.focus();
      document.dispatchEvent(new CustomEvent("replaced", { detail }));
    }
    document.body.dataset.events = String(Number(document.body.dataset.events ?? 0) + 1);
  });
  // A print has what is folded.
  window.addEventListener("beforeprint", () => {
    for (const d of document.querySelectorAll("details")) d.open = true;
  });
  source.addEventListener("gone", () => source.close());
  window.addEventListener("pagehide", () => source.close());
})();
