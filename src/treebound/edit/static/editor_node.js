// The page of an editor, third part: the node that is chosen, what can be done there, and the best
// split of every column with a threshold to move.
const chosen = { key: "", node: null, open: null, all: false };
const MAX_CANDIDATES = 12;

const leafOrInner = (key) => {
  let id = data.steps[0].root;
  for (const side of key) {
    if (!isInner(id)) return null;
    id = data.nodes[id][side === "L" ? 2 : 3];
  }
  return id;
};
// The chosen node, or the nearest above it that is still there.
const stillThere = (key) => {
  let here = key;
  while (leafOrInner(here) === null) here = here.slice(0, -1);
  return here;
};
const markChosen = () => {
  for (const item of shown) item.element.classList.toggle("chosen", item.key === chosen.key);
};

const button = (words, action, attributes = {}) => {
  const element = made("button", { type: "button", ...attributes }, words);
  element.addEventListener("click", action);
  return element;
};
// A step takes the note and the author along, and with an author the time; a note belongs to one step.
const remark = () => {
  const [note, author] = ["note", "author"].map((name) => at(name).value.trim());
  const signed = author ? { author, time: new Date().toISOString().slice(0, 19) + "Z" } : {};
  return { ...(note ? { note } : {}), ...signed };
};
const stepHere = async (command, values = {}) => {
  if (await act({ do: command, node: chosen.key, ...values, ...remark() })) at("note").value = "";
};

// -- what can be done at a node --------------------------------------------------------------

const growForm = () => {
  const leaves = made("input", { type: "number", id: "grow-leaves", min: 2, max: 1000, value: 3, "aria-label": "Maximum number of leaves" });
  const boxes = data.columns.map((column, k) => {
    const box = made("input", { type: "checkbox", value: k });
    box.checked = true;
    return box;
  });
  const listed = made("div", { class: "columns" }, ...boxes.map((box, k) => made("label", {}, box, ` ${data.columns[k].name}`)));
  const form = made("form", { id: "grow" }, made("button", { type: "submit" }, "Grow"), "to at most", leaves, "leaves",
    made("details", {}, made("summary", {}, "on these columns"), listed));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const columns = boxes.every((box) => box.checked) ? {} : { columns: boxes.filter((box) => box.checked).map((box) => data.columns[Number(box.value)].key) };
    stepHere("grow", { max_leaves: Number(leaves.value), ...columns });
  });
  return form;
};
const labelForm = (id) => {
  const [, label, , , , value] = statsOf(id);
  const field = isNumbers()
    ? made("input", { type: "number", step: "any", required: "", value: Number(value.toPrecision(12)), id: "leaf-value", "aria-label": "Value" })
    : made("select", { id: "leaf-class", "aria-label": "Class" },
      ...data.classes.map((name, k) => made("option", { value: k, ...(k === label ? { selected: "" } : {}) }, name)));
  const form = made("form", { id: "relabel" }, made("button", { type: "submit" }, "Predict"), field);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    stepHere("relabel", { label: Number(field.value) });
  });
  return form;
};
const showActions = (id) => {
  const inner = isInner(id), parts = [];
  if (inner) {
    parts.push(button("Collapse", () => stepHere("collapse"), { id: "collapse", title: "Make this node a leaf" }),
      button("Swap branches", () => stepHere("swap"), { id: "swap", title: "Show the branches in the other order" }),
      button("Fold", () => { const item = shown.find((one) => one.key === chosen.key); if (item) { fold(item); markChosen(); } }, { id: "fold", title: "Hide or show the subtree" }));
  } else parts.push(labelForm(id));
  at("actions").replaceChildren(...parts, growForm());
};

// -- the best split of every column ------------------------------------------------------------

const WIDE = 300, HIGH = 84;
const histogramOf = (candidate) => {
  const svg = made("svg", { class: "histogram", viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const totals = candidate.bars.map(sum), most = Math.max(...totals) || 1, count = totals.length;
  const { edges } = candidate, low = edges[0], span = edges.at(-1) - low;
  const places = edges.length && span > 0 ? edges.map((edge) => (WIDE * (edge - low)) / span) : Array.from({ length: count + 1 }, (_, k) => (WIDE * k) / count);
  candidate.bars.forEach((bar, k) => {
    const gap = edges.length ? 0.6 : 5, x = places[k] + gap / 2, width = Math.max(0.5, places[k + 1] - places[k] - gap);
    let y = HIGH;
    // bars of a real column have different widths: their area is the number of rows
    const dense = edges.length ? totals[k] / (places[k + 1] - places[k] || 1) : totals[k];
    candidate.scale ??= edges.length ? Math.max(...totals.map((total, j) => total / (places[j + 1] - places[j] || 1))) : most;
    bar.forEach((part, label) => {
      const height = totals[k] ? (HIGH * (dense / candidate.scale) * part) / totals[k] : 0;
      y -= height;
      if (part) svg.append(made("rect", { x, y, width, height, fill: (data.band_colours ?? data.colours)[label], "fill-opacity": candidate.left.length && !candidate.left[k] ? 0.45 : 1 }));
    });
  });
  if (edges.length && candidate.threshold !== null && span > 0) {
    candidate.line = made("line", { class: "cut", y1: -3, y2: HIGH });
    moveLine(candidate, candidate.threshold);
    svg.append(candidate.line);
  }
  return svg;
};
const moveLine = (candidate, value) => {
  const { edges, line } = candidate, x = (WIDE * (value - edges[0])) / (edges.at(-1) - edges[0]);
  for (const end of ["x1", "x2"]) line?.setAttribute(end, x);
};

// What is chosen at an open column, as the text of a split.
const realChoice = (candidate, update) => {
  const low = candidate.edges[0], high = candidate.edges.at(-1);
  const step = candidate.whole ? 1 : 10 ** Math.floor(Math.log10((high - low) / 200 || 1));
  const value = candidate.threshold ?? (low + high) / 2;
  const range = made("input", { type: "range", min: low, max: high, step: "any", value, "aria-label": `Threshold of ${candidate.name}` });
  const field = made("input", { type: "number", step: "any", value, "aria-label": `Threshold of ${candidate.name}` });
  const missing = made("input", { type: "checkbox" });
  missing.checked = candidate.missing_left;
  const show = (now) => { moveLine(candidate, now); update(); };
  range.addEventListener("input", () => {
    const rounded = Math.round(Number(range.value) / step) * step;
    field.value = String(Number(rounded.toPrecision(12)));
    show(Number(field.value));
  });
  range.addEventListener("keydown", (event) => {
    const by = { ArrowRight: step, ArrowUp: step, ArrowLeft: -step, ArrowDown: -step, PageUp: 10 * step, PageDown: -10 * step }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    field.value = String(Number(Math.min(high, Math.max(low, Number(field.value) + by)).toPrecision(12)));
    range.value = field.value;
    show(Number(field.value));
  });
  field.addEventListener("input", () => { range.value = field.value; show(Number(field.value)); });
  missing.addEventListener("change", () => update());
  const parts = [range, made("div", { class: "choice" }, made("span", {}, "≤"), field,
    ...(candidate.missing ? [made("label", {}, missing, " or missing")] : []))];
  const text = () => `${candidate.written} <= ${field.value || "nothing"}${candidate.missing && missing.checked ? " or missing" : ""}`;
  return { parts, text };
};
const categoryChoice = (candidate, update) => {
  const sign = candidate.kind === "ordinal" ? "<=" : "=";
  const select = made("select", { "aria-label": `Category of ${candidate.name}` },
    ...candidate.categories.map(([name, value], k) => made("option", { value, ...(k === candidate.code ? { selected: "" } : {}) }, name)));
  if (candidate.missing) select.append(made("option", { value: "missing", ...(candidate.presence ? { selected: "" } : {}) }, "missing"));
  select.addEventListener("change", () => update());
  const parts = [made("div", { class: "choice" }, made("span", {}, sign === "=" ? "=" : "≤"), select)];
  const also = sign === "<=" && candidate.missing && candidate.missing_left ? " or missing" : "";
  const text = () => (candidate.missing && select.selectedIndex === candidate.categories.length
    ? `${candidate.written} is missing` : `${candidate.written} ${sign} ${select.value}${also}`);
  return { parts, text };
};
const presenceChoice = (candidate) => ({ parts: [], text: () => `${candidate.written} is missing` });

const openCandidate = (candidate) => {
  const preview = made("p", { class: "preview", role: "status" });
  let waiting = false, again = false;
  // one preview at a time; the last wish wins
  const update = async () => {
    again = true;
    if (waiting) return;
    waiting = true;
    while (again) {
      again = false;
      const reply = await send({ do: "preview", node: chosen.key, text: choice.text() });
      if (reply.preview) preview.textContent = `${number(reply.preview.rows[0])} and ${number(reply.preview.rows[1])} rows, ${reply.preview.loss} with two leaves here`;
      else if (reply.error) preview.textContent = reply.error;
    }
    waiting = false;
  };
  const make = candidate.kind !== "real" ? categoryChoice : candidate.edges.length > 1 && candidate.edges.at(-1) > candidate.edges[0] ? realChoice : presenceChoice;
  const choice = make(candidate, update);
  const split = button("Split here", () => stepHere("split", { text: choice.text(), keep: at("keep").checked }), { class: "main split" });
  const best = button("Best", () => stepHere("use", { column: data.columns[candidate.column].key, keep: at("keep").checked }), { class: "best", title: "The best threshold or category of this column" });
  return [...choice.parts, preview, made("div", { class: "choice" }, split, best)];
};
const candidateBox = (candidate) => {
  const open = chosen.open === candidate.column;
  const facts = [`gain ${number(Number(candidate.gain.toPrecision(3)))}`, candidate.loss, `rows ${number(candidate.rows[0])} | ${number(candidate.rows[1])}`];
  if (candidate.agreement !== null) facts.push(`same side ${percent(candidate.agreement)}`);
  const head = button("", () => { chosen.open = open ? null : candidate.column; showCandidates(candidate.column); }, { "aria-expanded": String(open), "data-column": candidate.column });
  head.append(made("b", {}, `${candidate.name} ${candidate.words}`), made("div", { class: "facts" }, facts.map((fact) => fact.replaceAll(" ", "\u00a0")).join(" · ")));
  const ends = candidate.edges.length ? candidate.ends : candidate.ends.slice(0, 8);
  return made("div", { class: `candidate${open ? " open" : ""}` }, head, histogramOf(candidate),
    made("p", { class: candidate.edges.length ? "ends" : "ends names" }, ...ends.map((name) => made("span", { title: name }, name))), ...(open ? openCandidate(candidate) : []));
};
const showCandidates = (focus = null) => {
  const listed = chosen.node?.candidates ?? [];
  const few = chosen.all ? listed : listed.slice(0, MAX_CANDIDATES);
  const parts = few.map(candidateBox);
  if (!listed.length) parts.push(paragraph(chosen.node === null ? "…" : "No column has a split here.", "note"));
  if (few.length < listed.length)
    parts.push(button(`Show all ${number(listed.length)}`, () => { chosen.all = true; showCandidates(); }, { id: "all-columns" }));
  at("alternatives").replaceChildren(...parts);
  if (focus !== null) at("alternatives").querySelector(`[data-column="${focus}"]`)?.focus();
};

// The surrogates of an inner node are searched when they are opened.
at("surrogates").addEventListener("toggle", async () => {
  if (!at("surrogates").open) return;
  const key = chosen.key, reply = await send({ do: "surrogates", node: key });
  if (chosen.key !== key || !reply.surrogates) return;
  const lines = reply.surrogates.map(({ words, agreement }) => made("li", {}, `${words}: same side for ${percent(agreement)} of the rows`));
  at("surrogates").querySelector("ol").replaceChildren(...(lines.length ? lines : [made("li", {}, "No column divides them alike.")]));
});

// The conditions of a node, which name it.
const placeOfNode = (key) => {
  const sides = [];
  let id = data.steps[0].root;
  for (const side of key) {
    const split = splitOf(id);
    sides.push(`${split.name} ${side === "L" ? split.yes : split.no}`);
    id = data.nodes[id][side === "L" ? 2 : 3];
  }
  return sides.length ? `If ${sides.join(" and ")}` : "All rows";
};
// Show a node at once, and its alternatives when they come.
const showNode = async (key) => {
  const id = leafOrInner(key), [rows, label, counts] = statsOf(id);
  Object.assign(chosen, { key, node: null, all: false });
  markChosen();
  at("h-node").textContent = placeOfNode(key);
  const total = sum(counts), all = total === rows ? many(rows, "row") : `${number(total)}, ${many(rows, "row")}`;
  const facts = isNumbers() ? `${many(rows, "row")} with standard deviation ${quantity(Math.sqrt(statsOf(id)[6] / (total || 1)))}` : `${number(counts[label])} of ${all}`;
  at("where").textContent = `${isInner(id) ? "Inner node" : "Leaf"}, predicts ${predictionOf(id)} (${facts})`;
  at("counts").replaceChildren(...(isNumbers() ? [] : [classTable(id)]));
  showActions(id);
  at("keeping").hidden = at("surrogates").hidden = at("agreement").hidden = !isInner(id);
  at("surrogates").open = false;
  showCandidates();
  const reply = await send({ do: "node", node: key });
  if (chosen.key !== key) return; // another node was chosen meanwhile
  if (reply.node) {
    chosen.node = reply.node;
    showCandidates();
  }
};
