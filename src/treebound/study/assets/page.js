// -- views ------------------------------------------------------------------------------------

function overview() {
  const cards = study.cards.map(({ figure, text }) => make("div", { class: "card" }, make("b", {}, figure), make("span", {}, text)));
  return [make("div", { class: "cards" }, ...cards), ...sheetView("accuracy", { heading: false }), ...sheetView("cost")];
}

function compareView() {
  const diagram = study.ranking ? [make("h2", {}, "Mean ranks"), sideways(criticalDifference(), "plot", { id: "ranks" })] : [];
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
    sideways(drawsPlot(d), "plot", { id: "draws-plot" }),
    make("p", { class: "note" }, "One point for each draw, a bar at the mean. Point at one to see the same draw for every model."));
  const pick = make("select", { id: "pick-dataset", "aria-label": "data set", onchange: (event) => show(event.target.selectedIndex) },
    ...study.datasets.map((dataset) => make("option", {}, dataset.title)));
  show(0);
  return [make("div", { class: "bar" }, pick), host];
}

function methodView() {
  const about = make("dl", {}, ...study.about.flatMap(({ name, text }) => [make("dt", {}, name), make("dd", {}, text)]));
  const models = make("dl", {}, ...study.models.flatMap(({ name, settings }) => [make("dt", {}, name), make("dd", {}, make("code", {}, settings))]));
  return [make("h2", {}, "How it was made"), about, make("h2", {}, "Models"), models];
}

// -- the page ---------------------------------------------------------------------------------

const VIEWS = [["overview", "Overview", overview], ["compare", "Comparison", compareView], ["costs", "Size and time", costsView],
  ["datasets", "Data sets", datasetsView], ["method", "Method", methodView]];

function open(key, { stay = false } = {}) {
  const [chosen, , view] = VIEWS.find(([one]) => one === key) ?? VIEWS[0];
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const on = tab.dataset.view === chosen;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
  }
  tip.hidden = true;
  document.getElementById("views").replaceChildren(make("section", { role: "tabpanel", id: `view-${chosen}` }, ...view()));
  if (!stay) scrollTo(0, 0);
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
  let width = innerWidth;
  addEventListener("resize", () => { // plots are drawn for the width of the window
    if (innerWidth === width) return;
    width = innerWidth;
    open(location.hash.slice(1), { stay: true });
  });
  open(location.hash.slice(1));
}

start();
