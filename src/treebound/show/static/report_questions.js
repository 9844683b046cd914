// The report, third part: the questionnaire, which goes through the tree one split at a time.

// Highlight a path of the tree.
const light = (keys, end) => {
  state.lit = new Set(keys);
  state.end = end;
  state.focus = end;
  render();
};

// The replies that a question offers: a side of the split, a missing value, another category.
const repliesOf = (split) => {
  const { kind, missing } = data.columns[split.column], presence = split.yes.startsWith("is ");
  const replies = [["left", split.yes.replace(/ or missing$/, "")], ["right", split.no.replace(/ or missing$/, "")]];
  if (missing && !presence) replies.push(["missing", "missing"]);
  // "≠ a" includes categories that training did not have, if they are treated like any other
  const other = kind === "ordinal" || (kind === "nominal" && data.handle_unknown !== "other");
  if (other && data.handle_unknown !== "error" && !presence) replies.push(["other", "a category not seen in training"]);
  return replies;
};
// A reply: the side that the row goes to, null if it stops here, and the values that are still possible.
const replied = (split, region, reply) => {
  if (reply === "left" || reply === "right") {
    const left = reply === "left", part = after(region, split, left);
    return { left, region: split.yes.startsWith("is ") ? part : { ...part, missing: false } };
  }
  if (reply === "other" && data.handle_unknown !== "missing")
    return { left: split.unknownLeft, region: { ...region, codes: new Set(), missing: false, only: UNKNOWN } };
  const empty = { ...region, low: Infinity, high: -Infinity, codes: new Set(), unknown: false, missing: true };
  return { left: split.missingLeft, region: { ...empty, only: MISSING } };
};
// The side that earlier replies imply; undefined if both are possible.
const implied = (split, region) => {
  if (region.only === MISSING) return split.missingLeft;
  if (region.only === UNKNOWN) return split.unknownLeft;
  const possible = (left) => {
    const part = after(region, split, left);
    if (part.missing) return true;
    return data.columns[split.column].kind === "real" ? part.low < part.high : part.codes.size > 0 || part.unknown;
  };
  const [left, right] = [possible(true), possible(false)];
  return left === right ? undefined : left;
};

// The questionnaire after some replies: the path, the node that it is at, and the question there, if any.
const questionAfter = (root, replies) => {
  const path = [], regions = new Map(), waiting = [...replies];
  let id = root;
  while (isInner(id)) {
    const split = splitOf(id), region = regions.get(split.column) ?? wholeRegion(split.column);
    let left = implied(split, region), given = null;
    if (left === undefined) {
      if (!waiting.length) return { path, id, split };
      given = waiting.shift();
      const next = replied(split, region, given);
      regions.set(split.column, next.region);
      left = next.left;
    }
    if (left === null) return { path: [...path, { id, left, given }], id, split: null };
    path.push({ id, left, given });
    id = data.nodes[id][left ? 2 : 3];
  }
  return { path, id, split: null };
};

const replyState = { replies: [] };
const replyWords = ({ id, left, given }) => {
  const split = splitOf(id);
  if (given === "missing" || given === "other") return `${split.name}: ${given === "missing" ? "missing" : "a category not seen in training"}`;
  return `${split.name} ${left ? split.yes : split.no}`;
};
const resultParts = (id) => {
  const [, label, counts] = statsOf(id), total = sum(counts), name = data.classes[label];
  const parts = [];
  if (isNumbers()) {
    const interval = statsOf(id)[10] ? `; about 90 % of new rows here are within ${statsOf(id)[10]}` : "";
    return [made("p", { class: "result" }, made("strong", {}, `${data.target === null ? "" : `${data.target} = `}${predictionOf(id)}`)),
      paragraph(`${many(statsOf(id)[0], "training row")} here${interval}.`)];
  }
  if (name === data.abstains) parts.push(made("p", { class: "result" }, patch(label), " ", made("strong", {}, "The model abstains: a person decides."), ""));
  else parts.push(made("p", { class: "result" }, patch(label), " ", made("strong", {}, data.target === null ? name : `${data.target} = ${name}`)));
  parts.push(paragraph(`Probability ${chancesOf(id)[label].toFixed(3)}: ${number(counts[label])} of ${number(total)} training examples here (${percent(counts[label] / (total || 1))}).`));
  if (data.abstains !== null && name !== data.abstains) parts.push(paragraph("The model does not abstain here."));
  if (isInner(id)) parts.push(paragraph("The row stops here, at a category that training did not have."));
  return parts;
};
const showQuestion = ({ focus = false, lighten = true } = {}) => {
  const { path, id, split } = questionAfter(data.steps[state.step].root, replyState.replies), parts = [];
  if (path.length) parts.push(made("ol", { class: "replies" }, ...path.map((turn) => made("li", { class: turn.given === null ? "implied" : "" }, replyWords(turn)))));
  if (split) {
    const choices = made("div", { class: "choices", role: "group", "aria-label": `Value of ${split.name}` });
    repliesOf(split).forEach(([reply, words], k) => {
      const choice = made("button", { type: "button", "data-reply": reply, title: `Key ${k + 1}` }, made("kbd", { "aria-hidden": "true" }, String(k + 1)), ` ${reply === "left" || reply === "right" ? `${split.name} ${words}` : words}`);
      choice.addEventListener("click", () => give(reply));
      choices.append(choice);
    });
    parts.push(made("p", { class: "question" }, `Question ${number(replyState.replies.length + 1)}: ${split.name}?`), choices);
  } else parts.push(...resultParts(id));
  at("question").replaceChildren(...parts);
  at("back").disabled = at("restart").disabled = !replyState.replies.length;
  if (lighten && replyState.replies.length) {
    const key = path.filter((turn) => turn.left !== null).map(({ left }) => (left ? "L" : "R")).join("");
    light(Array.from({ length: key.length + 1 }, (_, k) => key.slice(0, k)), key);
  }
  if (focus) (at("question").querySelector("button") ?? at("restart")).focus();
};
const give = (reply) => { replyState.replies.push(reply); showQuestion({ focus: true }); };
const takeBack = () => {
  replyState.replies.pop();
  if (!replyState.replies.length) { state.lit = null; render(); }
  showQuestion({ focus: true });
};
const restart = ({ focus = false } = {}) => {
  const began = replyState.replies.length > 0;
  replyState.replies = [];
  if (began && focus) { state.lit = null; render(); }
  showQuestion({ focus, lighten: false });
};
at("back").addEventListener("click", takeBack);
at("restart").addEventListener("click", () => restart({ focus: true }));
at("questionnaire").addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const choice = at("question").querySelectorAll("[data-reply]")[Number(event.key) - 1];
  if (/^[1-9]$/.test(event.key) && choice) give(choice.dataset.reply);
  else if (event.key === "Backspace" && replyState.replies.length) takeBack();
  else return;
  event.preventDefault();
});
