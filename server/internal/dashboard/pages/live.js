// Keeps a page up to date: puts in place the parts that the stream of server-sent events brings. Without it
// the page shows what was known when it was loaded.
"use strict";
(() => {
  const show = (event) => {
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
  };

  // A browser tries again by itself where a connection broke, but not where the answer is no stream, such as that
  // of a service that starts or of a proxy without one: then the page does, in ever longer intervals.
  const late = document.getElementById("late");
  let source, notice, pause;
  const tell = () => { late.textContent = "No longer up to date. Reload the page."; };
  const listen = () => {
    source = new EventSource(document.body.dataset.live);
    source.addEventListener("parts", show);
    source.addEventListener("open", () => {
      clearTimeout(notice);
      notice = pause = undefined;
      late.textContent = "";
    });
    source.addEventListener("error", () => {
      notice ??= setTimeout(tell, 5000);
      if (source.readyState !== EventSource.CLOSED) return;
      pause = Math.min(2 * (pause ?? 1000), 60000);
      setTimeout(listen, pause);
    });
    source.addEventListener("gone", () => source.close());
  };
  listen();
  // A print has what is folded.
  window.addEventListener("beforeprint", () => {
    for (const d of document.querySelectorAll("details")) d.open = true;
  });
  window.addEventListener("pagehide", () => source.close());
})();
