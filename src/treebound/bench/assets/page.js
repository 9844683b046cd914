"use strict";
const study = JSON.parse(document.getElementById("study").textContent);
const tip = document.getElementById("tip");
const SHAPES = ["circle", "square", "diamond", "triangle", "cross", "down", "ring", "box", "star"];

// -- small helpers ----------------------------------------------------------------------------

function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

function draw(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children.filter((child) => child != null));
  return node;
}

const percent = (value, digits = 2) => (100 * value).toFixed(digits);
const signed = (value) => (value >= 0 ? "+" : "−") + Math.abs(100 * value).toFixed(2);
const colour = (model) => `var(--m${study.models.findIndex((one) => one.name === model) % 9})`;
const known = (value) => value !== null && value !== undefined;

function seconds(value) {
  const [scaled, unit] = value < 1e-3 ? [1e6 * value, "µs"] : value < 1 ? [1e3 * value, "ms"] : [value, "s"];
  return `${+scaled.toPrecision(3)} ${unit}`;
}

function mark(model, x, y, size = 5) {
  const at = study.models.findIndex((one) => one.name === model);
  const s = size, paths = {
    circle: `M${-s},0a${s},${s} 0 1,0 ${2 * s},0a${s},${s} 0 1,0 ${-2 * s},0`,
    ring: `M${-s},0a${s},${s} 0 1,0 ${2 * s},0a${s},${s} 0 1,0 ${-2 * s},0M${-s / 2},0a${s / 2},${s / 2} 0 1,1 ${s},0a${s / 2},${s / 2} 0 1,1 ${-s},0`,
    square: `M${-s},${-s}h${2 * s}v${2 * s}h${-2 * s}z`,
    box: `M${-s},${-s}h${2 * s}v${2 * s}h${-2 * s}zM${-s / 2},${-s / 2}v${s}h${s}v${-s}z`,
    diamond: `M0,${-1.3 * s}L${1.3 * s},0L0,${1.3 * s}L${-1.3 * s},0z`,
    triangle: `M0,${-1.2 * s}L${1.2 * s},${s}L${-1.2 * s},${s}z`,
    down: `M0,${1.2 * s}L${1.2 * s},${-s}L${-1.2 * s},${-s}z`,
    cross: `M${-s},${-s / 2.5}h${s * .6}v${-s * .6}h${s * .8}v${s * .6}h${s * .6}v${s * .8}h${-s * .6}v${s * .6}h${-s * .8}v${-s * .6}h${-s * .6}z`,
    star: `M0,${-1.4 * s}L${.4 * s},${-.4 * s}L${1.4 * s},0L${.4 * s},${.4 * s}L0,${1.4 * s}L${-.4 * s},${.4 * s}L${-1.4 * s},0L${-.4 * s},${-.4 * s}z`,
  };
  return draw("path", { d: paths[SHAPES[at % 9]], transform: `translate(${x},${y})`, fill: colour(model), "fill-rule": "evenodd" });
}

function explain(node, text) {
  const show = (event) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = node.getBoundingClientRect();
    const x = event.clientX ?? box.x, y = event.clientY ?? box.y;
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = (y + 16 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 16) + "px";
  };
  node.addEventListener("pointerenter", show);
  node.addEventListener("pointermove", show);
  node.addEventListener("focus", show);
  for (const end of ["pointerleave", "blur"]) node.addEventListener(end, () => { tip.hidden = true; });
  node.classList.add("mark");
  return node;
}

// -- tables -----------------------------------------------------------------------------------

function cellOf(cell, marks) {
  const node = make("td", { class: cell.b ? marks : null }, cell.t);
  return cell.tip ? explain(node, cell.tip) : node;
}

function sortRows(sheet, body, column, direction, marks) {
  const key = (row) => row[column].v ?? row[column].t;
  const order = [...sheet.rows].sort((one, other) => {
    const a = key(one), b = key(other);
    const numbers = typeof a === "number" && typeof b === "number";
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return direction * (numbers ? a - b : String(a).localeCompare(String(b)));
  });
  body.replaceChildren(...order.map((row) => make("tr", {}, ...row.map((cell) => cellOf(cell, marks)))));
}

function tableOf(sheet, marks = "bold") {
  const body = make("tbody");
  body.append(...sheet.rows.map((row) => make("tr", {}, ...row.map((cell) => cellOf(cell, marks)))));
  const heads = sheet.header.map((name, column) => {
    const head = make("th", { scope: "col" });
    head.append(make("button", { type: "button", onclick: () => {
      const down = head.getAttribute("aria-sort") === "descending";
      const direction = column && !down ? -1 : column ? 1 : head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      sortRows(sheet, body, column, direction, marks);
    } }, name || "\u00a0"));
    return head;
  });
  const table = make("table", { id: `table-${sheet.key}` }, make("thead", {}, make("tr", {}, ...heads)), body);
  if (sheet.footer.length) {
    table.append(make("tfoot", {}, ...sheet.footer.map((row) => make("tr", {}, ...row.map((cell) => cellOf(cell, marks))))));
  }
  return table;
}

function csvOf(sheet) {
  const quote = (value) => /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value;
  const lines = [sheet.header, ...[...sheet.rows, ...sheet.footer].map((row) => row.map((cell) => cell.v ?? cell.t))];
  return lines.map((line) => line.map(quote).join(",")).join("\n") + "\n";
}

function sheetView(key, { marks = "bold", heading = true } = {}) {
  const sheet = study.sheets.find((one) => one.key === key);
  if (!sheet) return [];
  const save = make("a", { href: "data:text/csv;charset=utf-8," + encodeURIComponent(csvOf(sheet)), download: `${key.replace(":", "-")}.csv` }, "CSV");
  return [
    heading ? make("h2", {}, sheet.title) : null,
    make("div", { class: "scroll" }, tableOf(sheet, marks)),
    ...sheet.notes.map((note) => make("p", { class: "note" }, note)),
    make("p", { class: "note" }, save),
  ].filter(Boolean);
}

// -- plots ------------------------------------------------------------------------------------

function scaleOf(values, low, high, { log = false, pad = 0.05 } = {}) {
  const turn = log ? Math.log10 : (x) => x;
  let from = Math.min(...values.map(turn)), to = Math.max(...values.map(turn));
  if (from === to) { from -= 0.5; to += 0.5; }
  const room = pad * (to - from);
  from -= room; to += room;
  const place = (value) => low + (turn(value) - from) / (to - from) * (high - low);
  return Object.assign(place, { ticks: log ? logTicks(from, to) : linearTicks(from, to) });
}

function linearTicks(from, to) {
  const rough = (to - from) / 6, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * unit).find((one) => one >= rough);
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to + 1e-12; at += step) ticks.push(Math.abs(at) < step / 1e6 ? 0 : at);
  return ticks;
}

function logTicks(from, to) {
  const steps = to - from > 3 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(from); power <= Math.ceil(to); power++) {
    for (const step of steps) {
      const at = step * 10 ** power;
      if (Math.log10(at) >= from && Math.log10(at) <= to) ticks.push(at);
    }
  }
  return ticks;
}

function frame({ width, height, x, y, xName, yName, xText = String, yText = String, left = 58 }) {
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${yName} against ${xName}` });
  for (const at of x.ticks) {
    svg.append(draw("line", { class: "grid", x1: x(at), x2: x(at), y1: 12, y2: height - 42 }),
      draw("text", { class: "faint", x: x(at), y: height - 26, "text-anchor": "middle" }, xText(at)));
  }
  for (const at of y.ticks) {
    svg.append(draw("line", { class: "grid", x1: left, x2: width - 12, y1: y(at), y2: y(at) }),
      draw("text", { class: "faint", x: left - 6, y: y(at) + 4, "text-anchor": "end" }, yText(at)));
  }
  svg.append(draw("text", { x: (left + width) / 2, y: height - 7, "text-anchor": "middle" }, xName),
    draw("text", { transform: `translate(13,${(height - 30) / 2}) rotate(-90)`, "text-anchor": "middle" }, yName));
  return svg;
}

function legend(hidden, redraw) {
  return make("div", { class: "legend" }, ...study.models.map(({ name }) => {
    const button = make("button", { type: "button", "aria-pressed": "true", onclick: () => {
      hidden.has(name) ? hidden.delete(name) : hidden.add(name);
      button.setAttribute("aria-pressed", String(!hidden.has(name)));
      redraw();
    } }, draw("svg", { viewBox: "-8 -8 16 16" }, mark(name, 0, 0)), name);
    return button;
  }));
}

// Points of every model and data set, with axes that can be switched.
function scatterView({ id, title, xs, ys, note, all = false }) {
  const hidden = new Set();
  const host = make("div", { class: "plot wide", id });
  const choose = { x: 0, y: 0, means: !all };
  const redraw = () => host.replaceChildren(scatter(xs[choose.x], ys[choose.y], hidden, choose.means));
  const axis = (key, all, name) => all.length < 2 ? null : make("label", {}, `${name} `, make("select", { onchange: (event) => {
    choose[key] = event.target.selectedIndex;
    redraw();
  } }, ...all.map((one) => make("option", {}, one.name))));
  const each = make("input", { type: "checkbox", checked: all ? "" : null, onchange: (event) => { choose.means = !event.target.checked; redraw(); } });
  redraw();
  return [make("h2", {}, title),
    make("div", { class: "bar" }, axis("x", xs, "across"), axis("y", ys, "up"), make("label", {}, each, " a point for every data set")),
    legend(hidden, redraw), host, make("p", { class: "note" }, note)];
}

function scatter(xAxis, yAxis, hidden, meansOnly) {
  const points = [];
  study.models.forEach(({ name }, m) => {
    if (hidden.has(name)) return;
    const pairs = study.datasets.map((dataset, d) => ({ model: name, dataset, x: xAxis.of(d, m), y: yAxis.of(d, m) }))
      .filter((one) => known(one.x) && known(one.y) && (!xAxis.log || one.x > 0) && (!yAxis.log || one.y > 0));
    if (!pairs.length) return;
    const mean = (key, log) => {
      const total = pairs.reduce((sum, one) => sum + (log ? Math.log(one[key]) : one[key]), 0) / pairs.length;
      return log ? Math.exp(total) : total;
    };
    if (!meansOnly) points.push(...pairs);
    points.push({ model: name, x: mean("x", xAxis.geometric), y: mean("y", yAxis.geometric), big: true });
  });
  if (!points.length) return make("p", { class: "note" }, "Nothing to draw.");
  const width = 760, height = 420, left = 74;
  const x = scaleOf(points.map((p) => p.x), left, width - 12, { log: xAxis.log });
  const y = scaleOf(points.map((p) => p.y), height - 42, 12, { log: yAxis.log });
  const svg = frame({ width, height, x, y, left, xName: xAxis.name, yName: yAxis.name, xText: xAxis.text, yText: yAxis.text });
  for (const p of points) {
    const node = mark(p.model, x(p.x), y(p.y), p.big ? 7 : 3.5);
    if (!p.big) node.setAttribute("fill-opacity", ".45");
    const where = p.big ? `mean over ${study.datasets.length} data sets` : p.dataset.title;
    svg.append(explain(node, `${p.model}, ${where}\n${xAxis.name}: ${xAxis.text(p.x)}\n${yAxis.name}: ${yAxis.text(p.y)}`));
  }
  for (const p of meansOnly ? points : []) {
    const end = x(p.x) > width - 130;
    svg.append(draw("text", { class: "name", x: x(p.x) + (end ? -12 : 12), y: y(p.y) + 4, "text-anchor": end ? "end" : "start" }, p.model));
  }
  return svg;
}

function criticalDifference() {
  const { ranks, names, groups, critical_difference: reach } = study.ranking;
  const count = names.length, width = 720, left = 150, right = width - 150;
  const order = ranks.map((_, at) => at).sort((a, b) => ranks[a] - ranks[b]);
  const half = Math.ceil(count / 2);
  const x = (value) => left + (value - 1) / (count - 1) * (right - left);
  const base = 62, bars = base + 14 + 9 * groups.length, height = bars + 24 * half + 10;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Critical-difference diagram of mean ranks" });
  svg.append(draw("line", { class: "axis", x1: left, x2: right, y1: base, y2: base }));
  for (let at = 1; at <= count; at++) {
    svg.append(draw("line", { class: "axis", x1: x(at), x2: x(at), y1: base - 6, y2: base }),
      draw("text", { x: x(at), y: base - 10, "text-anchor": "middle" }, String(at)));
  }
  const end = Math.min(right, left + reach / (count - 1) * (right - left));
  svg.append(draw("line", { class: "axis", x1: left, x2: end, y1: 18, y2: 18 }),
    ...[left, end].map((at) => draw("line", { class: "axis", x1: at, x2: at, y1: 14, y2: 22 })),
    draw("text", { x: end + 8, y: 22, class: "faint" }, `critical difference ${reach.toFixed(2)}`));
  groups.forEach((group, at) => {
    const y = base + 12 + 9 * at;
    svg.append(draw("line", { stroke: "var(--ink)", "stroke-width": 4, "stroke-linecap": "round", x1: x(ranks[group[0]]) - 3, x2: x(ranks[group.at(-1)]) + 3, y1: y, y2: y }));
  });
  order.forEach((model, place) => {
    const onLeft = place < half, row = onLeft ? place : count - 1 - place;
    const y = bars + 24 * row + 8, to = onLeft ? left - 8 : right + 8;
    svg.append(draw("path", { fill: "none", stroke: colour(names[model]), "stroke-width": 1.5, d: `M${x(ranks[model])},${base}V${y}H${to}` }));
    const text = draw("text", { x: onLeft ? to - 5 : to + 5, y: y + 4, "text-anchor": onLeft ? "end" : "start" }, `${names[model]} ${ranks[model].toFixed(2)}`);
    svg.append(explain(text, `${names[model]}: mean rank ${ranks[model].toFixed(3)}`));
  });
  return svg;
}

// Differences of two models on every data set, with intervals, and their mean.
function differencesView() {
  const names = study.competitors;
  if (names.length < 2) return [];
  const choose = { one: study.reference, other: names.find((name) => name !== study.reference) };
  const host = make("div", { class: "plot wide", id: "forest" });
  const redraw = () => host.replaceChildren(forest(choose.one, choose.other));
  const pick = (key) => make("select", { id: `pick-${key}`, "aria-label": key === "one" ? "model" : "compared with", onchange: (event) => {
    choose[key] = event.target.value;
    redraw();
  } }, ...names.map((name) => make("option", name === choose[key] ? { selected: "" } : {}, name)));
  redraw();
  return [make("h2", {}, "Two models, data set by data set"),
    make("div", { class: "bar" }, pick("one"), "minus", pick("other")), host,
    make("p", { class: "note" }, "Difference of mean test accuracy in points, with 95 % intervals; over draws the variance is corrected for overlapping training parts. Filled: the interval leaves out zero.")];
}

function forest(one, other) {
  const pair = study.pairs[`${one}|${other}`];
  if (!pair) return make("p", { class: "note" }, "Choose two different models.");
  const lines = pair.sets.map((found, at) => ({ ...found, name: study.datasets[at].title })).filter((line) => known(line.mean))
    .sort((a, b) => b.mean - a.mean);
  lines.push({ ...pair.all, name: "All data sets", all: true });
  const width = 760, left = 235, step = 21, height = 24 + step * lines.length + 44;
  const reach = lines.flatMap((line) => [line.mean, line.low, line.high]).filter(known).map((value) => 100 * value);
  const x = scaleOf([...reach, 0], left, width - 16);
  const y = Object.assign(() => 0, { ticks: [] });
  const svg = frame({ width, height, x, y, left, xName: `${one} minus ${other}, points of accuracy`, yName: "", xText: (value) => +value.toFixed(6) });
  svg.append(draw("line", { class: "axis", x1: x(0), x2: x(0), y1: 10, y2: height - 42 }));
  lines.forEach((line, at) => {
    const middle = 20 + step * at + (line.all ? 8 : 0);
    const fill = line.mean >= 0 ? colour(one) : colour(other);
    svg.append(draw("text", { x: left - 10, y: middle + 4, "text-anchor": "end", "font-weight": line.all ? 700 : 400 }, line.name));
    if (known(line.low)) svg.append(draw("line", { stroke: fill, "stroke-width": line.all ? 3 : 1.5, x1: x(100 * line.low), x2: x(100 * line.high), y1: middle, y2: middle }));
    const clear = known(line.low) && (line.low > 0 || line.high < 0);
    const dot = draw("circle", { cx: x(100 * line.mean), cy: middle, r: line.all ? 6 : 4.5, stroke: fill, "stroke-width": 1.5, fill: clear ? fill : "var(--paper)" });
    const range = known(line.low) ? `\n95 %: ${signed(line.low)} to ${signed(line.high)}` : "";
    svg.append(explain(dot, `${line.name}\n${signed(line.mean)} points${range}`));
  });
  return svg;
}

// Every draw of one data set, a column a model; the same draw lights up in every column.
function drawsPlot(d) {
  const values = study.draws[d].flat().filter(known);
  if (!values.length) return make("p", { class: "note" }, "No results yet.");
  const width = Math.max(420, 90 * study.models.length + 70), height = 340;
  const y = scaleOf(values.map((value) => 100 * value), height - 42, 14);
  const place = (m) => 58 + (width - 70) * (m + 0.5) / study.models.length;
  const x = Object.assign(place, { ticks: study.models.map((_, m) => m) });
  const short = (name) => name.length > 13 ? name.slice(0, 12) + "…" : name;
  const svg = frame({ width, height, x, y, xName: "", yName: "test accuracy (%)", xText: (m) => short(study.models[m].name), yText: (v) => +v.toFixed(6) });
  svg.style.maxWidth = `${1.2 * width}px`;
  const lit = (draw) => svg.querySelectorAll("[data-draw]").forEach((node) => node.classList.toggle("lit", node.dataset.draw === draw));
  study.draws[d].forEach((line, draw) => line.forEach((value, m) => {
    if (!known(value)) return;
    const spread = ((draw * 37) % 25 - 12) * 1.9;
    const node = mark(study.models[m].name, place(m) + spread, y(100 * value), 3.6);
    node.setAttribute("fill-opacity", ".6");
    node.dataset.draw = String(draw);
    node.addEventListener("pointerenter", () => lit(String(draw)));
    node.addEventListener("pointerleave", () => lit(null));
    svg.append(explain(node, `${study.models[m].name}, draw ${draw}\n${percent(value)} %`));
  }));
  study.models.forEach(({ name }, m) => {
    const mean = study.means.test_accuracy[d][m];
    if (known(mean)) svg.append(draw("line", { stroke: colour(name), "stroke-width": 3, x1: place(m) - 30, x2: place(m) + 30, y1: y(100 * mean), y2: y(100 * mean) }));
  });
  return svg;
}

function publishedPlot() {
  const width = 560, height = 460;
  const all = study.published.flatMap((one) => [100 * one.mean, 100 * one.printed]);
  const x = scaleOf(all, 58, width - 12), y = scaleOf(all, height - 42, 12);
  const svg = frame({ width, height, x, y, xName: "printed in the paper (%)", yName: "here (%)", xText: (v) => +v.toFixed(6), yText: (v) => +v.toFixed(6) });
  const low = Math.min(...all), high = Math.max(...all);
  svg.append(draw("line", { class: "axis", x1: x(low), y1: y(low), x2: x(high), y2: y(high) }));
  for (const one of study.published) {
    const node = mark(one.model, x(100 * one.printed), y(100 * one.mean), one.within ? 3.5 : 6);
    node.setAttribute("fill-opacity", one.within ? ".45" : "1");
    svg.append(explain(node, `${one.model}, ${one.title}\nhere ${percent(one.mean)}, printed ${percent(one.printed)}\n${known(one.errors) ? one.errors.toFixed(1) + " standard errors" : "no spread on either side"}`));
  }
  return svg;
}

// -- views ------------------------------------------------------------------------------------

function overview() {
  const cards = study.cards.map(({ figure, text }) => make("div", { class: "card" }, make("b", {}, figure), make("span", {}, text)));
  return [make("div", { class: "cards" }, ...cards), ...sheetView("accuracy", { heading: false }), ...sheetView("cost")];
}

function compareView() {
  const diagram = study.ranking ? [make("h2", {}, "Mean ranks"), make("div", { class: "plot wide", id: "ranks" }, criticalDifference())] : [];
  return [...diagram, ...sheetView("ranks", { heading: false }), ...sheetView("differences"), ...differencesView(), ...sheetView("wins")];
}

function costsView() {
  const of = (quantity) => (d, m) => study.means[quantity][d][m];
  const accuracy = { name: "test accuracy (%)", of: (d, m) => known(of("test_accuracy")(d, m)) ? 100 * of("test_accuracy")(d, m) : null, text: (v) => +v.toFixed(2) };
  const count = (v) => (v >= 100 ? v.toFixed(0) : +v.toFixed(1));
  const leaves = { name: "leaves", of: of("leaves"), log: true, text: count };
  const total = (d, m) => known(of("grow_seconds")(d, m)) ? of("grow_seconds")(d, m) + (of("prune_seconds")(d, m) ?? 0) : null;
  const time = (name, get) => ({ name, of: get, log: true, geometric: true, text: seconds });
  const size = { name: "rows × columns", of: (d) => study.datasets[d].n_examples * study.datasets[d].n_features, log: true, geometric: true, text: (v) => Math.round(v).toLocaleString("en") };
  const losses = [["log_loss", "log-loss"], ["brier", "Brier score"]].map(([key, name]) => ({ name, of: of(key), text: (v) => +v.toFixed(3) }));
  const examples = { name: "rows", of: (d) => study.datasets[d].n_examples, log: true, geometric: true, text: size.text };
  const sizes = scatterView({ id: "time-plot", all: true, title: "Time against size", xs: [size, examples, leaves], ys: [time("time to grow and prune", total), time("time to prune", of("prune_seconds")), time("time to grow", of("grow_seconds"))], note: "Both axes are logarithmic; the large marks are geometric means over data sets." });
  return [...scatterView({ id: "leaves-plot", title: "Accuracy against leaves", xs: [leaves, { ...leaves, name: "depth", of: of("depth"), log: false }], ys: [accuracy, ...losses], note: "Large marks are means over data sets. Up and to the left is better." }), ...sizes];
}

function datasetsView() {
  const host = make("div");
  const show = (d) => host.replaceChildren(...sheetView(`dataset:${study.datasets[d].name}`), make("h2", {}, "Draw by draw"),
    make("div", { class: "plot wide", id: "draws-plot" }, drawsPlot(d)),
    make("p", { class: "note" }, "A point a draw, a bar at the mean. Point at one to see the same draw under every model."));
  const pick = make("select", { id: "pick-dataset", "aria-label": "data set", onchange: (event) => show(event.target.selectedIndex) },
    ...study.datasets.map((dataset) => make("option", {}, dataset.title)));
  show(0);
  return [make("div", { class: "bar" }, pick), host];
}

function publishedView() {
  const only = make("input", { type: "checkbox", id: "only-off", onchange: (event) => {
    for (const row of document.querySelectorAll("#table-published tbody tr")) {
      row.hidden = event.target.checked && !row.querySelector("td.off");
    }
  } });
  return [make("div", { class: "bar" }, make("label", {}, only, " only data sets that differ by more than noise")),
    ...sheetView("published", { marks: "off", heading: false }), make("h2", {}, "Cell by cell"),
    make("div", { class: "plot", id: "published-plot" }, publishedPlot())];
}

function methodView() {
  const about = make("dl", {}, ...study.about.flatMap(({ name, text }) => [make("dt", {}, name), make("dd", {}, text)]));
  const models = make("dl", {}, ...study.models.flatMap(({ name, settings }) => [make("dt", {}, name), make("dd", {}, make("code", {}, settings))]));
  return [make("h2", {}, "How it was made"), about, make("h2", {}, "Models"), models];
}

// -- the page ---------------------------------------------------------------------------------

const VIEWS = [["overview", "Overview", overview], ["compare", "Comparison", compareView], ["costs", "Size and time", costsView],
  ["datasets", "Data sets", datasetsView], ...(study.published.length ? [["published", "Published", publishedView]] : []), ["method", "Method", methodView]];

function open(key) {
  const [chosen, , view] = VIEWS.find(([one]) => one === key) ?? VIEWS[0];
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const on = tab.dataset.view === chosen;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
  }
  tip.hidden = true;
  document.getElementById("views").replaceChildren(make("section", { role: "tabpanel", id: `view-${chosen}` }, ...view()));
  scrollTo(0, 0);
  if (location.hash.slice(1) !== chosen) history.replaceState(null, "", `#${chosen}`);
}

function start() {
  document.getElementById("lead").textContent = study.lead;
  const tabs = document.getElementById("tabs");
  tabs.append(...VIEWS.map(([key, name]) => make("button", { type: "button", role: "tab", "data-view": key, onclick: () => open(key) }, name)));
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const all = [...tabs.children], at = all.indexOf(document.activeElement);
    const next = all[(at + step + all.length) % all.length];
    next.focus();
    next.click();
  });
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  });
  addEventListener("hashchange", () => open(location.hash.slice(1)));
  open(location.hash.slice(1));
}

start();
