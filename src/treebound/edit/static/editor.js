// The page of an editor, last part: commands to Python and its replies. Python keeps all state.

// -- commands ------------------------------------------------------------------------------------

const { token } = data;
const LOST = "The editor does not reply. Was it stopped? No step is lost: start it again with --recover, then reload.";
const overNetwork = async (request) => {
  try {
    const reply = await fetch("command", { method: "POST", headers: { "content-type": "application/json", "x-token": token }, body: JSON.stringify(request) });
    if (!reply.ok) return { error: reply.status === 403 ? "This page belongs to an editor that was stopped. Open the address that the new one prints." : LOST };
    return await reply.json();
  } catch {
    return { error: LOST };
  }
};
const waitingFor = new Map();
const overFrame = (request) => new Promise((resolve) => {
  const id = `${Date.now()}-${Math.random()}`;
  waitingFor.set(id, resolve);
  window.parent.postMessage({ id, request }, "*");
});
window.addEventListener("message", (event) => {
  if (event.source !== window.parent) return;
  waitingFor.get(event.data?.id)?.(event.data.reply);
  waitingFor.delete(event.data?.id);
});

const notify = (words, error = false) => {
  at("message").textContent = words;
  at("message").classList.toggle("error", error);
};
const send = async (request) => {
  const reply = await (token === null ? overFrame : overNetwork)({ version: data.version, ...request });
  if (reply.error && request.do !== "preview") notify(reply.error, true);
  if (reply.state && (reply.error || request.do === "state") && reply.state.version !== data.version) accept(reply.state);
  return reply;
};
// A step: the whole page follows the reply of Python.
let busy = false;
const act = async (request) => {
  if (busy) return false;
  busy = true;
  const reply = await send(request);
  busy = false;
  if (reply.error) return false;
  notify(reply.message);
  if (reply.file) download(reply.file);
  accept(reply.state);
  return true;
};
const download = ({ name, text }) => {
  const link = made("a", { href: URL.createObjectURL(new Blob([text])), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};

// -- what the page shows -----------------------------------------------------------------------------

const percentOf = (words) => (words === "none" ? Infinity : parseFloat(words.replace(/,/g, "")));
const showFigures = () => {
  const table = tableOf(["", "before", "now"], data.figures, ["", "count", "count now"]);
  at("figures").replaceChildren(...table.children);
  [...at("figures").querySelectorAll("tbody tr")].forEach((row, k) => {
    const [, before, now] = data.figures[k].map(percentOf);
    if (now !== before) row.classList.add(now < before ? "better" : "worse");
  });
  const certified = data.steps[0].certified;
  at("reason").textContent = certified.length ? data.lines[certified[0]] : data.reason ?? "";
  at("notice").textContent = data.notice;
};
const showChanged = () => {
  if (!data.changed.length) { at("changed").replaceChildren(paragraph("The predictions for all training rows are as before.", "note")); return; }
  const rows = data.changed.map((line) => {
    const go = button(line.where, () => choose(shown.find((item) => item.key === line.path) ?? { key: line.path }), { class: "link" });
    const numbers = line.numbers === null ? "" : `rows ${line.numbers.slice(0, 12).join(", ")}${line.rows > 12 ? ", …" : ""}`;
    return [made("span", {}, go, made("div", { class: "note" }, numbers)), line.change.join(" → "), number(line.rows), ...line.effects.map((count) => number(count))];
  });
  at("changed").replaceChildren(scrolling(tableOf(["Leaf", "prediction", "rows", ...data.effects], rows, ["words", "", "count", "count", "count"])));
};
// Other good trees, if the editor was given some: a click uses one.
const showTrees = () => {
  at("d-alternatives").hidden = !data.alternatives.length;
  const rows = data.alternatives.map((cells, k) => [...cells, button("Use this tree", async () => {
    if (await act({ do: "adopt", node: "", number: k, ...remark() })) at("note").value = "";
  }, { "data-alternative": k })]);
  at("trees").replaceChildren(scrolling(tableOf(["Columns", "leaves", "training error", "certified error", "disagrees with the fitted tree", ""], rows, ["words", "count", "count", "count", "count", ""])));
};
const showState = () => {
  const tree = figures(data.steps[0].root);
  at("summary").textContent = `${data.lines[data.steps[0].headline]} ${many(tree.leaves, "leaf", "leaves")}, depth ${tree.depth}, ${many(tree.rows, "training row")}. ${data.history.length ? `Edited by hand: ${many(data.history.length, "step")}${data.saved ? ", saved" : ""}.` : "Not changed yet."}`;
  at("undo").disabled = !data.history.length;
  at("redo").disabled = !data.undone;
  at("steps").replaceChildren(...data.history.map((sentence) => made("li", {}, sentence)));
  at("h-steps").textContent = data.history.length ? `Steps (${number(data.history.length)})` : "Steps: none yet";
};
const accept = (value) => {
  const focused = document.activeElement?.closest?.(".node") !== null && document.activeElement?.closest?.("#nodes");
  take({ ...value, token });
  state.step = 0;
  state.moved = false;
  render();
  showFigures();
  showChanged();
  showTrees();
  showState();
  const key = stillThere(chosen.key);
  if (focused) { const item = shown.find((one) => one.key === key); if (item) focusOn(item); }
  showNode(key);
};

// What the drawing of the tree leaves to the page: a click on a node, and another width.
const resized = () => markChosen();
const choose = (item) => {
  chosen.open = null;
  hideCard(); // its facts are at the side
  showNode(item.key);
  if (window.innerWidth <= 900) at("h-node").scrollIntoView({ block: "start" });
};
const drawn = new MutationObserver(markChosen); // folding and zooming draw the nodes again

at("undo").addEventListener("click", () => act({ do: "undo" }));
at("redo").addEventListener("click", () => act({ do: "redo" }));
at("save").addEventListener("click", () => act({ do: "save" }));
at("report").addEventListener("click", () => act({ do: "report" }));
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.target.matches("input, textarea")) return;
  const again = event.key === "y" || (event.key.toLowerCase() === "z" && event.shiftKey);
  if (!again && event.key !== "z") return;
  event.preventDefault();
  act({ do: again ? "redo" : "undo" });
});
// another window may have changed the tree
window.addEventListener("focus", () => send({ do: "state" }));
document.addEventListener("visibilitychange", () => { if (!document.hidden) send({ do: "state" }); });

(data.bands ?? data.classes).forEach((name, k) => at("legend").append(made("li", {}, patch(k, data.band_colours), name)));
at("made").textContent = `Made by ${data.made_by}. Nothing leaves this machine.`;
drawn.observe(at("nodes"), { childList: true });
showTheme();
accept(data);
