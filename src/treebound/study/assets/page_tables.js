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

// A header may be broken between words, but not at a hyphen.
function wholeWords(name) {
  return name.split(" ").flatMap((word, at) => [at ? " " : "", make("span", { class: "word" }, word || "\u00a0")]);
}

function tableOf(sheet, marks = "bold") {
  const body = make("tbody");
  body.append(...sheet.rows.map((row) => make("tr", {}, ...row.map((cell) => cellOf(cell, marks)))));
  const heads = sheet.header.map((name, column) => {
    const head = make("th", { scope: "col" });
    head.append(make("button", { type: "button", title: "Sort by this column", onclick: () => {
      const down = head.getAttribute("aria-sort") === "descending";
      const direction = column && !down ? -1 : column ? 1 : head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      sortRows(sheet, body, column, direction, marks);
    } }, ...wholeWords(name)));
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

// A box that scrolls sideways; if it does, a shadow and a line of text show it.
function sideways(node, kind = "scroll", attributes = {}) {
  const box = make("div", { class: kind, tabindex: 0, ...attributes }, node);
  const hint = make("p", { class: "hint", hidden: "" }, "scroll sideways for the rest →");
  const look = () => {
    const rest = box.scrollWidth - box.clientWidth - box.scrollLeft, wide = box.scrollWidth > box.clientWidth + 1;
    hint.hidden = !wide;
    box.classList.toggle("more", rest > 1);
    box.tabIndex = wide ? 0 : -1;
  };
  box.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(box);
  new MutationObserver(look).observe(box, { childList: true });
  return make("div", { class: "sideways" }, box, hint);
}

function sheetView(key, { marks = "bold", heading = true } = {}) {
  const sheet = study.sheets.find((one) => one.key === key);
  if (!sheet) return [];
  const save = make("a", { href: "data:text/csv;charset=utf-8," + encodeURIComponent(csvOf(sheet)), download: `${key.replace(":", "-")}.csv` }, "CSV");
  return [
    heading ? make("h2", {}, sheet.title) : null,
    sideways(tableOf(sheet, marks)),
    ...sheet.notes.map((note) => make("p", { class: "note" }, note)),
    make("p", { class: "note" }, save),
  ].filter(Boolean);
}
