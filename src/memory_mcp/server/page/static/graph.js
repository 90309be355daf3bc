// Draws the rows of the timeline: each node in its column, edges down to what it follows.

import { draw, h, chip } from "./dom.js";
import { formatTime, formatCount, firstLine } from "./words.js";

export const GRAPH_ROW = 56;
const STEP = 16;
const LANES_MAX = 12;
const COLOURS = 6;

export function prepareRows(nodes) {
  // edges below a left node are dimmed down to where they meet a line that holds
  let dim = new Map(),
    above = [];
  return nodes.map((node) => {
    const left = node.kind === "line" || node.status === "invalidated";
    const below = new Map();
    const edges = (node.edges ?? []).map(([from, to]) => {
      const faded = from === node.column ? left : (dim.get(from) ?? false);
      below.set(to, (below.get(to) ?? true) && faded);
      return { from, to, faded };
    });
    const row = {
      ...node,
      left,
      lines: edges,
      above,
      wide: Math.max(
        node.column,
        ...above.map((each) => each.column),
        ...edges.map((each) => each.to),
        0,
      ),
    };
    above = [...below].map(([column, faded]) => ({ column, faded }));
    dim = below;
    return row;
  });
}

export function drawRow(row) {
  const lanes = Math.min(LANES_MAX, row.wide) + 1;
  const width = lanes * STEP + 8,
    middle = GRAPH_ROW / 2;
  const x = (column) => 12 + Math.min(column, LANES_MAX) * STEP;
  const line = (path, column, faded) =>
    draw("path", { d: path, class: `edge lane${column % COLOURS}${faded ? " faded" : ""}` });
  const edges = [
    ...row.above.map(({ column, faded }) => ({
      faded,
      node: line(`M${x(column)} 0V${middle}`, column, faded),
    })),
    ...row.lines.map(({ from, to, faded }) => ({
      faded,
      node: line(
        from === to
          ? `M${x(from)} ${middle}V${GRAPH_ROW}`
          : `M${x(from)} ${middle}C${x(from)} ${GRAPH_ROW - 8} ${x(to)} ${middle + 8} ${x(to)} ${GRAPH_ROW}`,
        Math.max(from, to),
        faded,
      ),
    })),
  ];
  edges.sort((one, other) => other.faded - one.faded); // what holds is drawn over what was left
  const parts = [...edges.map((each) => each.node), drawSign(row, x(row.column), middle)];
  return draw(
    "svg",
    {
      class: "graph",
      width,
      height: GRAPH_ROW,
      viewBox: `0 0 ${width} ${GRAPH_ROW}`,
      "aria-hidden": "true",
    },
    parts,
  );
}

function drawSign(row, x, y) {
  const lane = `node lane${row.column % COLOURS}`;
  if (row.kind === "branch")
    return draw(
      "g",
      { class: `${lane} tip` },
      draw("circle", { cx: x, cy: y, r: row.here ? 7 : 5.5 }),
      row.here ? draw("circle", { cx: x, cy: y, r: 2.5, class: "core" }) : null,
    );
  if (row.left)
    return draw("path", {
      class: "cross",
      d: `M${x - 4} ${y - 4}L${x + 4} ${y + 4}M${x + 4} ${y - 4}L${x - 4} ${y + 4}`,
    });
  if (row.kind === "start")
    return draw("rect", {
      class: `${lane} start`,
      x: x - 4.5,
      y: y - 4.5,
      width: 9,
      height: 9,
      transform: `rotate(45 ${x} ${y})`,
    });
  if (row.kind === "older") return draw("circle", { class: "older", cx: x, cy: y, r: 3 });
  return draw("circle", {
    class: `${lane} sealed${row.status === "pending" ? " pending" : ""}`,
    cx: x,
    cy: y,
    r: 5,
  });
}

export function renderRow(row) {
  const [title, second] = describeRow(row);
  return h(
    "div",
    { class: `point ${row.left ? "left" : ""}` },
    drawRow(row),
    h(
      "div",
      { class: "words" },
      h("div", { class: "first" }, title),
      h("div", { class: "second" }, second),
    ),
  );
}

function describeRow(row) {
  const made = [
    row.at ? formatTime(row.at) : "",
    whoOf(row),
    row.commit ? row.commit.slice(0, 8) : "",
  ];
  const meta = (...more) => [...more, ...made].filter(Boolean).join(" · ");
  switch (row.kind) {
    case "branch":
      return [
        [
          h("strong", {}, row.name),
          row.here ? chip("you are here", "here") : null,
          row.parent && row.parent !== "main"
            ? h("span", { class: "quiet" }, `below ${row.parent}`)
            : null,
        ],
        meta(row.memories ? `${formatCount(row.memories)} since` : "nothing since"),
      ];
    case "checkpoint":
      return [
        [
          row.phase !== null && row.phase !== undefined
            ? chip(`phase ${row.phase}`, "phase")
            : null,
          row.status === "pending" ? chip("waits for approval", "pending") : null,
          row.left ? chip("left", "gone") : null,
          h("strong", {}, row.summary ? firstLine(row.summary) : row.name),
        ],
        meta(row.summary ? row.name : "", formatCount(row.memories)),
      ];
    case "line":
      return [
        [chip("left line", "gone"), h("strong", {}, row.name)],
        meta(`hides ${formatCount(row.memories)}`),
      ];
    case "older":
      return [
        [h("strong", {}, `${row.count.toLocaleString()} older`)],
        "choose it to see them all",
      ];
    default:
      return [[h("strong", {}, "start")], "before the first memory"];
  }
}

export function whoOf(each) {
  const client = (each.client ?? "").split("/")[0];
  const user = each.user && each.user !== "default" ? each.user : "";
  return [user, client && client !== "unknown" ? `${user ? "through " : ""}${client}` : ""]
    .filter(Boolean)
    .join(" ");
}

export function isHere(row) {
  return row.kind === "branch" && Boolean(row.here);
}

export function isSet(value) {
  return value !== null && value !== undefined;
}

export function nameOf(row) {
  return row.kind === "branch" || row.kind === "checkpoint" || row.kind === "line"
    ? row.name
    : row.kind;
}
