// The report, second part: the tree, drawn, folded, zoomed and walked through.
// All names come as data and are set as text, never as markup.
const at = (id) => document.getElementById(id);
const LINE = 15, PAD = 7, BAR = 7, GAP = 14, LEVEL = 34, WIDEST = 24, MAX_NODES = 160, READABLE = 0.72;

const made = (tag, attributes = {}, ...children) => {
  const svg = ["svg", "g", "path", "rect", "text", "circle", "line", "title"].includes(tag);
  const element = svg
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

const patch = (k) => {
  const svg = made("svg", { class: "patch", viewBox: "0 0 1 1", "aria-hidden": "true" });
  svg.append(made("rect", { width: 1, height: 1, fill: data.colours[k] }));
  return svg;
};
const paragraph = (text, kind = "") => made("p", { class: kind }, text);
const scrolling = (table) => made("div", { class: "scroll" }, table);
const tableOf = (heads, rows, kinds) => {
  const cells = (texts, tag) => texts.map((text, k) => made(tag, { class: kinds[k] ?? "", ...(tag === "th" ? { scope: "col" } : { "data-label": heads[k] }) }, text));
  return made("table", { class: "data" }, made("thead", {}, made("tr", {}, ...cells(heads, "th"))),
    made("tbody", {}, ...rows.map((row) => made("tr", {}, ...cells(row, "td")))));
};

// -- what is shown ---------------------------------------------------------------------------

// lit: the keys of the nodes on the path that is shown, null if there is none.
const state = { step: data.start, depth: "auto", toggled: new Map(), focus: "", moved: false, lit: null };
let shown = [], view = { x: 0, y: 0, scale: 1 }, frame = { width: 1, height: 1 };

// "auto": as deep as a few nodes and a readable size allow.
const depths = (root) => {
  const counts = [];
  for (let level = [root], total = 0; level.length && total < MAX_NODES; ) {
    total += level.length;
    counts.push(total);
    level = level.flatMap((id) => data.nodes[id].slice(2, 4));
  }
  return counts.length;
};
let limit = Infinity;
const onPath = (item) => state.lit?.has(item.key) ?? false;
const isOpen = (item) => (onPath(item) && item.key !== state.end) || (state.toggled.get(item.key) ?? item.depth < limit);

// The nodes that are not folded away, in pre-order; a key names a place: "" the root, then L or R.
const visible = (root) => {
  const list = [], stack = [{ id: root, parent: -1, side: "", depth: 0, key: "" }];
  while (stack.length) {
    const item = stack.pop(), node = data.nodes[item.id], place = list.push(item) - 1;
    Object.assign(item, { place, left: -1, right: -1, inner: node.length > 1 });
    item.open = item.inner && isOpen(item);
    if (item.parent >= 0) list[item.parent][item.first ? "left" : "right"] = place;
    if (!item.open) continue;
    const sides = [["R", node[3]], ["L", node[2]]];
    for (const [side, id] of isSwapped(item.id) ? sides.reverse() : sides)
      stack.push({ id, parent: place, side, first: (side === "L") !== isSwapped(item.id), depth: item.depth + 1, key: item.key + side });
  }
  return list;
};

const pencil = document.createElement("canvas").getContext("2d");
const widthOf = (text, font = "12px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif") => {
  pencil.font = font;
  return pencil.measureText(text).width;
};

const wrapped = (text) => {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1], joined = last ? `${last} ${word}` : word;
    if (joined.length <= WIDEST || !last) lines[lines.length - 1] = joined;
    else lines.push(word);
  }
  const cut = lines.length > 3 ? [...lines.slice(0, 2), `${lines[2]} …`] : lines;
  return cut.map((line) => (line.length > WIDEST + 2 ? `${line.slice(0, WIDEST)}…` : line));
};

const describe = (item) => {
  const [stats, split] = data.nodes[item.id], [rows, label, counts] = data.stats[stats];
  const [name, yes, no] = item.inner ? data.splits[split] : [];
  // a sign and its number stay on one line
  const words = item.open ? `${name} ${(isSwapped(item.id) ? no : yes).replace(" ", "\u00a0")}` : predictionOf(item.id);
  item.name = wrapped(words);
  item.small = [`n = ${number(rows)}`];
  if (item.inner && !item.open) item.small.push(`… ${number(sizes[item.id] - 1)} more`);
  if (!item.inner && counts[label] < Math.max(...counts)) item.small.push("not the majority");
  const lines = [...item.name, ...item.small];
  item.width = Math.max(44, ...lines.map((line) => widthOf(line) * 1.08)) + 2 * PAD;
  item.height = lines.length * LINE + BAR + 2 * PAD;
};

// Reingold and Tilford's tidy layout; contours hold one number for each level, the deepest first.
const tidy = (list) => {
  const outlines = new Array(list.length);
  const over = (one, two) => {
    if (one.edges.length >= two.edges.length) return one;
    const count = one.edges.length, begin = two.edges.length - count;
    for (let i = 0; i < count; i++) two.edges[begin + i] = one.edges[i] + one.shift - two.shift;
    return two;
  };
  for (let place = list.length - 1; place >= 0; place--) {
    const item = list[place];
    let near = { edges: [], shift: 0 }, far = { edges: [], shift: 0 };
    if (item.left >= 0) {
      const [a, b] = outlines[item.left], [c, d] = outlines[item.right];
      let distance = -Infinity;
      for (let k = 1; k <= Math.min(b.edges.length, c.edges.length); k++)
        distance = Math.max(distance, b.edges.at(-k) + b.shift - c.edges.at(-k) - c.shift);
      distance += GAP;
      list[item.left].offset = -distance / 2;
      list[item.right].offset = distance / 2;
      for (const outline of [a, b]) outline.shift -= distance / 2;
      for (const outline of [c, d]) outline.shift += distance / 2;
      near = over(a, c);
      far = over(d, b);
    }
    near.edges.push(-item.width / 2 - near.shift);
    far.edges.push(item.width / 2 - far.shift);
    outlines[place] = [near, far];
  }
  const heights = [];
  for (const item of list) heights[item.depth] = Math.max(heights[item.depth] ?? 0, item.height);
  const tops = [0];
  for (const height of heights) tops.push(tops.at(-1) + height + LEVEL);
  let least = Infinity, most = -Infinity;
  for (const item of list) {
    item.x = item.parent < 0 ? 0 : list[item.parent].x + item.offset;
    item.y = tops[item.depth];
    least = Math.min(least, item.x - item.width / 2);
    most = Math.max(most, item.x + item.width / 2);
  }
  for (const item of list) item.x -= least;
  frame = { width: most - least, height: tops.at(-1) - LEVEL };
};

// -- drawing ---------------------------------------------------------------------------------

const bar = (counts, x, y, width, height) => {
  const total = counts.reduce((sum, count) => sum + count, 0) || 1, parts = [];
  let begin = x;
  counts.forEach((count, k) => {
    const wide = (width * count) / total;
    if (count > 0)
      parts.push(made("rect", { x: begin, y, width: wide, height, fill: data.colours[k] }));
    begin += wide;
  });
  return parts;
};

const draw = (item) => {
  const stats = data.stats[data.nodes[item.id][0]], [rows, label, counts] = stats;
  const kind = item.open ? "inner" : item.inner ? "inner folded leaf" : "leaf";
  const left = -item.width / 2, shape = { x: left, y: 0, width: item.width, height: item.height, rx: 6 };
  const group = made("g", {
    class: `node ${kind}${state.lit ? (onPath(item) ? " lit" : " dim") : ""}`, role: "treeitem", tabindex: item.key === state.focus ? 0 : -1,
    transform: `translate(${item.x},${item.y})`, "data-key": item.key || "root",
    "aria-level": item.depth + 1, "aria-label": `${item.name.join(" ")}, ${many(rows, "row")}`,
  });
  if (item.inner) group.setAttribute("aria-expanded", String(item.open));
  const total = counts.reduce((sum, count) => sum + count, 0) || 1, guess = 1 / Math.max(counts.length, 2);
  const purity = Math.max(0, (counts[label] / total - guess) / (1 - guess));
  const fill = isNumbers() ? { fill: stats[8] } : { fill: data.colours[label] };
  const tint = isNumbers() ? stats[9] : 0.02 + ((item.open ? 0.22 : 0.42) - 0.02) * purity;
  group.append(
    made("rect", { ...shape, class: "paper" }),
    made("rect", { ...shape, class: "box", ...fill, "fill-opacity": tint.toFixed(3) }),
  );
  item.name.concat(item.small).forEach((line, k) => {
    const name = k < item.name.length ? "name" : "rows";
    const text = made("text", { class: name, x: 0, y: PAD + (k + 0.78) * LINE }, line);
    group.append(text);
  });
  if (!isNumbers()) group.append(...bar(counts, left + PAD, item.height - PAD - BAR, item.width - 2 * PAD, BAR));
  item.element = group;
  return group;
};

// Labels of the two edges below the root; other words if a class has the same name.
const sideNames = data.classes.some((name) => /^(yes|no|y|n)$/i.test(name)) ? ["met", "not met"] : ["yes", "no"];
const edges = () => {
  const parts = [];
  for (const item of shown) {
    if (!item.open) continue;
    for (const [side, place] of [[sideNames[0], item.left], [sideNames[1], item.right]]) {
      const child = shown[place], from = item.y + item.height, middle = (from + child.y) / 2;
      const curve = `M${item.x},${from}C${item.x},${middle} ${child.x},${middle} ${child.x},${child.y}`;
      parts.push(made("path", { d: curve, class: onPath(item) && onPath(child) ? "lit" : state.lit ? "dim" : "" }));
      if (item.depth === 0)
        parts.push(made("text", { x: (item.x + child.x) / 2, y: middle + 4 }, side));
    }
  }
  return parts;
};

const render = () => {
  const step = data.steps[state.step];
  const arrange = () => {
    shown = visible(step.root);
    shown.forEach(describe);
    tidy(shown);
  };
  limit = state.depth === "auto" ? depths(step.root) : state.depth;
  arrange();
  const room = canvas.getBoundingClientRect().width / READABLE;
  while (state.depth === "auto" && limit > 2 && frame.width > room) {
    limit -= 1;
    arrange();
  }
  if (!shown.some((item) => item.key === state.focus)) state.focus = "";
  // edges of the path are drawn above the others, and words above both
  const layer = (part) => (part.tagName === "text" ? 2 : part.classList.contains("lit") ? 1 : 0);
  at("edges").replaceChildren(...edges().sort((a, b) => layer(a) - layer(b)));
  at("nodes").replaceChildren(...shown.map(draw));
  hideCard();
  if (!state.moved) fit();
  else place();
};

// -- zoom and move ---------------------------------------------------------------------------

const canvas = at("canvas");
const place = () => {
  at("world").setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.scale})`);
};
const MARGIN = 16;
// The whole tree in view; the canvas is as high as the tree then is, up to most of the window.
const fit = () => {
  const most = Math.max(260, 0.8 * window.innerHeight), box = canvas.getBoundingClientRect();
  const scale = Math.min((box.width - 2 * MARGIN) / frame.width, (most - 2 * MARGIN) / frame.height);
  view.scale = Math.min(1.25, Math.max(0.02, scale));
  canvas.style.height = `${Math.ceil(Math.min(most, Math.max(180, frame.height * view.scale + 2 * MARGIN)))}px`;
  view.x = (box.width - frame.width * view.scale) / 2;
  view.y = MARGIN;
  state.moved = false;
  place();
};
const zoom = (factor, x, y) => {
  const box = canvas.getBoundingClientRect();
  const px = x ?? box.width / 2, py = y ?? box.height / 2;
  const scale = Math.min(4, Math.max(0.02, view.scale * factor)), ratio = scale / view.scale;
  view = { x: px - (px - view.x) * ratio, y: py - (py - view.y) * ratio, scale };
  state.moved = true;
  place();
};
const bringIntoView = (item) => {
  const box = canvas.getBoundingClientRect(), margin = 24;
  const x = view.x + item.x * view.scale, y = view.y + (item.y + item.height / 2) * view.scale;
  const shiftX = Math.max(margin - x, 0) + Math.min(box.width - margin - x, 0);
  const shiftY = Math.max(margin - y, 0) + Math.min(box.height - margin - y, 0);
  if (!shiftX && !shiftY) return;
  view.x += shiftX;
  view.y += shiftY;
  state.moved = true;
  place();
};

// -- the card of a node ----------------------------------------------------------------------

const card = at("card");
const hideCard = () => { card.hidden = true; };
const conditions = (item) => {
  const list = [];
  for (let here = item; here.parent >= 0; here = shown[here.parent]) {
    const [name, yes, no] = data.splits[data.nodes[shown[here.parent].id][1]];
    list.unshift(`${name} ${here.side === "L" ? yes : no}`);
  }
  return list;
};
const showCard = (item) => {
  const [rows, label, counts] = data.stats[data.nodes[item.id][0]];
  const total = sum(counts) || 1;
  const interval = isNumbers() && statsOf(item.id)[10] ? `, about 90 % of new rows within ${statsOf(item.id)[10]}` : "";
  const heading = isNumbers() ? `${predictionOf(item.id)}: ${many(rows, "row")}${interval}` : `${data.classes[label]}: ${number(counts[label])} of ${number(total)} (${many(rows, "row")})`;
  const list = made("ol"), path = conditions(item);
  if (path.length > 10) list.append(made("li", {}, `… ${path.length - 10} before`));
  for (const words of path.slice(-10)) list.append(made("li", {}, words));
  card.replaceChildren(made("h2", {}, heading), ...(isNumbers() ? [] : [classTable(item.id)]), ...(path.length ? [list] : []));
  showAt(item);
};
// The classes of a node, the most frequent first.
const classTable = (id) => {
  const [, label, counts] = statsOf(id), total = sum(counts) || 1;
  const order = counts.map((_, k) => k).sort((a, b) => counts[b] - counts[a]);
  const table = made("table");
  for (const k of order.filter((k) => counts[k] > 0 || k === label).slice(0, 8)) {
    const strip = made("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none" });
    strip.append(made("rect", { width: (100 * counts[k]) / total, height: 10, fill: data.colours[k] }));
    const row = made("tr", {}, made("th", { scope: "row" }, data.classes[k]),
      made("td", { class: "bar" }, strip), made("td", {}, number(counts[k])),
      made("td", {}, `${((100 * counts[k]) / total).toFixed(1)} %`));
    if (k === label) row.className = "predicted";
    table.append(row);
  }
  return table;
};
const showAt = (item) => {
  card.hidden = false;
  const box = canvas.getBoundingClientRect(), size = card.getBoundingClientRect();
  const x = view.x + (item.x + item.width / 2) * view.scale + 10, y = view.y + item.y * view.scale;
  const flip = x + size.width > box.width ? view.x + (item.x - item.width / 2) * view.scale - size.width - 10 : x;
  card.style.left = `${Math.max(4, Math.min(flip, box.width - size.width - 4))}px`;
  card.style.top = `${Math.max(4, Math.min(y, box.height - size.height - 4))}px`;
};

// -- hands on mouse and keys -----------------------------------------------------------------

const itemOf = (event) => {
  const group = event.target.closest?.(".node");
  return group ? shown.find((item) => item.element === group) : null;
};
const focusOn = (item) => {
  for (const other of shown) other.element.setAttribute("tabindex", other === item ? 0 : -1);
  state.focus = item.key;
  bringIntoView(item);
  item.element.focus({ preventScroll: true });
};
const fold = (item) => {
  if (!item.inner) return;
  if (item.open && onPath(item)) state.lit = null; // a path cannot be folded away
  state.toggled.set(item.key, !item.open);
  state.focus = item.key;
  const anchor = { x: view.x + item.x * view.scale, y: view.y + item.y * view.scale };
  const moved = state.moved;
  state.moved = true;
  render();
  const again = shown.find((other) => other.key === item.key);
  view.x = anchor.x - again.x * view.scale;
  view.y = anchor.y - again.y * view.scale;
  state.moved = moved;
  place();
  focusOn(again);
  state.moved = true;
};
const neighbour = (item, key) => {
  if (key === "ArrowUp") return shown[item.parent];
  if (key === "ArrowDown") return shown[item.left];
  const level = shown.filter((other) => other.depth === item.depth);
  return level[level.indexOf(item) + (key === "ArrowLeft" ? -1 : 1)];
};

at("nodes").addEventListener("pointerover", (event) => { const item = itemOf(event); if (item) showCard(item); });
at("nodes").addEventListener("pointerout", hideCard);
at("nodes").addEventListener("focusin", (event) => { const item = itemOf(event); if (item) showCard(item); });
at("nodes").addEventListener("focusout", hideCard);
at("nodes").addEventListener("click", (event) => { const item = itemOf(event); if (item && !drag.far) choose(item); });
at("nodes").addEventListener("keydown", (event) => {
  const item = itemOf(event);
  if (!item) return;
  if (event.key === "Enter" || event.key === " ") choose(item);
  else if (event.key === "Home") focusOn(shown[0]);
  else if (event.key === "Escape") hideCard();
  else if (event.key.startsWith("Arrow")) { const next = neighbour(item, event.key); if (next) focusOn(next); }
  else return;
  event.preventDefault();
});

const drag = { on: false, far: false, x: 0, y: 0 };
canvas.addEventListener("pointerdown", (event) => {
  Object.assign(drag, { on: event.button === 0, far: false, x: event.clientX, y: event.clientY });
});
window.addEventListener("pointermove", (event) => {
  if (!drag.on) return;
  const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
  if (!drag.far && Math.hypot(dx, dy) < 4) return;
  Object.assign(drag, { far: true, x: event.clientX, y: event.clientY });
  canvas.classList.add("moving");
  view.x += dx;
  view.y += dy;
  state.moved = true;
  hideCard();
  place();
});
window.addEventListener("pointerup", () => { drag.on = false; canvas.classList.remove("moving"); });
// The wheel scrolls the document; with Ctrl, or two fingers, it zooms.
canvas.addEventListener("wheel", (event) => {
  if (!event.ctrlKey) return;
  const box = canvas.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
  event.preventDefault();
}, { passive: false });
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  if (event.key === "+" || event.key === "=") zoom(1.25);
  else if (event.key === "-") zoom(0.8);
  else if (event.key === "0") fit();
  else if (event.key === "t") switchTheme();
});
at("larger").addEventListener("click", () => zoom(1.25));
at("smaller").addEventListener("click", () => zoom(0.8));
at("fit").addEventListener("click", fit);
at("depth").addEventListener("change", (event) => {
  const value = event.target.value;
  state.depth = value === "all" ? Infinity : value === "auto" ? value : Number(value);
  state.toggled.clear();
  state.moved = false;
  render();
});
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return; // a phone's address bar comes and goes
  width = window.innerWidth;
  if (!state.moved) render();
  resized();
});
// On paper the tree is as wide as the paper.
window.addEventListener("beforeprint", () => {
  canvas.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${frame.width + 2 * MARGIN} ${frame.height + 2 * MARGIN}`);
  at("world").removeAttribute("transform");
});
window.addEventListener("afterprint", () => { canvas.removeAttribute("viewBox"); place(); });

// -- light and dark --------------------------------------------------------------------------

const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemDark.matches;
};
const showTheme = () => {
  at("theme").textContent = isDark() ? "Light" : "Dark";
  at("theme").setAttribute("aria-pressed", String(isDark()));
};
const switchTheme = () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
};
at("theme").addEventListener("click", switchTheme);
systemDark.addEventListener("change", showTheme);
