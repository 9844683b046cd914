// The report on a regression tree: the spread of each leaf, and residuals against predictions.

// The ends of the values that the leaves of a tree have, with their spread.
const spreadOf = (id) => { const stats = statsOf(id); return Math.sqrt(stats[6] / (stats[2][0] || 1)); };
const leafEnds = (root) => {
  const ends = nodesBelow(root).filter(({ id }) => !isInner(id)).flatMap(({ id }) => {
    const stats = statsOf(id), spread = spreadOf(id);
    return [stats[11] - spread, stats[11] + spread, stats[5], ...(stats[12] === null ? [] : [stats[12], stats[13]])];
  });
  const low = Math.min(...ends), high = Math.max(...ends);
  return [Number(low.toPrecision(3)), Number(high.toPrecision(3))].map((end, k) => (k ? Math.max(end, high) : Math.min(end, low)));
};
// A leaf on the common scale: a box, a line for its interval, and a mark at its value.
const leafStrip = (id, [low, high]) => {
  const stats = statsOf(id), spread = spreadOf(id), x = (value) => (high > low ? (100 * (value - low)) / (high - low) : 50);
  const svg = made("svg", { class: "strip", viewBox: "0 0 100 12", preserveAspectRatio: "none", role: "img",
    "aria-label": `mean ${quantity(stats[11])}, standard deviation ${quantity(spread)}` });
  if (stats[12] !== null) svg.append(made("line", { class: "interval", x1: x(stats[12]), x2: x(stats[13]), y1: 6, y2: 6 }));
  const left = x(stats[11] - spread);
  svg.append(made("rect", { class: "spread", x: left, y: 2, width: Math.max(0.5, x(stats[11] + spread) - left), height: 8, fill: stats[8], "fill-opacity": Math.max(0.25, stats[9]) }),
    made("line", { class: "value", x1: x(stats[5]), x2: x(stats[5]), y1: 0, y2: 12 }));
  return svg;
};

// Residuals of rows that the tree was not grown on, against its predictions.
const WIDE_PLOT = 640, HIGH_PLOT = 260, EDGE = 46;
const residualPlot = (points) => {
  const across = points.map((point) => point[0]), up = points.map((point) => point[1]);
  const [low, high] = [Math.min(...across), Math.max(...across)], most = Math.max(...up.map(Math.abs)) || 1;
  const x = (value) => (high > low ? EDGE + 10 + ((WIDE_PLOT - EDGE - 30) * (value - low)) / (high - low) : WIDE_PLOT / 2);
  const y = (value) => 10 + ((HIGH_PLOT - 40) * (most - value)) / (2 * most);
  const words = (text, px, py, anchor) => made("text", { class: "tick", x: px, y: py, "text-anchor": anchor }, text);
  const svg = made("svg", { class: "residuals", viewBox: `0 0 ${WIDE_PLOT} ${HIGH_PLOT}`, role: "img", "aria-label": "Residuals against predictions" });
  const short = (value) => quantity(value, 3);
  svg.append(made("path", { class: "axis", d: `M${EDGE},10V${HIGH_PLOT - 30}H${WIDE_PLOT - 10}` }), made("path", { class: "axis zero", d: `M${EDGE},${y(0)}H${WIDE_PLOT - 10}` }),
    ...points.map(([prediction, residual]) => made("circle", { class: "dot", cx: x(prediction), cy: y(residual), r: 2.5 })),
    words(short(most), EDGE - 4, y(most) + 8, "end"), words("0", EDGE - 4, y(0) + 4, "end"), words(short(-most), EDGE - 4, y(-most), "end"),
    words(short(low), x(low), HIGH_PLOT - 14, "middle"), words(short(high), x(high), HIGH_PLOT - 14, "middle"), words("prediction", WIDE_PLOT / 2, HIGH_PLOT - 2, "middle"));
  return svg;
};
const showResiduals = (step) => {
  at("d-confusion").querySelector("h2").textContent = "Residuals";
  const { residuals } = step, fitted = data.steps[data.start];
  if (!residuals) {
    const words = fitted.residuals ? `Residuals were cross-validated for the tree of ${many(fitted.leaves, "leaf", "leaves")} only.` : "There are no rows with residuals: the tree has no calibration rows, and was not cross-validated.";
    at("confusion").replaceChildren(paragraph(words, "note"));
    return;
  }
  const drawn = residuals.points.length < residuals.rows ? `; ${number(residuals.points.length)} are drawn` : "";
  const [role] = residuals.role.split(" "), name = role === "calibration" ? many(residuals.rows, "calibration row") : `${many(residuals.rows, "row")}, ${role}`;
  at("confusion").replaceChildren(made("figure", {}, made("h3", {}, `True value minus prediction: ${name}${drawn}`), residualPlot(residuals.points)),
    paragraph("Rows above the line have a larger value than predicted. The tree was not grown on the rows that it predicts here.", "note"));
};
