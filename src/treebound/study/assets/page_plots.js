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

// Room on the right of a plot, for half of the last figure of its axis.
const RIGHT = 26;
const plotWidth = (most) => Math.min(most, Math.max(340, document.getElementById("views").clientWidth - 12));
const pencil = document.createElement("canvas").getContext("2d");
function widthOf(text, bold = false) {
  pencil.font = `${bold ? 600 : 400} 12px system-ui, sans-serif`;
  return pencil.measureText(text).width;
}
// A name in one or two lines.
function inLines(name) {
  const words = name.split(" ");
  if (name.length <= 12 || words.length < 2) return [name];
  let best = 1;
  for (let at = 1; at < words.length; at++) {
    const longest = (k) => Math.max(words.slice(0, k).join(" ").length, words.slice(k).join(" ").length);
    if (longest(at) < longest(best)) best = at;
  }
  return [words.slice(0, best).join(" "), words.slice(best).join(" ")];
}

function frame({ width, height, x, y, xName, yName, xText = String, yText = String, left = 58 }) {
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${yName} against ${xName}` });
  let end = -Infinity; // where the last figure ends: one that would touch it is not drawn
  for (const at of x.ticks) {
    svg.append(draw("line", { class: "grid", x1: x(at), x2: x(at), y1: 12, y2: height - 42 }));
    const half = Math.max(...[xText(at)].flat().map((text) => widthOf(String(text)))) / 2;
    if (x(at) - half < end + 6) continue;
    end = x(at) + half;
    [xText(at)].flat().forEach((text, line) =>
      svg.append(draw("text", { class: "faint", x: x(at), y: height - 26 + 14 * line, "text-anchor": "middle" }, text)));
  }
  for (const at of y.ticks) {
    svg.append(draw("line", { class: "grid", x1: left, x2: width - RIGHT, y1: y(at), y2: y(at) }),
      draw("text", { class: "faint", x: left - 6, y: y(at) + 4, "text-anchor": "end" }, yText(at)));
  }
  const middle = Math.max(Math.min((left + width) / 2, width - 6 - widthOf(xName) / 2), widthOf(xName) / 2 + 6);
  svg.append(draw("text", { x: middle, y: height - 7, "text-anchor": "middle" }, xName),
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
  const box = sideways(null, "plot", { id }), host = box.firstChild;
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
    legend(hidden, redraw), box, make("p", { class: "note" }, note)];
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
  const width = plotWidth(760), height = 420, left = 74;
  const x = scaleOf(points.map((p) => p.x), left, width - RIGHT, { log: xAxis.log });
  const y = scaleOf(points.map((p) => p.y), height - 42, 12, { log: yAxis.log });
  const svg = frame({ width, height, x, y, left, xName: xAxis.name, yName: yAxis.name, xText: xAxis.text, yText: yAxis.text });
  for (const p of points) {
    const node = mark(p.model, x(p.x), y(p.y), p.big ? 7 : 3.5);
    if (!p.big) node.setAttribute("fill-opacity", ".45");
    const where = p.big ? `mean over ${study.datasets.length} data sets` : p.dataset.title;
    svg.append(explain(node, `${p.model}, ${where}\n${xAxis.name}: ${xAxis.text(p.x)}\n${yAxis.name}: ${yAxis.text(p.y)}`));
  }
  if (meansOnly) svg.append(...namesBeside(points.map((p) => ({ name: p.model, x: x(p.x), y: y(p.y) })), left, width));
  return svg;
}

// The names of points, each where it covers neither a point nor another name.
function namesBeside(points, left, width) {
  const taken = points.map((p) => [p.x - 8, p.y - 8, p.x + 8, p.y + 8]);
  const free = (box) => box[0] >= left && box[2] <= width && taken.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
  const boxOf = (p, wide, [dx, dy, anchor]) => {
    const start = anchor === "start" ? p.x + dx : anchor === "end" ? p.x + dx - wide : p.x - wide / 2;
    return [start, p.y + dy - 11, start + wide, p.y + dy + 3];
  };
  const spots = [[12, 4, "start"], [-12, 4, "end"], [0, -13, "middle"], [0, 22, "middle"], [12, -10, "start"], [12, 18, "start"], [-12, -10, "end"], [-12, 18, "end"], [0, -28, "middle"], [0, 37, "middle"]];
  return points.map((p) => {
    const wide = widthOf(p.name, true), [dx, dy, anchor] = spots.find((spot) => free(boxOf(p, wide, spot))) ?? spots[p.x > width / 2 ? 1 : 0];
    taken.push(boxOf(p, wide, [dx, dy, anchor]));
    return draw("text", { class: "name", x: p.x + dx, y: p.y + dy, "text-anchor": anchor }, p.name);
  });
}

function criticalDifference() {
  const { ranks, names, groups, critical_difference: reach } = study.ranking;
  const count = names.length, order = ranks.map((_, at) => at).sort((a, b) => ranks[a] - ranks[b]);
  const half = Math.ceil(count / 2), label = (model) => `${names[model]} ${ranks[model].toFixed(2)}`;
  const room = (models) => 20 + Math.max(60, ...models.map((model) => widthOf(label(model))));
  const left = room(order.slice(0, half)), after = room(order.slice(half));
  const width = Math.max(plotWidth(720), left + after + 200), right = width - after;
  const x = (value) => left + (value - 1) / (count - 1) * (right - left);
  const base = 62, bars = base + 14 + 9 * groups.length, height = bars + 24 * half + 10;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "Critical-difference diagram of mean ranks" });
  svg.append(draw("line", { class: "axis", x1: left, x2: right, y1: base, y2: base }));
  for (let at = 1; at <= count; at++) {
    svg.append(draw("line", { class: "axis", x1: x(at), x2: x(at), y1: base - 6, y2: base }),
      draw("text", { x: x(at), y: base - 10, "text-anchor": "middle" }, String(at)));
  }
  const end = Math.min(right, left + reach / (count - 1) * (right - left));
  svg.append(draw("line", { class: "axis", x1: left, x2: end, y1: 18, y2: 18 }),
    ...[left, end].map((at) => draw("line", { class: "axis", x1: at, x2: at, y1: 14, y2: 22 })),
    draw("text", { x: Math.min(end + 8, width - 4 - widthOf("critical difference 0.00")), y: end + 8 > width - 140 ? 11 : 22, class: "faint" }, `critical difference ${reach.toFixed(2)}`));
  groups.forEach((group, at) => {
    const y = base + 12 + 9 * at;
    svg.append(draw("line", { stroke: "var(--ink)", "stroke-width": 4, "stroke-linecap": "round", x1: x(ranks[group[0]]) - 3, x2: x(ranks[group.at(-1)]) + 3, y1: y, y2: y }));
  });
  order.forEach((model, place) => {
    const onLeft = place < half, row = onLeft ? place : count - 1 - place;
    const y = bars + 24 * row + 8, to = onLeft ? left - 8 : right + 8;
    svg.append(draw("path", { fill: "none", stroke: colour(names[model]), "stroke-width": 1.5, d: `M${x(ranks[model])},${base}V${y}H${to}` }));
    const text = draw("text", { x: onLeft ? to - 5 : to + 5, y: y + 4, "text-anchor": onLeft ? "end" : "start" }, label(model));
    svg.append(explain(text, `${names[model]}: mean rank ${ranks[model].toFixed(3)}`));
  });
  return svg;
}

// Differences of two models on every data set, with intervals, and their mean.
function differencesView() {
  const names = study.competitors;
  if (names.length < 2) return [];
  const choose = { one: study.reference, other: names.find((name) => name !== study.reference) };
  const box = sideways(null, "plot", { id: "forest" }), host = box.firstChild;
  const redraw = () => host.replaceChildren(forest(choose.one, choose.other));
  const pick = (key) => make("select", { id: `pick-${key}`, "aria-label": key === "one" ? "model" : "compared with", onchange: (event) => {
    choose[key] = event.target.value;
    redraw();
  } }, ...names.map((name) => make("option", name === choose[key] ? { selected: "" } : {}, name)));
  redraw();
  return [make("h2", {}, "Two models, data set by data set"),
    make("div", { class: "bar" }, pick("one"), "minus", pick("other")), box,
    make("p", { class: "note" }, "Difference of mean test accuracy in points, with 95 % intervals; over draws the variance is corrected for overlapping training parts. Filled: the interval excludes zero.")];
}

function forest(one, other) {
  const pair = study.pairs[`${one}|${other}`];
  if (!pair) return make("p", { class: "note" }, "Choose two different models.");
  const lines = pair.sets.map((entry, at) => ({ ...entry, name: study.datasets[at].title })).filter((line) => known(line.mean))
    .sort((a, b) => b.mean - a.mean);
  lines.push({ ...pair.all, name: "All data sets", all: true });
  const left = 20 + Math.max(...lines.map((line) => widthOf(line.name, line.all)));
  const width = Math.max(plotWidth(760), left + 240), step = 21, height = 24 + step * lines.length + 44;
  const reach = lines.flatMap((line) => [line.mean, line.low, line.high]).filter(known).map((value) => 100 * value);
  const x = scaleOf([...reach, 0], left, width - RIGHT);
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
  const svg = frame({ width, height, x, y, xName: "", yName: "test accuracy (%)", xText: (m) => inLines(study.models[m].name), yText: (v) => +v.toFixed(6) });
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
