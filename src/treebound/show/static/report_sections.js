// The report, last part: the sections about the tree that is shown, rows, and the slider.
const rootNow = () => data.steps[state.step].root;
// Alternatives are trees behind those of the slider.
const onSlider = data.steps.filter((step) => !step.alternative);
const weightWords = data.weighted ? "weight" : "rows";

// -- the head ------------------------------------------------------------------------------------

const testShare = (step) => {
  const total = sum(step.test.map((triple) => triple[2]));
  return { total, wrong: total - sum(step.test.filter(([a, b]) => a === b).map((triple) => triple[2])) };
};
const dataList = (entries) => entries.map(([name, value, remark]) =>
  made("div", {}, made("dt", {}, name), made("dd", {}, value), ...(remark ? [made("dd", { class: "remark" }, remark)] : [])));
const showHead = () => {
  const step = data.steps[state.step], tree = figures(step.root);
  const [, label, counts] = statsOf(step.root), share = (k) => counts[k] / (tree.total || 1);
  const always = tree.leaves === 1 && !data.abstention && !isNumbers() ? `The tree has one leaf and always predicts '${data.classes[label]}' (${percent(share(label))} of the ${weightWords}). ` : "";
  const headline = data.lines[step.headline];
  at("summary").textContent = headline.startsWith("The tree has one leaf") ? headline : `${always}${headline}`;
  at("tiles").replaceChildren(...dataList(step.tiles.map((tile) => tile.map((line) => data.lines[line]))));
  const frequent = counts.indexOf(Math.max(...counts)), used = importances(step.root).filter((part) => part > 0).length;
  const facts = [["Target", data.target ?? "not named"], ["Columns", `${number(data.columns.length)}, ${number(used)} used`]];
  if (isNumbers()) facts.push(["Training RMSE", quantity(Math.sqrt(tree.wrong / (tree.total || 1)))]);
  else facts.push(["Classes", number(data.classes.length)], ["Training errors", `${number(tree.wrong)} (${percent(tree.wrong / (tree.total || 1))})`]);
  if (!data.abstention && !isNumbers()) facts.push(["Baseline", `${percent(1 - share(frequent))} (always '${data.classes[frequent]}')`]);
  if (step.test) { const { total, wrong } = testShare(step); facts.push(["Test errors", `${number(wrong)} of ${number(total)} (${percent(wrong / (total || 1))})`]); }
  facts.push(...data.fit_rows, ...data.facts);
  // these were computed for the fitted tree only
  const fitted = state.step === data.start ? "" : `, the tree of ${many(data.steps[data.start].leaves, "leaf", "leaves")}`;
  facts.push(...data.tree_facts.map(([name, words]) => [name, `${words}${fitted}`]));
  at("facts").replaceChildren(...dataList(facts));
};

// -- what follows from the tree --------------------------------------------------------------------

const MAX_BARS = 20;
const showImportances = () => {
  const shares = importances(rootNow()), order = shares.map((_, k) => k).filter((k) => shares[k] > 0).sort((a, b) => shares[b] - shares[a]);
  if (!order.length) { at("importances").replaceChildren(paragraph("The tree has no splits.", "note")); return; }
  const bars = made("div", { class: "shares" });
  for (const k of order.slice(0, MAX_BARS)) {
    const bar = made("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    bar.append(made("rect", { width: (100 * shares[k]) / shares[order[0]], height: 10 }));
    bars.append(made("span", {}, data.columns[k].name), bar, made("b", {}, percent(shares[k])));
  }
  const rest = order.length - MAX_BARS;
  const remark = rest > 0 ? `${many(rest, "more column")} with less are in the table of columns below` : "columns that are not listed are not used";
  at("importances").replaceChildren(bars, paragraph(`Share of each column in the decrease of ${data.criterion} on the training rows; ${remark}.`, "note"));
};

const confusionTable = (table, caption) => {
  const most = Math.max(1, ...table.flat()), total = sum(table.flat()) || 1;
  const head = made("tr", {}, made("th", { scope: "col" }, "true \\ predicted"), ...data.classes.map((name, k) => made("th", { scope: "col", title: name }, patch(k), " ", name)),
    made("th", { scope: "col", class: "sum" }, "recall"));
  const rows = table.map((row, truth) => made("tr", {}, made("th", { scope: "row" }, data.classes[truth], " ", patch(truth)),
    ...row.map((count, k) => {
      const cell = made("td", { class: k === truth ? "right" : "" }, count ? number(count) : "·");
      const shade = k === truth ? "var(--accent)" : "var(--wrong)";
      if (count) cell.style.background = `color-mix(in srgb, ${shade} ${(6 + (34 * count) / most).toFixed(0)}%, transparent)`;
      return cell;
    }), made("td", { class: "sum" }, sum(row) ? percent(row[truth] / sum(row)) : "")));
  const precision = made("tr", {}, made("th", { scope: "row", class: "sum" }, "precision"),
    ...data.classes.map((_, k) => { const all = sum(table.map((row) => row[k])); return made("td", { class: "sum" }, all ? percent(table[k][k] / all) : ""); }), made("td", { class: "sum" }, ""));
  const right = sum(table.map((row, k) => row[k]));
  return made("figure", {}, made("h3", {}, `${caption}: ${percent(right / total)} right`),
    scrolling(made("table", { class: "confusion" }, made("thead", {}, head), made("tbody", {}, ...rows, precision))));
};
// The share of correct predictions against their probability; on the diagonal both are equal.
const calibrationPlot = ({ words, calibration }) => {
  const plot = made("svg", { class: "calibration", viewBox: "0 0 110 110", role: "img", "aria-label": "Calibration plot" });
  const most = Math.max(...calibration.map((point) => point[2])), x = (share) => 5 + 100 * share, y = (share) => 105 - 100 * share;
  plot.append(made("path", { class: "axis", d: "M5,5V105H105" }), made("path", { class: "axis", d: "M5,105L105,5" }));
  for (const [probability, right, rows] of calibration) {
    const dot = made("circle", { class: "dot", cx: x(probability), cy: y(right), r: 1.5 + 3 * Math.sqrt(rows / most) });
    dot.append(made("title", {}, `${number(rows)} rows: probability ${percent(probability)}, right ${percent(right)}`));
    plot.append(dot);
  }
  return made("figure", {}, made("h3", {}, "Probabilities on the test rows"), paragraph(words, "note"), plot,
    paragraph("Across: the probability of the predicted class; up: the share of correct predictions. Larger dots are more rows.", "note"));
};
const showConfusion = () => {
  const step = data.steps[state.step];
  if (isNumbers()) { showResiduals(step); return; }
  const parts = [];
  // cross-validation describes the fitted tree only
  if (data.estimate?.confusion && state.step === data.start)
    parts.push(confusionTable(testConfusion(data.estimate.confusion), `${data.estimate.method} (${many(data.estimate.rows, "row")})`));
  parts.push(confusionTable(trainingConfusion(step.root), `Training ${weightWords} (${number(sum(statsOf(step.root)[2]))})`));
  if (step.test) parts.push(confusionTable(testConfusion(step.test), `Test rows (${number(testShare(step).total)})`));
  at("confusion").replaceChildren(made("div", { class: parts.length > 1 && data.classes.length < 5 ? "pair" : "" }, ...parts),
    ...(step.quality ? [calibrationPlot(step.quality)] : []));
};

const MAX_RULES = 40;
const showRules = (all = false) => {
  const rules = rulesOf(rootNow(), all ? Infinity : MAX_RULES), leaves = data.steps[state.step].leaves;
  const ends = isNumbers() ? leafEnds(rootNow()) : null;
  const rows = rules.map(({ id, regions }) => {
    const [count, label, counts] = statsOf(id);
    const words = regions.map((region) => regionWords(region, { withMissing: true }));
    const conditions = words.map((one) => (words.length > 1 && one.includes(" or ") ? `(${one})` : one)).join(" and ") || "always";
    if (isNumbers()) return [conditions, predictionOf(id), leafStrip(id, ends), statsOf(id)[10] ?? "", number(count)];
    return [conditions, data.classes[label],
      chancesOf(id)[label].toFixed(3), number(count), percent(counts[label] / (sum(counts) || 1))];
  });
  const table = isNumbers() ? tableOf(["If", "then", `spread, from ${quantity(ends[0])} to ${quantity(ends[1])}`, "about 90 % of new rows within", "rows"], rows, ["words", "label", "strip", "count", "count"])
    : tableOf(["If", "then", "probability", "rows", "right"], rows, ["words", "label", "count", "count", "count"]);
  table.classList.add("rules");
  const parts = [scrolling(table)];
  if (isNumbers()) parts.push(paragraph("Spread of each leaf: the box is one standard deviation of its training rows on both sides of their mean, the mark is the value, the line is where about 90 % of new rows are, if that was estimated.", "note"));
  if (rules.length < leaves) {
    const more = made("button", { type: "button", id: "all-rules" }, `Show all ${number(leaves)} rules`);
    more.addEventListener("click", () => showRules(true));
    parts.push(made("p", {}, `The first ${number(rules.length)} of ${number(leaves)} rules. `, more));
  }
  at("rules").replaceChildren(...parts);
};

const showCertificate = () => {
  const lines = data.steps[state.step].certified.map((line) => data.lines[line]), parts = [];
  if (data.abstention) parts.push(paragraph(data.abstention));
  else if (!lines.length) parts.push(paragraph(data.reason ? `There is no certificate. ${data.reason}` : "There is no certificate for this tree."));
  for (const line of lines) {
    if (!line.startsWith("- ")) { parts.push(paragraph(line)); continue; }
    if (parts.at(-1)?.tagName !== "UL") parts.push(made("ul"));
    parts.at(-1).append(made("li", {}, line.slice(2)));
  }
  at("certificate").replaceChildren(...parts);
};

// The columns that the tree uses, the most important first; the others are only named.
const showColumns = () => {
  const shares = importances(rootNow()), used = [...usedColumns()].sort((a, b) => shares[b] - shares[a]);
  const rows = used.map((k) => {
    const column = data.columns[k], names = column.categories;
    const few = names.length ? `: ${names.slice(0, 12).join(", ")}${names.length > 12 || column.open ? ", …" : ""}` : "";
    const values = column.kind === "real" ? column.range ?? "numbers" : `${number(column.size)}${column.declared ? ", declared" : ""}${few}`;
    const missing = column.missing_share === undefined ? (column.missing ? "some" : "none") : percent(column.missing_share);
    return [column.name, column.kind, values, missing, percent(shares[k])];
  });
  const unused = data.columns.map((_, k) => k).filter((k) => !used.includes(k)), parts = [];
  if (rows.length) parts.push(scrolling(tableOf(["Column", "kind", "values", "missing", "importance"], rows, ["label", "", "words", "count", "count"])));
  else parts.push(paragraph("The tree has no splits.", "note"));
  if (unused.length) {
    const named = unused.map((k) => data.columns[k].name + (data.columns[k].identifier ? " (identifies rows)" : ""));
    parts.push(made("details", { id: "unused" }, made("summary", {}, `Not used: ${many(unused.length, "column")}`), paragraph(named.join(", "))));
  }
  at("columns").replaceChildren(...parts);
};
const usedColumns = () => new Set(nodesBelow(rootNow()).filter(({ id }) => isInner(id)).map(({ id }) => splitOf(id).column));

const showSettings = () => {
  if (isNumbers()) return;
  const note = paragraph("All settings have their default values.", "note");
  at("settings").replaceChildren(...(data.settings.length ? [made("h3", {}, "Settings that differ from the defaults"), scrolling(tableOf(["Setting", "value"], data.settings, ["", "words"]))] : [note]));
};

// -- why this size -----------------------------------------------------------------------------------

const showWhy = () => {
  if (data.frontier) {
    at("h-size").textContent = "Other trees";
    at("why").textContent = "The certified errors of all these trees hold at once: any of them may be chosen, also after looking at them.";
    at("scores").parentElement.hidden = true;
    return;
  }
  const chosen = data.steps[data.chosen], size = many(chosen.leaves, "leaf", "leaves");
  const parts = [`The tree was grown to ${many(data.grown, "leaf", "leaves")}, and ${many(data.last + 1, "size")} were compared.`];
  if (data.limit !== null) parts.push(`At most ${many(data.limit, "leaf", "leaves")} were allowed; of these trees, the one with ${size} was chosen.`);
  else parts.push(`The tree with ${size} was chosen by ${isNumbers() && data.estimate ? "cross-validation" : "weighing errors on the training rows against size"}.`);
  if (data.choice !== null) parts.push(data.choice.words);
  at("why").textContent = parts.join(" ");
};

// What other sizes cost, by the estimated mean cost or error; a click shows the tree.
const showSizes = () => {
  if (!data.estimate?.sizes.length) return;
  const sizes = data.estimate.sizes, chosen = data.steps[data.chosen].leaves;
  const chosenCost = sizes.find(([leaves]) => leaves === chosen)?.[3] ?? null;
  const rows = sizes.map(([leaves, error, errorDifference, cost]) => {
    const difference = chosenCost === null ? errorDifference : cost - chosenCost;
    const step = data.steps.findIndex((one) => one.leaves === leaves), words = many(leaves, "leaf", "leaves");
    const go = step < 0 ? words : made("button", { type: "button", class: "link" }, words);
    if (step >= 0) go.addEventListener("click", () => goTo(step));
    const shown = (value) => quantity(value, 4, error);
    const inCosts = (value) => String(Number(value.toPrecision(4)));
    const points = Math.round(1000 * difference) / 10 || 0;  // no negative zero
    const change = chosenCost !== null ? inCosts(difference) : isNumbers() ? shown(difference) : `${points.toFixed(1)} points`;
    const changed = leaves === chosen ? "chosen" : `${difference < 0 || !points ? "" : "+"}${change}`;
    return [go, ...(chosenCost === null ? [] : [inCosts(cost)]), isNumbers() ? shown(error) : percent(error), changed];
  });
  const costs = chosenCost === null ? [] : ["estimated mean cost"], error = `estimated ${isNumbers() ? "RMSE" : "error"}`;
  const headings = ["Size", ...costs, error, costs.length ? "difference of costs" : "difference"];
  at("other-sizes").replaceChildren(scrolling(tableOf(headings, rows, ["", ...costs.map(() => "count"), "count", "count"])));
};

// Other good trees; a click shows one.
const showAlternatives = () => {
  at("d-alternatives").hidden = !data.alternatives.length;
  const rows = data.alternatives.map((cells, k) => {
    const use = made("button", { type: "button", "data-alternative": k }, "Show this tree");
    use.addEventListener("click", () => { goTo(onSlider.length + k); at("h-tree").scrollIntoView({ block: "start" }); });
    return [...cells, use];
  });
  at("alternatives").replaceChildren(scrolling(tableOf(["Columns", "leaves", "training error", "certified error", "disagrees with the fitted tree", ""], rows, ["words", "count", "count", "count", "count", ""])),
    paragraph("The first tree is the fitted one. “Disagrees”: the share of the training rows for which a tree and the fitted one predict different classes. The certified errors hold for all of these trees at once.", "note"));
};

// A line chart over leaves on a logarithmic axis.
const niceStep = (range) => {
  const rough = (range || 1) / 4, unit = 10 ** Math.floor(Math.log10(rough));
  return unit * [1, 2, 5, 10].find((k) => k * unit >= rough);
};
const lineChart = (svg, series, text, zero) => {
  const box = svg.getBoundingClientRect(), left = 52, right = 12, bottom = 30, top = 8;
  if (!box.width) return;
  const values = series.flatMap((one) => one.points.map((point) => point[1])), parts = [];
  if (!values.length) return;
  const step = niceStep(Math.max(...values) - (zero ? 0 : Math.min(...values)));
  const from = zero ? 0 : step * Math.floor(Math.min(...values) / step), to = Math.max(step * Math.ceil(Math.max(...values) / step), from + step);
  const y = (value) => box.height - bottom - ((box.height - bottom - top) * (value - from)) / (to - from);
  const x = (leaves) => left + (box.width - left - right) * leavesPlace(leaves);
  for (let k = 0; k <= Math.round((to - from) / step); k++) {
    const value = from + k * step;
    parts.push(made("line", { class: "grid", x1: left, x2: box.width - right, y1: y(value), y2: y(value) }),
      made("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, text(value)));
  }
  let last = -Infinity;
  for (const tick of ticks()) {
    if (x(tick) - last < 34) continue;
    last = x(tick);
    parts.push(made("text", { x: last, y: box.height - 14, "text-anchor": "middle" }, number(tick)));
  }
  parts.push(made("text", { x: (left + box.width - right) / 2, y: box.height - 1, "text-anchor": "middle" }, "leaves"));
  const here = x(data.steps[state.step].leaves);
  parts.push(made("line", { class: "mark", x1: here, x2: here, y1: top, y2: box.height - bottom }));
  for (const one of series) {
    const d = one.points.map(([leaves, value], k) => `${k ? "L" : "M"}${x(leaves).toFixed(1)},${y(value).toFixed(1)}`).join("");
    parts.push(made("path", { class: one.kind, d }));
  }
  svg.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`); // on paper it is smaller
  svg.replaceChildren(...parts);
};
const sizesShown = onSlider.map((step) => step.leaves), fewest = Math.min(...sizesShown), mostLeaves = Math.max(...sizesShown);
// The position of a number of leaves on the slider, from 0 to 1, by its logarithm.
const leavesPlace = (leaves) => (mostLeaves > fewest ? Math.log(leaves / fewest) / Math.log(mostLeaves / fewest) : 0);
// The position of a tree; trees of a frontier may have the same number of leaves.
const placeOf = (k) => (data.frontier ? 1 - k / Math.max(1, onSlider.length - 1) : leavesPlace(data.steps[k].leaves));
const ticks = () => {
  const values = [];
  for (let unit = 1; unit <= mostLeaves; unit *= 10) for (const k of [1, 2, 5]) if (k * unit >= fewest && k * unit <= mostLeaves) values.push(k * unit);
  return values;
};
const drawWhy = () => {
  const bySize = [...onSlider].sort((a, b) => a.leaves - b.leaves);
  const points = (get) => bySize.map((step) => [step.leaves, get(step)]).filter((point) => point[1] !== null);
  lineChart(at("scores"), [{ kind: "line", points: points((step) => step.score) }], () => "", false);
  const training = { kind: "l-training", name: "training", points: points((step) => trainingShares.get(step)) };
  const series = [training];
  const estimated = (data.estimate?.sizes ?? []).filter(([leaves]) => leaves >= fewest && leaves <= mostLeaves);
  if (estimated.length) series.unshift({ kind: "l-estimated", name: "estimated", points: estimated.map(([leaves, error]) => [leaves, error]) });
  if (bySize.some((step) => step.certificate !== null)) series.push({ kind: "l-certified", name: "certified", points: points((step) => step.certificate) });
  if (bySize[0].test) series.push({ kind: "l-test", name: "test", points: points((step) => { const { total, wrong } = testShare(step); return total ? wrong / total : null; }) });
  const key = (kind) => { const svg = made("svg", { class: "key", viewBox: "0 0 16 7" }); svg.append(made("path", { class: kind, d: "M0,4H16" })); return svg; };
  at("risks-words").replaceChildren(isNumbers() ? "RMSE:" : "Share of errors:", ...series.flatMap((one) => [key(one.kind), one.name]));
  const axis = (value) => (isNumbers() ? quantity(value, 6) : `${number(Number((100 * value).toPrecision(6)))} %`);
  lineChart(at("risks"), series, axis, true);
};
const trainingShares = new Map(data.steps.map((step) => { const tree = figures(step.root); const share = tree.wrong / (tree.total || 1); return [step, isNumbers() ? Math.sqrt(share) : share]; }));

// -- the slider --------------------------------------------------------------------------------------

const showStep = () => {
  const step = data.steps[state.step], share = trainingShares.get(step);
  const parts = [many(step.leaves, "leaf", "leaves")];
  if (step.cost !== null) parts.push(`mean training cost ${number(step.cost)}`);
  const shown = isNumbers() ? quantity : percent, unit = isNumbers() ? "RMSE" : "error";
  if (step.estimated !== null) parts.push(`estimated ${unit} ${shown(step.estimated)}`);
  parts.push(`training ${unit} ${shown(share)}`);
  const counts = data.stats[data.nodes[step.root][0]][2];
  const useless = !isNumbers() && step.certificate >= 1 - Math.max(...counts) / counts.reduce((sum, each) => sum + each, 0);
  if (step.certificate !== null) parts.push(`certified error at most ${boundPercent(step.certificate)}${useless ? " (no better than the baseline)" : ""}`);
  if (step.alternative) parts.push(`alternative ${number(state.step - onSlider.length + 1)}`);
  if (state.step === data.chosen) parts.push("chosen");
  if (data.choice !== null && state.step === data.choice.small) parts.push("the smallest within one standard error");
  at("status").textContent = parts.join(" · ");
  at("chosen").hidden = state.step === data.chosen;
  at("slider").setAttribute("aria-valuetext", parts.join(", "));
};
const drawChart = () => {
  if (onSlider.length < 2) return;
  const chart = at("chart"), box = chart.getBoundingClientRect(), inset = 8;
  const heights = onSlider.map((step) => (data.frontier ? step.certificate : step.score));
  const worst = Math.max(...heights.map((value) => value ?? -Infinity));
  const scores = heights.map((value) => value ?? worst);
  const low = Math.min(...scores), high = Math.max(...scores);
  const x = (k) => inset + (box.width - 2 * inset) * placeOf(k);
  const y = (k) => 39 - (34 * (scores[k] - low)) / (high - low || 1);
  const line = scores.map((_, k) => `${k ? "L" : "M"}${x(k).toFixed(1)},${y(k).toFixed(1)}`).join("");
  const small = data.choice?.small ?? null;
  chart.replaceChildren(
    made("path", { class: "line", d: line }),
    ...(small === null ? [] : [made("circle", { class: "small", cx: x(small), cy: y(small), r: 4 })]),
    made("circle", { class: "best", cx: x(data.chosen), cy: y(data.chosen), r: 5 }),
    ...(state.step < onSlider.length ? [made("circle", { class: "here", cx: x(state.step), cy: y(state.step), r: 3 })] : []),
  );
};
const drawCharts = () => { drawChart(); if (!at("sizing").hidden && at("sizing").open) drawWhy(); };
at("sizing").addEventListener("toggle", drawCharts);
const goTo = (step) => {
  state.step = step;
  state.lit = null;
  at("slider").value = String(placeOf(step));
  if (data.frontier) showBound(data.steps[step].certificate);
  at("explanation").replaceChildren();
  showStep();
  showHead();
  showImportances();
  showConfusion();
  showRules();
  showCertificate();
  showColumns();
  makeFields();
  restart();
  render();
  drawCharts();
};
const nearestStep = (place) => {
  let best = 0;
  onSlider.forEach((_, k) => { if (Math.abs(placeOf(k) - place) < Math.abs(placeOf(best) - place)) best = k; });
  return best;
};
at("slider").addEventListener("input", (event) => {
  const step = nearestStep(Number(event.target.value));
  if (step !== state.step) goTo(step);
});
at("slider").addEventListener("change", () => { at("slider").value = String(placeOf(state.step)); });
at("slider").addEventListener("keydown", (event) => {
  const last = onSlider.length - 1, far = Math.max(1, Math.round(last / 10));
  const to = { ArrowRight: state.step - 1, ArrowUp: state.step - 1, ArrowLeft: state.step + 1, ArrowDown: state.step + 1,
    PageUp: state.step - far, PageDown: state.step + far, Home: last, End: 0 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  goTo(Math.min(last, Math.max(0, to)));
});
at("chosen").addEventListener("click", () => goTo(data.chosen));

// -- the second slider: the most accurate tree that is certified at a limit or below -------------------

const limits = data.frontier ? data.steps.map((step) => step.certificate) : [];
const certifiedAt = (limit) => {
  let best = limits.indexOf(Math.min(...limits));
  data.steps.forEach((step, k) => { if (limits[k] <= limit * (1 + 1e-9) && trainingShares.get(step) < trainingShares.get(data.steps[best])) best = k; });
  return best;
};
const showBound = (limit) => {
  at("bound").value = String(limit);
  at("bound-words").textContent = `${percent(limit)}: ${many(data.steps[state.step].leaves, "leaf", "leaves")}, ${percent(trainingShares.get(data.steps[state.step]))} training errors`;
};
at("bound").addEventListener("input", (event) => {
  const limit = Number(event.target.value), step = certifiedAt(limit);
  if (step !== state.step) goTo(step);
  showBound(limit);
});

// -- explaining ----------------------------------------------------------------------------------------

const keysTo = (key) => Array.from({ length: key.length + 1 }, (_, k) => key.slice(0, k));
const leafTable = (id) => {
  const [, label, counts] = statsOf(id), chances = chancesOf(id), total = sum(counts);
  const support = (k) => `probability ${chances[k].toFixed(3)}, ${number(counts[k])} of ${number(total)} training examples here`;
  return { label, chances, support };
};
const nextWords = (id) => {
  if (isNumbers()) return [];
  const { label, chances, support } = leafTable(id), next = nextBest(chances, label);
  return next === null ? [] : [paragraph(`Next best: ${data.classes[next]} (${support(next)})`)];
};
const heading = (id) => {
  if (isNumbers()) return made("div", {}, ...resultParts(id));
  const { label, support } = leafTable(id);
  const name = data.target === null ? data.classes[label] : `${data.target} = ${data.classes[label]}`;
  return made("p", {}, patch(label), " ", made("strong", {}, name), ` (${support(label)})`);
};

const explainLeaf = (item) => {
  const way = [];
  for (let here = item; here.parent >= 0; here = shown[here.parent]) way.unshift({ parent: shown[here.parent], left: here.side === "L" });
  const rows = way.map(({ parent, left }) => {
    const split = splitOf(parent.id), child = data.nodes[parent.id][left ? 2 : 3];
    return [`${split.name} ${left ? split.yes : split.no}`, `${number(statsOf(child)[0])} of ${number(statsOf(parent.id)[0])}`];
  });
  at("explanation").replaceChildren(heading(item.id),
    ...(rows.length ? [scrolling(tableOf(["because", "training rows that went this way"], rows, ["words", "count"]))] : []), ...nextWords(item.id));
  light(keysTo(item.key), item.key);
};

const explainRow = (cells) => {
  const root = rootNow(), { way, end } = wayOf(root, cells), label = statsOf(end)[1];
  const rows = way.map(({ id, left }) => {
    const split = splitOf(id), cell = cells[split.column], child = data.nodes[id][left ? 2 : 3];
    return [`${split.name} ${left ? split.yes : split.no}`, cellWords(split.column, cell) + (unmet(split.column, cell) ? " (never in training)" : ""),
      `${number(statsOf(child)[0])} of ${number(statsOf(id)[0])}`];
  });
  const parts = [heading(end)];
  if (rows.length) parts.push(scrolling(tableOf(["because", "this row", "training rows that went this way"], rows, ["words", "", "count"])));
  else if (!isInner(end)) parts.push(paragraph("The tree has no splits: this is the prediction for every row."));
  if (isInner(end)) parts.push(paragraph("It stops there, at a category never seen in training."));
  parts.push(...nextWords(end));
  const change = isNumbers() ? null : smallestChange(root, cells, label);
  if (change) {
    const words = change.changed.map((move) => `${regionWords(move.region)} instead of ${cellWords(move.region.column, cells[move.region.column])}`);
    parts.push(made("p", { id: "counterfactual" }, `It would be ${data.classes[change.prediction]} with ${words.join(" and ")}`));
  } else if (rows.length && !isNumbers()) parts.push(paragraph("No change of known values changes the prediction."));
  at("explanation").replaceChildren(...parts);
  const key = way.map(({ left }) => (left ? "L" : "R")).join("");
  light(keysTo(key), key);
};

// One field for each column that the tree uses.
const makeFields = () => {
  const used = [...new Set(nodesBelow(rootNow()).filter(({ id }) => isInner(id)).map(({ id }) => splitOf(id).column))].sort((a, b) => a - b);
  at("typing").hidden = !used.length;
  at("fields").replaceChildren(...used.map((k) => {
    const { name, kind, categories } = data.columns[k];
    let field;
    if (kind === "real") field = made("input", { inputmode: "decimal", placeholder: "missing" });
    else {
      field = made("select", {}, made("option", { value: MISSING }, "missing"), ...categories.map((category, code) => made("option", { value: code }, category)));
      if (!["error", "missing"].includes(data.handle_unknown)) field.append(made("option", { value: UNKNOWN }, "another category"));
    }
    field.setAttribute("data-column", k);
    return made("label", {}, name, field);
  }));
};
const typedCells = () => {
  const cells = data.columns.map(({ kind }) => (kind === "real" ? NaN : MISSING));
  for (const field of at("fields").querySelectorAll("[data-column]")) {
    const k = Number(field.dataset.column);
    cells[k] = data.columns[k].kind === "real" ? cellFrom(k, field.value) : Number(field.value);
  }
  return cells;
};
at("row").addEventListener("submit", (event) => {
  event.preventDefault();
  try {
    const pasted = at("paste").value.trim() ? pastedRow(at("paste").value) : null;
    if (pasted) {
      for (const field of at("fields").querySelectorAll("[data-column]")) {
        const k = Number(field.dataset.column);
        if (pasted[k] === null) throw new Error(`The row has no value for ${data.columns[k].name}.`);
        const cell = cellFrom(k, pasted[k]);
        field.value = data.columns[k].kind === "real" ? (Number.isNaN(cell) ? "" : String(cell)) : String(cell);
      }
    }
    explainRow(typedCells());
  } catch (error) {
    state.lit = null;
    render();
    at("explanation").replaceChildren(paragraph(error.message, "error"));
  }
});
at("fields").addEventListener("input", () => { at("paste").value = ""; });
at("clear").addEventListener("click", () => {
  at("row").reset();
  at("explanation").replaceChildren();
  state.lit = null;
  render();
});

// An edit: the sentence, then the note and the author, if any.
const editItem = (sentence) => made("li", {}, sentence);

// Hooks of the drawing of the tree: a click on a node, and another width.
const resized = drawCharts;
const choose = (item) => (item.inner ? fold(item) : explainLeaf(item));

// -- begin ---------------------------------------------------------------------------------------------

if (isNumbers()) at("legend").append(made("li", {}, "Blue: small values; orange: large values"));
else data.classes.forEach((name, k) => at("legend").append(made("li", {}, patch(k), name)));
at("growing-rules").hidden = !data.rules.length;
at("rule-list").replaceChildren(...data.rules.map((rule) => made("li", {}, rule)));
at("edits").hidden = !data.edits.length;
at("h-edits").textContent = `Edited by hand: ${many(data.edits.length, "step", "steps")}`;
at("edit-steps").replaceChildren(...data.edits.map(editItem));
at("made").textContent = `Made by ${data.made_by}.`;
at("path").hidden = at("sizing").hidden = onSlider.length < 2;
at("by-bound").hidden = !data.frontier;
if (data.frontier) Object.assign(at("bound"), { min: String(Math.min(...limits)), max: String(limits[certifiedAt(Infinity)]) });
const [few, lots] = at("ends").children;
few.textContent = many(fewest, "leaf", "leaves");
lots.textContent = many(mostLeaves, "leaf", "leaves");
showSettings();
showWhy();
showSizes();
showAlternatives();
// Long sections begin closed.
at("d-rules").open = data.steps[data.start].leaves <= 12;
at("d-confusion").open = data.classes.length <= 6;
showTheme();
goTo(data.start);
// On paper every section is open.
let closed = [];
window.addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details.section:not([open])")];
  for (const section of closed) section.open = true;
});
window.addEventListener("afterprint", () => { for (const section of closed) section.open = false; });
