// Replaces the pictures of an experiment by charts with a cursor and zoom (uPlot), whose values the page
// fetches as JSON, as soon as they are about to be seen or the page is idle. A picture stays where its values
// cannot be fetched, and prints show the pictures.
"use strict";
(() => {
  const charts = new Map(); // by name: {figure, series, plot, ...}
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const height = 260;
  // intervals are the possible distances between ticks of a time axis, in seconds. Those of uPlot go from one minute
  // to five, which leaves a single tick on some axes.
  const intervals = [
    1, 2, 3, 5, 10, 15, 30,
    ...[1, 2, 3, 5, 10, 15, 30].map((n) => 60 * n),
    ...[1, 2, 3, 4, 6, 8, 12].map((n) => 3600 * n),
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 30, 60, 90, 120, 180].map((n) => 86400 * n), // 30 is a month
    ...[1, 2, 5, 10].map((n) => 365 * 86400 * n),
  ];

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // colourOf is the colour of a line, as in style.css: eight, and the same mixed with text or paper.
  const colourOf = (i) => {
    if (i === -1) return style("--ink");
    if (i === -2) return style("--faint");
    const shade = ["", "--ink", "--paper"][Math.floor(i / 8) % 3];
    const hue = style(`--c${(i + 3 * Math.floor(i / 8)) % 8}`);
    return shade === "" ? hue : `color-mix(in srgb, ${hue} 60%, ${style(shade)})`;
  };
  const translucent = (colour) => `color-mix(in srgb, ${colour} 22%, transparent)`;

  const element = (tag, properties, ...children) => {
    const e = Object.assign(document.createElement(tag), properties);
    e.append(...children);
    return e;
  };

  // figure writes a number with four significant digits and the sign of minus, as the tables do.
  const minus = (text) => (text[0] === "-" ? `−${text.slice(1)}` : text);
  const figureOf = (v) => {
    if (v === null || v === undefined) return "unknown";
    if (v === 0) return "0";
    const a = Math.abs(v);
    if (a >= 1e6 || a < 1e-4) return minus(v.toExponential(3));
    return minus(v.toFixed(Math.max(0, 3 - Math.floor(Math.log10(a)))));
  };
  const percent = (v) => (v === null ? "unknown" : `${(100 * v).toFixed(1)} %`);

  const moment = (s) => new Date(1000 * s).toISOString().replace("T", " ").slice(0, 19);

  // columns are the columns of a chart: for each line its values, and its band below and above.
  const columnsOf = (series) => {
    const columns = [];
    let sums = series.x.map(() => 0);
    for (const line of series.lines) {
      if (series.stacked) {
        sums = sums.map((s, i) => s + (line.values[i] ?? 0));
        columns.push({ line, data: sums });
        continue;
      }
      if (line.low) {
        columns.push({ line, data: line.high, edge: true }, { line, data: line.low, edge: true });
      }
      columns.push({ line, data: line.values });
    }
    for (const now of series.now) columns.push({ now, data: series.x.map(() => null) });
    return columns;
  };

  const optionsOf = (chart, width) => {
    const { series } = chart;
    const columns = columnsOf(series);
    const ink = style("--ink");
    const grid = { stroke: style("--faint"), width: 1 };
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const stepped = uPlot.paths.stepped({ align: 1 });
    const bands = [];
    const list = [{
      label: series.axis === "time" ? "Time (UTC)" : "Version",
      value: (u, v, i, k) => (k === null || v === null ? "" : series.axis === "time" ?
        `${moment(v)}, version ${series.versions[k]}` : String(series.versions[k])),
    }];
    columns.forEach(({ line, now, edge }, i) => {
      const k = i + 1;
      const colour = colourOf((line ?? now).colour);
      if (edge) {
        list.push({ class: "edge", stroke: "transparent", width: 0, paths: stepped, points: { show: false } });
        if (columns[i + 1].edge) bands.push({ series: [k, k + 1], fill: translucent(colour) });
        return;
      }
      if (now) {
        list.push({ label: now.name, stroke: colour, width: 4, points: { show: false },
          value: () => `[${figureOf(now.low)}, ${figureOf(now.high)}]` });
        return;
      }
      const one = { label: line.name, stroke: colour, width: 2, paths: stepped, points: { show: false } };
      if (series.stacked) {
        Object.assign(one, { width: 1, stroke: style("--paper"), value: (u, v, s, at) => at === null ? "" :
          percent(line.values[at]) });
        one.mark = colour;
        if (i === 0) one.fill = colour; else bands.push({ series: [k, k - 1], fill: colour });
      } else {
        one.value = (u, v, s, at) => (at === null ? "" : line.low && line.low[at] !== null ?
          `${figureOf(v)} [${figureOf(line.low[at])}, ${figureOf(line.high[at])}]` : figureOf(v));
        if (line.level) Object.assign(one, { dash: [6, 4], width: 1.5 });
      }
      list.push(one);
    });
    return {
      width, height, bands, series: list,
      tzDate: (s) => uPlot.tzDate(new Date(1000 * s), "Etc/UTC"),
      legend: { markers: { fill: (u, i) => list[i].mark ?? list[i].stroke, stroke: () => "transparent" } },
      cursor: { sync: { key: "charts" }, drag: { x: true, y: false }, points: { show: !series.stacked } },
      scales: {
        x: { time: series.axis === "time", range: (u, low, high) => low === null ? [0, 1] :
          low === high ? [low, low + 1] : [low, high] },
        y: { range: (u, low, high) => rangeOf(series, u, low, high) },
      },
      axes: [
        { stroke: ink, grid, ticks: grid, font, space: 80, values: (u, splits) => ticksOf(series, splits),
          ...(series.axis === "time" ? { incrs: intervals } : {}) },
        { stroke: ink, grid, ticks: grid, font, space: 36, size: sizeOf,
          values: (u, splits) => splits.map((v) => series.stacked ? `${Math.round(100 * v)} %` : shortFigure(v, splits)) },
      ],
      hooks: {
        draw: [(u) => drawNow(u, series)],
        setCursor: [(u) => { if (u.cursor.idx === null) rest(u); }],
        setScale: [(u, key) => { if (key === "x") chart.zoomed = zoomedOf(u); }],
        setSeries: [(u, k, options) => {
          if (k === null || options.show === undefined) return;
          for (const edge of [k - 1, k - 2]) { // those of the band stand before the line
            if (edge > 0 && list[edge].class === "edge" && list[k].class !== "edge") u.setSeries(edge, options, false);
          }
          mark(u);
        }],
      },
    };
  };

  // ticksOf writes times as the rest of the page does, with the date where it changes.
  const ticksOf = (series, splits) => {
    if (series.axis !== "time") return splits.map(String);
    const texts = splits.map(moment); // YYYY-MM-DD HH:MM:SS
    const step = splits.length > 1 ? splits[1] - splits[0] : 60;
    return texts.map((text, i) => {
      const date = text.slice(0, 10);
      if (step >= 86400) return date;
      const time = text.slice(11, step < 60 ? 19 : 16);
      return i > 0 && texts[i - 1].startsWith(date) ? time : `${time}\n${date}`;
    });
  };

  // shortFigure writes a tick with the digits of the distance between ticks.
  const shortFigure = (v, splits) => {
    const step = splits.length > 1 ? Math.abs(splits[1] - splits[0]) : Math.abs(v) || 1;
    if (v === 0) return "0";
    if (Math.abs(v) >= 1e6 || step < 1e-5) return minus(v.toExponential(2));
    let digits = 0;
    while (digits < 7 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6 * step * 10 ** digits) digits++;
    return minus(v.toFixed(digits));
  };

  // sizeOf is the width that the ticks of values need.
  const sizeOf = (u, values, axis) => {
    u.ctx.save();
    u.ctx.font = u.axes[axis].font[0] ?? u.axes[axis].font;
    const widest = Math.max(0, ...(values ?? []).map((t) => u.ctx.measureText(t).width));
    u.ctx.restore();
    return Math.ceil(widest / devicePixelRatio) + 20;
  };

  // rangeOf is the range of values: that of the picture, in which the first versions do not flatten the rest, or all
  // values of the part that the chart is zoomed to.
  const rangeOf = (series, u, low, high) => {
    if (series.stacked) return [0, 1];
    const [first, last] = u.series[0].idxs; // of the values that are seen; the scale is set after this
    if (series.range && !(first > 0 || last < u.data[0].length - 1)) [low, high] = series.range;
    for (const now of series.now) {
      low = low === null ? now.low : Math.min(low, now.low);
      high = high === null ? now.high : Math.max(high, now.high);
    }
    if (low === null) return [0, 1];
    const room = high > low ? 0.08 * (high - low) : 0.5;
    return [low - room, high + room];
  };

  const drawNow = (u, series) => {
    const end = series.x.at(-1);
    if (end < u.scales.x.min || end > u.scales.x.max) return;
    for (const now of series.now) {
      const x = u.valToPos(end, "x", true) - 2 * devicePixelRatio;
      u.ctx.save();
      u.ctx.strokeStyle = colourOf(now.colour);
      u.ctx.lineWidth = 4 * devicePixelRatio;
      u.ctx.beginPath();
      u.ctx.moveTo(x, u.valToPos(now.low, "y", true));
      u.ctx.lineTo(x, u.valToPos(now.high, "y", true));
      u.ctx.stroke();
      u.ctx.restore();
    }
  };

  // rest shows the values of now while no cursor is there.
  const rest = (u) => u.setLegend({ idx: u.data[0].length - 1 }, false);

  const zoomedOf = (u) => u.scales.x.min > u.data[0][0] || u.scales.x.max < u.data[0].at(-1);

  // zoom shows a part of all charts: the middle by a factor, moved by a share of the width.
  const zoom = (chart, factor, move) => {
    const { min, max } = chart.plot.scales.x;
    const [first, last] = [chart.plot.data[0][0], chart.plot.data[0].at(-1)];
    const width = Math.min((max - min) * factor, last - first);
    const middle = (min + max) / 2 + move * (max - min);
    const from = Math.max(first, Math.min(middle - width / 2, last - width));
    show(from, from + width);
  };

  const show = (min, max) => {
    for (const { plot } of charts.values()) plot?.setScale("x", { min, max });
  };

  const all = () => {
    for (const { plot } of charts.values()) plot?.setScale("x", { min: plot.data[0][0], max: plot.data[0].at(-1) });
  };

  // say writes the values under the cursor for those who do not see them.
  const say = (chart, k) => {
    const { plot } = chart;
    const words = plot.series.map((s, i) => (i > 0 && s.class !== "edge" && s.show && s.value ?
      `${s.label}: ${s.value(plot, plot.data[i][k], i, k)}` : "")).filter((t) => t !== "");
    chart.status.textContent = `${plot.series[0].value(plot, plot.data[0][k], 0, k)}. ${words.join("; ")}.`;
  };

  const keys = (chart, event) => {
    const { plot } = chart;
    const last = plot.data[0].length - 1;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (step !== undefined && event.shiftKey) zoom(chart, 1, 0.25 * step);
    else if (step !== undefined) {
      const k = Math.max(0, Math.min(last, (chart.at ?? (step > 0 ? -1 : last + 1)) + step));
      const x = plot.data[0][k];
      chart.at = k;
      if (x < plot.scales.x.min || x > plot.scales.x.max) {
        zoom(chart, 1, (x - (plot.scales.x.min + plot.scales.x.max) / 2) / (plot.scales.x.max - plot.scales.x.min));
      }
      requestAnimationFrame(() => {
        plot.setCursor({ left: plot.valToPos(x, "x"), top: plot.bbox.height / devicePixelRatio / 2 });
        say(chart, k);
      });
    } else if (event.key === "+" || event.key === "=") zoom(chart, 0.5, 0);
    else if (event.key === "-") zoom(chart, 2, 0);
    else if (event.key === "0" || event.key === "Escape") all();
    else return;
    event.preventDefault();
  };

  // mark tells which lines are shown.
  const mark = (u) => {
    u.root.querySelectorAll(".u-series").forEach((row, i) => {
      row.querySelector("button")?.setAttribute("aria-pressed", String(u.series[i].show));
    });
  };

  // printOnly keeps a picture for prints, which alone load it: paper is light, and as wide as a page.
  const printOnly = (picture) => {
    picture.hidden = true;
    picture.querySelector("img").loading = "lazy";
    for (const source of picture.querySelectorAll("source")) source.remove();
  };

  // mount makes the chart of a figure, or makes it anew.
  const mount = (chart) => {
    const { figure, series } = chart;
    const kept = chart.zoomed && chart.plot ? { ...chart.plot.scales.x } : null;
    chart.plot?.destroy();
    if (!chart.box) {
      const title = element("p", { className: "title" }, series.title, " ", element("small", {}, series.unit));
      chart.box = element("div", { className: "plot", tabIndex: 0 });
      chart.box.id = `plot-${figure.dataset.name}`;
      chart.box.setAttribute("role", "group");
      chart.box.setAttribute("aria-label", `${figure.querySelector("img").alt} Arrow keys move the cursor, plus and minus zoom, 0 shows all.`);
      chart.box.addEventListener("keydown", (event) => { if (event.target === chart.box) keys(chart, event); });
      chart.status = element("p", { className: "hidden" });
      chart.status.setAttribute("role", "status");
      const button = (text, name, act) => {
        const b = element("button", { type: "button", onclick: act }, text);
        b.setAttribute("aria-label", `${name}: ${series.title}`);
        return b;
      };
      const buttons = element("span", { className: "zoom" }, button("+", "Zoom in", () => zoom(chart, 0.5, 0)),
        button("−", "Zoom out", () => zoom(chart, 2, 0)), button("←", "Earlier", () => zoom(chart, 1, -0.25)),
        button("→", "Later", () => zoom(chart, 1, 0.25)), button("All", "All", all));
      figure.prepend(title, chart.box, chart.status);
      figure.querySelector("figcaption").prepend(buttons);
    }
    printOnly(figure.querySelector("picture"));
    const data = [series.x, ...columnsOf(series).map((c) => c.data)];
    chart.plot = new uPlot(optionsOf(chart, chart.box.clientWidth), data, chart.box);
    chart.plot.root.querySelectorAll(".u-series .u-label").forEach((label, i) => {
      if (i === 0) return;
      label.replaceWith(element("button", { type: "button", className: "u-label" }, label.textContent));
    });
    mark(chart.plot);
    rest(chart.plot);
    const other = [...charts.values()].find((c) => c !== chart && c.plot && c.zoomed)?.plot.scales.x;
    if (kept ?? other) chart.plot.setScale("x", { min: (kept ?? other).min, max: (kept ?? other).max });
    figure.chart = chart;
    figure.dataset.ready = chart.url;
  };

  const load = async (figure) => {
    const name = figure.dataset.name;
    const chart = charts.get(name) ?? {};
    charts.set(name, chart);
    chart.figure = figure;
    chart.url = figure.dataset.series;
    const { url } = chart;
    const response = await fetch(url, { credentials: "same-origin", redirect: "error" });
    if (!response.ok || chart.url !== url) return;
    const series = await response.json();
    if (chart.url !== url || !figure.isConnected) return;
    chart.series = series;
    mount(chart);
  };

  // seen loads the charts that are about to be seen: those far below would only delay the page.
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      load(target).catch(() => {}); // the picture stays
    }
  }, { rootMargin: "200px" });

  const loadAll = () => {
    for (const figure of document.querySelectorAll("figure[data-series]")) {
      if (!charts.has(figure.dataset.name)) seen.observe(figure);
    }
  };

  // loadRest loads the charts that nobody has seen, one after the other, so that a picture of the whole page has
  // them all.
  const loadRest = async () => {
    for (const figure of document.querySelectorAll("figure[data-series]")) {
      if (charts.has(figure.dataset.name)) continue;
      seen.unobserve(figure);
      await load(figure).catch(() => {});
    }
  };
  const idle = () => ("requestIdleCallback" in window ? requestIdleCallback(loadRest) : setTimeout(loadRest, 500));
  if (document.readyState === "complete") idle(); else window.addEventListener("load", idle);

  // Updates of the pictures change the charts that are there.
  document.addEventListener("part", (event) => {
    const { place, html } = event.detail;
    if (place.dataset.part !== "pictures") return;
    const next = element("template", { innerHTML: html }).content; // escaped by the server
    const names = (root) => [...root.querySelectorAll("figure")].map((f) => f.dataset.name).join(" ");
    if (names(next) !== names(place)) {
      charts.clear();
      return;
    }
    event.preventDefault();
    for (const now of next.querySelectorAll("figure")) {
      const figure = place.querySelector(`figure[data-name="${CSS.escape(now.dataset.name)}"]`);
      if (figure.dataset.series === now.dataset.series) continue;
      figure.dataset.series = now.dataset.series;
      const links = now.querySelectorAll("figcaption a");
      figure.querySelectorAll("figcaption a").forEach((a, i) => a.setAttribute("href", links[i].getAttribute("href")));
      const picture = now.querySelector("picture");
      if (charts.get(now.dataset.name)?.plot !== undefined) printOnly(picture);
      figure.querySelector("picture").replaceWith(picture);
      if (charts.has(now.dataset.name)) load(figure).catch(() => {});
    }
  });
  document.addEventListener("replaced", loadAll);

  const again = () => charts.forEach((chart) => { if (chart.plot) mount(chart); });
  dark.addEventListener("change", again);
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return; // a phone hides its bar
    width = window.innerWidth;
    charts.forEach(({ plot, box }) => plot?.setSize({ width: box.clientWidth, height }));
  });
  loadAll();
})();
