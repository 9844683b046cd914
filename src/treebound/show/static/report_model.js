"use strict";
// The report, first part: the data and figures computed from them; nothing here touches the document.
// A tree is data.nodes[root]: [stats] for a leaf, [stats, split, left, right] for an inner node, with
// a 1 behind it if the right branch is drawn on the left;
// children have smaller numbers than their parents, and the steps of the path share nodes.
// stats: [rows, label, counts, probabilities]. split: [name, yes, no, column, threshold, its text, codes,
// missing goes left, unknown goes left (null: it stays)].
let data, splits, sizes;
const MISSING = -1, UNKNOWN = -2;

const sum = (values) => values.reduce((total, value) => total + value, 0);
const statsOf = (id) => data.stats[data.nodes[id][0]];
const isInner = (id) => data.nodes[id].length > 1;
const take = (value) => {
  data = value;
  splits = data.splits.map(([name, yes, no, column, threshold, text, codes, missingLeft, unknownLeft]) =>
    ({ name, yes, no, column, threshold: Number(threshold), text, codes: new Set(codes), missingLeft, unknownLeft }));
  sizes = [];
  for (const node of data.nodes) sizes.push(node.length === 1 ? 1 : 1 + sizes[node[2]] + sizes[node[3]]);
};
take(JSON.parse(document.getElementById("data").textContent));
const isSwapped = (id) => data.nodes[id].length > 4;
const splitOf = (id) => splits[data.nodes[id][1]];

// A regression tree has stats of one class, followed by: value as text, value, squares about the
// mean, squared error, colour, its opacity, interval as text, mean, the ends of the interval.
const isNumbers = () => data.kind === "numbers";
const predictionOf = (id) => (isNumbers() ? statsOf(id)[4] : data.classes[statsOf(id)[1]]);
// One number format: whole numbers in full, with commas; unlisted to four digits or one decimal.
const number = (value, digits = 4) =>
  Number.isInteger(value) ? value.toLocaleString("en-US")
    : Math.abs(value) >= 1000 ? value.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 })
      : String(Number(value.toPrecision(digits)));
// A number of the target, as in Python (_utils/quantities.py): commas, four digits and all digits
// before the point; the digits are counted for the scale if there is one.
const quantity = (value, digits = 4, scale = null) => {
  const size = Math.abs(value), place = Math.floor(Math.log10(size || 1));
  const decimals = Math.min(digits - 1 - (scale > 0 ? Math.floor(Math.log10(scale)) : place), 14 - place);
  if (size && (size < 1e-4 || size >= 1e15)) {
    const exponential = () => Number(value.toPrecision(decimals + place + 1)).toExponential();
    return decimals + place < 0 ? "0" : exponential().replace(/e([+-])(\d)$/, (_, sign, digit) => `e${sign}0${digit}`);
  }
  const text = value.toLocaleString("en-US", { maximumFractionDigits: Math.max(0, decimals), roundingMode: "halfEven" });
  return text === "-0" ? "0" : text;
};
// Ties are rounded to even, as in Python.
const percent = (share) => `${(100 * share - (((100 * share) % 1) === 0.25 ? 0.05 : 0)).toFixed(1)} %`;
// An upper bound is rounded up, so that what is shown holds too.
const boundPercent = (bound) => `${(Math.ceil(1000 * bound - 1e-6) / 10).toFixed(1)} %`;
const many = (value, one, more = `${one}s`) => `${number(value)} ${value === 1 ? one : more}`;

// Every node below a root, itself included: its number, its parent's place, its side and its depth.
const nodesBelow = (root) => {
  const list = [], stack = [{ id: root, parent: -1, left: false, depth: 0 }];
  while (stack.length) {
    const item = stack.pop(), place = list.push(item) - 1, node = data.nodes[item.id];
    if (node.length === 1) continue;
    stack.push({ id: node[3], parent: place, left: false, depth: item.depth + 1 });
    stack.push({ id: node[2], parent: place, left: true, depth: item.depth + 1 });
  }
  return list;
};

// -- figures of a tree -------------------------------------------------------------------------

const figures = (root) => {
  const list = nodesBelow(root), leaves = list.filter((item) => !isInner(item.id));
  const wrong = sum(leaves.map(({ id }) => { const [, label, counts] = statsOf(id); return isNumbers() ? statsOf(id)[7] : sum(counts) - counts[label]; }));
  const total = sum(statsOf(root)[2]);
  return { leaves: leaves.length, depth: Math.max(...list.map((item) => item.depth)), rows: statsOf(root)[0], wrong: Math.abs(wrong) < 1e-9 * total ? 0 : wrong, total };
};

// Weight of the training examples by class (row) and prediction (column).
const trainingConfusion = (root) => {
  const table = data.classes.map(() => data.classes.map(() => 0));
  for (const { id } of nodesBelow(root)) {
    if (isInner(id)) continue;
    const [, label, counts] = statsOf(id);
    counts.forEach((count, k) => { table[k][label] += count; });
  }
  return table;
};
const testConfusion = (triples) => {
  const table = data.classes.map(() => data.classes.map(() => 0));
  for (const [truth, predicted, count] of triples) table[truth][predicted] = count;
  return table;
};

const impurity = (counts) => {
  const total = sum(counts) || 1, shares = counts.map((count) => count / total);
  if (data.criterion === "gini") return 1 - sum(shares.map((share) => share * share));
  if (data.criterion === "entropy") return -sum(shares.map((share) => (share > 0 ? share * Math.log2(share) : 0)));
  return 1 - Math.max(...shares);
};
// The share of each column in the decrease of impurity.
const importances = (root) => {
  const mass = (id) => {
    if (isNumbers()) return statsOf(id)[6];
    const masses = statsOf(id)[2].map((count, k) => count * (data.factors?.[k] ?? 1));
    return sum(masses) * impurity(masses);
  };
  const decrease = data.columns.map(() => 0);
  for (const { id } of nodesBelow(root)) {
    if (!isInner(id)) continue;
    const [, , left, right] = data.nodes[id];
    decrease[splitOf(id).column] += mass(id) - mass(left) - mass(right);
  }
  const shares = decrease.map((share) => Math.max(share, 0)), total = sum(shares);
  return shares.map((share) => (total > 0 ? share / total : 0));
};

// As predict_proba gives them.
const chancesOf = (id) => statsOf(id)[3];
const nextBest = (chances, label) => {
  let best = null;
  chances.forEach((chance, k) => { if (k !== label && (best === null || chance > chances[best])) best = k; });
  return best;
};

// -- one row -------------------------------------------------------------------------------------

// True if a cell, a number (NaN missing) or a code, goes left; null if the row stops here.
const goesLeft = (split, cell) => {
  if (data.columns[split.column].kind === "real")
    return Number.isNaN(cell) ? split.missingLeft : cell <= split.threshold;
  if (cell === UNKNOWN) return split.unknownLeft;
  return cell === MISSING ? split.missingLeft : split.codes.has(cell);
};

// The way of a row: the nodes it passes, each with the side it took.
const wayOf = (root, cells) => {
  const way = [];
  let id = root;
  while (isInner(id)) {
    const left = goesLeft(splitOf(id), cells[splitOf(id).column]);
    if (left === null) break;
    way.push({ id, left });
    id = data.nodes[id][left ? 2 : 3];
  }
  return { way, end: id };
};

// -- regions and the least change ------------------------------------------------------------------

const wholeRegion = (column) => ({
  column, low: -Infinity, high: Infinity, lowText: "", highText: "", missing: true,
  codes: new Set(data.columns[column].categories.keys()), unknown: data.columns[column].size > 0,
});
// The part of a region that goes to one side of a split.
const after = (region, split, left) => {
  const part = { ...region, missing: region.missing && split.missingLeft === left };
  if (data.columns[split.column].kind !== "real") {
    part.codes = new Set([...region.codes].filter((code) => split.codes.has(code) === left));
    part.unknown = region.unknown && split.unknownLeft === left;
  } else if (left && split.threshold < region.high) {
    Object.assign(part, { high: split.threshold, highText: split.text });
  } else if (!left && split.threshold > region.low) {
    Object.assign(part, { low: split.threshold, lowText: split.text });
  }
  return part;
};

const bits = new DataView(new ArrayBuffer(8));
const nextAbove = (value) => {
  if (value === Infinity) return value;
  if (value === 0) return 5e-324;
  if (value === -Infinity) return -Number.MAX_VALUE;
  bits.setFloat64(0, value);
  bits.setBigInt64(0, bits.getBigInt64(0) + (value > 0 ? 1n : -1n));
  return bits.getFloat64(0);
};
const relative = (old, now) => {
  const most = Math.max(Math.abs(old), Math.abs(now)), one = old / most, other = now / most;
  return Math.abs(one - other) / (Math.abs(one) + Math.abs(other));
};
// The nearest value to a cell in a region; null if it has no known value.
const movedInto = (region, cell) => {
  const stay = { region, value: cell, size: 0, changed: false };
  const to = (value, size) => ({ region, value, size, changed: true });
  const { kind, categories } = data.columns[region.column];
  if (kind === "real") {
    const inside = (value) => Number.isFinite(value) && region.low < value && value <= region.high;
    if (Number.isNaN(cell)) {
      if (region.missing) return stay;
      const value = Number.isFinite(region.high) ? region.high : Number.isFinite(region.low) ? nextAbove(region.low) : 0;
      return inside(value) ? to(value, 1) : null;
    }
    if (inside(cell)) return stay;
    const value = cell <= region.low ? nextAbove(region.low) : region.high;
    return inside(value) ? to(value, relative(cell, value)) : region.missing ? to(NaN, 1) : null;
  }
  if (cell === UNKNOWN ? region.unknown : cell === MISSING ? region.missing : region.codes.has(cell)) return stay;
  if (!region.codes.size && region.unknown && data.columns[region.column].open) return to(UNKNOWN, 1);
  if (!region.codes.size) return region.missing ? to(MISSING, 1) : null;
  const codes = [...region.codes].sort((a, b) => a - b);
  if (kind !== "ordinal" || cell < 0) return to(codes[0], 1);
  const nearest = codes.reduce((best, code) => (Math.abs(code - cell) < Math.abs(best - cell) ? code : best));
  return to(nearest, Math.abs(nearest - cell) / (categories.length - 1));
};

const priceOf = (moves) => {
  const changed = [...moves.values()].filter((move) => move.changed).sort((a, b) => a.region.column - b.region.column);
  return { changed, count: changed.length, size: changed.reduce((total, move) => total + move.size, 0) };
};
// The smallest change of a row that changes the prediction: fewest columns, then the smallest sum of sizes,
// then most training rows, then the first end.
const smallestChange = (root, cells, label) => {
  let best = null, place = 0;
  const better = (a, b) => a.count - b.count || a.size - b.size || b.rows - a.rows || a.place - b.place;
  const stack = [{ id: root, moves: new Map() }];
  while (stack.length) {
    const { id, moves } = stack.pop(), price = priceOf(moves);
    place += 1;
    if (best && (price.count - best.count || price.size - best.size) > 0) continue;
    const split = isInner(id) ? splitOf(id) : null;
    const here = split && (moves.get(split.column)?.region ?? wholeRegion(split.column));
    const stays = split && data.handle_unknown === "stop" && cells[split.column] === UNKNOWN && here.unknown;
    if (!split || stays) {
      const [rows, prediction] = statsOf(id), end = { ...price, id, rows, place, prediction };
      if (prediction !== label && (!best || better(end, best) < 0)) best = end;
    }
    if (!split) continue;
    for (const left of [false, true]) {
      const move = movedInto(after(here, split, left), cells[split.column]);
      if (move) stack.push({ id: data.nodes[id][left ? 2 : 3], moves: new Map(moves).set(split.column, move) });
    }
  }
  return best;
};

// -- words ---------------------------------------------------------------------------------------

const cellWords = (column, cell) => {
  const { kind, categories } = data.columns[column];
  if (kind === "real") return Number.isNaN(cell) ? "missing" : String(cell);
  return cell === MISSING ? "missing" : cell === UNKNOWN ? "another category" : categories[cell];
};
const unmet = (column, cell) => (cell === UNKNOWN && !data.columns[column].open)
  || ((cell === MISSING || Number.isNaN(cell)) && !data.columns[column].missing);

// The condition of a region.
const regionWords = (region, { withMissing = false } = {}) => {
  const { name, kind, categories, missing, open } = data.columns[region.column];
  const unlisted = region.unknown && open; // categories that no split names
  const also = withMissing && region.missing && missing ? " or missing" : "";
  if (kind === "real") {
    const low = Number.isFinite(region.low), high = Number.isFinite(region.high);
    if (!(region.low < region.high)) return `${name} missing`;
    if (low && high) return `${region.lowText} < ${name} ≤ ${region.highText}${also}`;
    if (low) return `${name} > ${region.lowText}${also}`;
    return high ? `${name} ≤ ${region.highText}${also}` : `${name} present${also}`;
  }
  const inside = [], outside = [];
  categories.forEach((category, code) => (region.codes.has(code) ? inside : outside).push(category));
  if (!inside.length && !unlisted) return region.unknown && !region.missing ? `${name} none of the known` : `${name} missing`;
  if (kind === "ordinal" && inside.length > 1) {
    const codes = [...region.codes].sort((a, b) => a - b), low = codes[0], high = codes.at(-1);
    const ends = [low > 0 ? `> ${categories[low - 1]}` : "", high < categories.length - 1 ? `≤ ${categories[high]}` : ""].filter(Boolean);
    return `${name} ${ends.join(" and ") || "present"}${also}`;
  }
  const closed = region.unknown || ["error", "missing"].includes(data.handle_unknown); // nothing else is not one of them
  if (closed && outside.length && (unlisted || outside.length < inside.length)) return `${name} ≠ ${outside.join(" and ≠ ")}${also}`;
  return unlisted ? `${name} present${also}` : `${name} = ${inside.join(" or ")}${also}`;
};

// One rule for each leaf, from left to right: conditions, merged for each column.
const rulesOf = (root, most = Infinity) => {
  const rules = [], stack = [{ id: root, regions: new Map() }];
  while (stack.length && rules.length < most) {
    const { id, regions } = stack.pop();
    if (!isInner(id)) {
      rules.push({ id, regions: [...regions.values()] });
      continue;
    }
    const split = splitOf(id), here = regions.get(split.column) ?? wholeRegion(split.column);
    for (const left of [false, true])
      stack.push({ id: data.nodes[id][left ? 2 : 3], regions: new Map(regions).set(split.column, after(here, split, left)) });
  }
  return rules;
};

// -- reading what is typed -------------------------------------------------------------------------

// The texts that tables have for a missing value, and the numbers that they hold.
const NOTHING = new Set(["", "NA", "N/A", "NaN", "nan", "null", "NULL"]);
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const TRUTHS = { true: "true", True: "true", TRUE: "true", false: "false", False: "false", FALSE: "false" };
// The code of a category; a number is looked up by its value where the categories are numbers.
const codeOf = ({ categories, written, numeric, boolean }, text) => {
  const known = written ?? categories, trimmed = text.trim(), truth = boolean ? TRUTHS[trimmed] ?? trimmed : trimmed;
  const same = known.indexOf(text) >= 0 ? known.indexOf(text) : known.indexOf(truth);
  if (same >= 0) return same;
  if (NOTHING.has(trimmed)) return MISSING;
  if (!numeric || !NUMBER.test(trimmed)) return UNKNOWN;
  const values = known.map((one) => ({ true: 1, false: 0 })[one] ?? Number(one));
  return values.indexOf(Number(trimmed)) >= 0 ? values.indexOf(Number(trimmed)) : UNKNOWN;
};
// A cell from text, as predict reads a table; throws an Error that states the problem.
const cellFrom = (column, text) => {
  const { name, kind, categories, numeric } = data.columns[column], trimmed = text.trim();
  if (kind !== "real") {
    const code = codeOf(data.columns[column], text), another = !numeric || NUMBER.test(trimmed); // another category
    if (code !== UNKNOWN || (another && !["error", "missing"].includes(data.handle_unknown))) return code;
    if (another && data.handle_unknown === "missing") return MISSING;
    throw new Error(`${name} must be one of ${categories.slice(0, 8).join(", ")}${categories.length > 8 ? ", …" : ""}. Got ${trimmed} instead.`);
  }
  if (NOTHING.has(trimmed)) return NaN;
  const value = NUMBER.test(trimmed) ? Number(trimmed) : NaN;
  if (!Number.isFinite(value)) throw new Error(`${name} must be a number. Got ${trimmed} instead.`);
  return value;
};
// The records of a text like CSV: a value that begins with a quote ends with one. Each entry of
// `signs` separates values; those that were seen outside quotes are returned, too.
const recordsOf = (text, signs) => {
  const records = [[]], seen = new Set();
  let value = "", quoted = false;
  const end = () => { records.at(-1).push(value); value = ""; };
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (quoted && char === '"' && text[at + 1] === '"') { value += '"'; at += 1; }
    else if (char === '"' && (quoted || value === "")) quoted = !quoted;
    else if (quoted) value += char;
    else if (char === "\n") { end(); records.push([]); }
    else if (signs.includes(char)) { end(); seen.add(char); }
    else if (char !== "\r" || text[at + 1] !== "\n") value += char;
  }
  end();
  return { records: records.filter((record) => record.length > 1 || record[0].trim() !== ""), seen };
};
// Whether a text can be a value of a column, as far as the report knows its values.
const plausible = (column, text) => {
  const { kind, open, categories } = data.columns[column];
  if (kind === "real") return NOTHING.has(text.trim()) || NUMBER.test(text.trim());
  return open || !categories.length || codeOf(data.columns[column], text) !== UNKNOWN;
};
// A row with one value more than there are columns: without the target, if only one place can hold it.
const withoutTarget = (values) => {
  const labels = new Set(data.classes), rows = [];
  values.forEach((value, at) => {
    const rest = values.filter((_, k) => k !== at);
    if (labels.has(value.trim()) && rest.every((text, column) => plausible(column, text))) rows.push(rest);
  });
  const texts = new Set(rows.map((row) => JSON.stringify(row)));
  return texts.size === 1 ? rows[0] : null;
};
// Texts by column of a row, perhaps below a line of names; null where the records are neither.
const rowIn = ([first, second]) => {
  const keys = data.columns.map((column) => column.key), names = first.map((name) => name.trim());
  if (second && names.some((name) => keys.includes(name))) {
    const places = keys.map((key) => (names.indexOf(key) < 0 ? first.indexOf(key) : names.indexOf(key)));
    return places.map((place) => (place < 0 ? null : second[place] ?? ""));
  }
  if (first.length === keys.length) return first;
  if (first.length === data.file.length) return keys.map((key) => (data.file.indexOf(key) < 0 ? null : first[data.file.indexOf(key)]));
  return first.length === keys.length + 1 ? withoutTarget(first) : null;
};
// Texts by column from what was pasted: a row in the order of the columns, or of the file, or names and a row below.
const pastedRow = (text) => {
  const { seen } = recordsOf(text, "\t;,"), signs = ["\t", ";", ","].filter((one) => seen.has(one));
  for (const sign of signs.length ? signs : [","]) {
    const row = rowIn(recordsOf(text, sign).records);
    if (row) return row;
  }
  const keys = data.columns.map((column) => column.key), [first] = recordsOf(text, signs[0] ?? ",").records;
  throw new Error(`The row has ${many(first.length, "value")}, but there are ${many(keys.length, "column")}: ${keys.slice(0, 8).join(", ")}${keys.length > 8 ? ", …" : ""}. Or give the names in a first line.`);
};
