// The timeline as a graph, the slider through time, and what is known of the chosen point.

import { h, show, button, section, note } from "./dom.js";
import { formatTime, firstLine } from "./words.js";
import { makeList } from "./list.js";
import { GRAPH_ROW, prepareRows, renderRow, nameOf, isHere } from "./graph.js";
import { renderDurable } from "./panels.js";

const NEWEST_POINTS = 200;
const KNOWN_SHOWN = 50;
const DURABLE_SHOWN = 12;

export function makeTimeline(page) {
  let rows = [];
  let limit = NEWEST_POINTS;
  let chosen = null; // the key of a row: it stays chosen while others write
  let turn = 0;

  const details = h("div", { class: "details", "aria-live": "polite" });
  const durable = h("div", { class: "beside" });
  const slider = h("input", { type: "range", id: "then", min: "0", max: "0", step: "1" });
  const then = h("output", { for: "then", id: "then-text" });
  const graph = makeList({
    label: "The timeline, newest first",
    rowHeight: GRAPH_ROW,
    render: renderRow,
    pick: choosePoint,
    empty: "Nothing was written yet.",
  });
  slider.addEventListener("input", slide);

  const time = h(
    "div",
    { class: "time" },
    h("label", { for: "then" }, "What was known then"),
    button("‹", () => step(-1), { "aria-label": "Earlier" }),
    slider,
    button("›", () => step(1), { "aria-label": "Later" }),
    then,
  );
  const planes = h("div", { class: "planes" }, graph.node, durable);
  const title = h("h2", { class: "hidden" }, "The timeline");
  const node = h(
    "div",
    { class: "columns" },
    h("div", { class: "column" }, title, time, planes),
    h("div", { class: "column side" }, details),
  );

  // the points to slide along: what holds, oldest first, then now
  function listTimes() {
    const holds = (row) => (row.kind === "checkpoint" && !row.left) || isHere(row);
    return rows.filter(holds).reverse();
  }

  function step(by) {
    const to = Number(slider.value) + by;
    if (to < 0 || to > Number(slider.max)) return;
    slider.value = to;
    slide();
  }

  function slide() {
    const row = listTimes()[Number(slider.value)];
    if (!row) return;
    graph.choose(rows.indexOf(row), true);
    choosePoint(row);
  }

  function tellTime(row) {
    const times = listTimes();
    slider.max = String(Math.max(0, times.length - 1));
    const at = times.indexOf(row);
    if (at >= 0) slider.value = String(at);
    const when = row.at ? `, ${formatTime(row.at)}` : "";
    const text = isHere(row) ? "now" : `${nameOf(row)}${when}`;
    then.textContent = text;
    slider.setAttribute("aria-valuetext", text);
  }

  async function choosePoint(row) {
    if (row.kind === "older") {
      limit = 0;
      await load();
      return;
    }
    chosen = row.key;
    tellTime(row);
    const mine = ++turn;
    const given = row.branch ? { branch: row.branch } : page.branchGiven();
    let shown;
    try {
      const [told, known] = await Promise.all([readTold(row, given), readKnown(row)]);
      shown = renderPoint(row, told, known, given, page);
    } catch (error) {
      shown = note(error.message);
    }
    if (mine === turn) show(details, shown);
  }

  async function readTold(row, given) {
    const moves = row.kind === "checkpoint" || row.kind === "line";
    return moves ? page.transport.read("point", { point: row.name, ...given }) : {};
  }

  async function readKnown(row) {
    if (page.transport.kind === "file" && !row.here) return null;
    return page.read("memories", { at: pointOf(row), limit: String(KNOWN_SHOWN) });
  }

  async function load() {
    const [log, beside] = await Promise.all([
      page.read("timeline", { limit: String(limit) }),
      page.read("memories", { state: "durable", limit: String(DURABLE_SHOWN) }),
    ]);
    if (log.skipped) {
      show(details, note(log.skipped));
      return;
    }
    rows = prepareRows(log.nodes);
    graph.set(rows, rows.length, true);
    show(durable, renderDurable(beside, page));
    if (!rows.length) return;
    const at = rows.findIndex((row) => row.key === chosen);
    graph.choose(Math.max(0, at), true);
    await choosePoint(rows[Math.max(0, at)]);
  }

  function forget() {
    chosen = null;
  }

  return { node, load, forget, rows: () => rows };
}

function pointOf(row) {
  return isHere(row) ? "head" : nameOf(row);
}

function renderPoint(row, told, known, given, page) {
  return h(
    "article",
    { class: "memory" },
    h(
      "header",
      {},
      h("h2", {}, isHere(row) ? "You are here" : nameOf(row)),
      h("p", { class: "quiet" }, describeOrigin(row)),
    ),
    told.summary ? h("p", { class: "text" }, told.summary) : null,
    told.left ? note(told.left) : null,
    told.skipped ? note(told.skipped) : null,
    told.effect ? renderEffect(row, told, given, page) : null,
    renderSteps(row, given, page),
    renderClosed(told.closed ?? [], page),
    known ? renderKnown(row, known, page) : null,
  );
}

function describeOrigin(row) {
  const kinds = { line: "left line" };
  const on = row.gitBranch ? ` on ${row.gitBranch}` : "";
  const parts = [
    kinds[row.kind] ?? row.kind,
    row.at ? formatTime(row.at) : "",
    row.client,
    row.session ? `session ${firstLine(row.session, 20)}` : "",
    row.commit ? `commit ${row.commit.slice(0, 8)}${on}` : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

function renderEffect(row, told, given, page) {
  const title = row.left ? "What restoring it would do" : "What going back to it would do";
  return section(
    title,
    {},
    h("p", { class: "said" }, told.effect),
    page.decide.can("backtrack") ? renderMoves(row, told, given, page.decide) : null,
  );
}

function renderMoves(row, told, given, decide) {
  const move = (more) => ({ action: "backtrack", to: row.name, ...given, ...more });
  const restore = () => decide.run(move({ mode: "continue" }), "Restore this line", "Restore it");
  const erase = () =>
    decide.run(move({ mode: "forget" }), "Go back, and erase what came after", "Erase it", {
      danger: true,
    });
  const goBack = async () => {
    const label = "What was tried, and why it failed (kept as a lesson; may be empty)";
    const fields = [["lesson", label, "", 3]];
    const lesson = await decide.askText("Go back to here", fields, "Look what it hides");
    if (lesson) decide.run(move({ mode: "continue", ...lesson }), "Go back to here", "Go back");
  };
  if (row.left) return actions(button("Restore this line…", restore, { class: "primary" }));
  return actions(
    button("Go back to here…", goBack, { class: "primary" }),
    told.hides ? button("Go back and erase…", erase, { class: "danger-line" }) : null,
  );
}

function renderSteps(row, given, page) {
  const { decide } = page;
  if (isHere(row) && decide.can("undo")) {
    const action = { action: "undo", ...page.branchGiven() };
    const undo = () => decide.run(action, "Undo the last move", "Undo it");
    return actions(button("Undo the last move…", undo));
  }
  if (row.status === "pending" && decide.can("decide")) {
    const action = { action: "decide", checkpoint_id: row.name, ...given };
    const save = () =>
      decide.run({ ...action, decision: "save" }, "Save this checkpoint", "Save it");
    const skip = () =>
      decide.run({ ...action, decision: "skip" }, "Skip this checkpoint", "Skip it");
    return actions(button("Save", save, { class: "primary" }), button("Skip", skip));
  }
  return null;
}

function actions(...buttons) {
  return h("div", { class: "actions" }, buttons);
}

function renderClosed(closed, page) {
  // the record of the closeout itself only counts the others
  const told = closed.filter((one) => !(one.key ?? "").endsWith(":closeout"));
  if (!told.length) return null;
  const items = told.map((one) => {
    const [what, reason] = one.content.split("\nReason: ");
    return h(
      "li",
      {},
      button(firstLine(what, 240), () => page.openMemory(one.memoryId), { class: "link" }),
      reason ? h("p", { class: "quiet" }, `because ${firstLine(reason, 240)}`) : null,
    );
  });
  return section("What was decided and closed", {}, h("ul", { class: "plain-list" }, items));
}

function renderKnown(row, known, page) {
  const total = known.total ?? 0;
  const items = (known.results ?? []).map((one) => {
    const text = firstLine(one.title || one.content, 110);
    return h(
      "li",
      {},
      button(text, () => page.openMemory(one.memoryId), { class: "link" }),
    );
  });
  return section(
    `What was known ${isHere(row) ? "now" : "then"} (${total.toLocaleString()})`,
    {},
    h("ul", { class: "plain-list known" }, items),
    total > items.length
      ? button("All of them", () => page.openList({ at: pointOf(row) }), { class: "plain" })
      : null,
  );
}
