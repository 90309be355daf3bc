// The list of memories with its search and filters, and the chosen one beside it.

import { h, show, note } from "./dom.js";
import { formatCount } from "./words.js";
import { makeList } from "./list.js";
import { nameOf } from "./graph.js";
import { FOUND_ROW, MEMORY_ROW, renderMemory, renderMemoryRow } from "./memory.js";

const PAGE_ROWS = 100;
const TYPING_MS = 120;
const NO_FILTERS = {
  query: "",
  kind: "",
  category: "",
  tag: "",
  written: "",
  state: "",
  at: "head",
};
const KINDS = [
  ["", "any"],
  ...["fact", "decision", "preference", "convention", "pattern", "identity", "lesson", "event"],
  ...["episode", "summary", "closeout", "resource"],
].map((kind) => (Array.isArray(kind) ? kind : [kind, kind]));
const STATES = [
  ["", "holds"],
  ["timeline", "on the timeline"],
  ["durable", "durable"],
  ["gone", "replaced, hidden, expired"],
];

export function makeMemories(page) {
  let filters = { ...NO_FILTERS };
  let chosen = null; // the id of the memory beside the list
  let typing = null;
  let turn = 0;
  const inputs = {};

  const list = makeList({
    label: "Memories",
    rowHeight: MEMORY_ROW,
    render: renderMemoryRow,
    pick: (each) => open(each.memoryId, true),
    load: readMissing,
    empty: "No memory matches.",
  });
  const detail = h(
    "div",
    { class: "details", "aria-live": "polite" },
    h("p", { class: "quiet" }, "Choose a memory."),
  );
  const told = h("p", { class: "quiet count", role: "status" });
  const title = h("h2", { class: "hidden" }, "Memories");
  const node = h(
    "div",
    { class: "columns" },
    h("div", { class: "column" }, title, buildSearch(), told, list.node),
    h("div", { class: "column side" }, detail),
  );

  function buildSearch() {
    const field = (name, label, input, kind = "") => {
      input.id = `by-${name}`;
      inputs[name] = input;
      return h("div", { class: `field ${kind}` }, h("label", { for: input.id }, label), input);
    };
    const select = (name, label, options) =>
      field(name, label, h("select", { onchange: () => load() }, listOptions(options)));
    const text = (name, label) =>
      field(name, label, h("input", { type: "text", oninput: loadSoon }));
    const query = h("input", {
      type: "search",
      placeholder: "Ask as you would a person",
      oninput: loadSoon,
      autocomplete: "off",
    });
    const submit = (event) => {
      event.preventDefault();
      load();
    };
    return h(
      "form",
      { class: "search", role: "search", onsubmit: submit },
      field("query", "Search", query, "wide"),
      select("kind", "Kind", KINDS),
      select("state", "State", STATES),
      text("category", "Category"),
      text("tag", "Tag"),
      select("written", "Written on", [["", "any"]]),
      select("at", "As of", [["head", "now"]]),
    );
  }

  // what there is to choose from changes as others write; what was chosen stays
  function fillChoices(branches, rows) {
    const points = rows.filter(
      (row) => ["checkpoint", "line", "branch"].includes(row.kind) && !row.here,
    );
    const name = (row) => `${row.kind === "line" ? "left " : ""}${nameOf(row)}`;
    const choices = {
      written: [["", "any"], ...branches.map((branch) => [branch, branch])],
      at: [["head", "now"], ...points.map((row) => [row.name, name(row)])],
    };
    for (const [field, options] of Object.entries(choices)) {
      const kept = inputs[field].value || filters[field];
      show(inputs[field], listOptions(options));
      inputs[field].value = kept;
    }
  }

  function loadSoon() {
    clearTimeout(typing);
    typing = setTimeout(() => load(), TYPING_MS);
  }

  function readRows(offset) {
    const given = Object.fromEntries(Object.entries(filters).filter(([, value]) => value));
    return page.read("memories", { ...given, offset: String(offset), limit: String(PAGE_ROWS) });
  }

  // the rows from `wanted` on; those before it in the same page are filled in as well
  async function readMissing(wanted) {
    const answer = await readRows(Math.floor(wanted / PAGE_ROWS) * PAGE_ROWS);
    const rows = answer.results ?? [];
    rows.forEach((each, i) => {
      if (answer.offset + i < wanted) list.items()[answer.offset + i] = each;
    });
    return rows.slice(wanted - answer.offset);
  }

  async function load({ keep = false } = {}) {
    for (const [name, input] of Object.entries(inputs)) filters[name] = input.value.trim();
    const mine = ++turn;
    try {
      const answer = await readRows(0);
      if (mine !== turn) return;
      const height = filters.query ? FOUND_ROW : MEMORY_ROW;
      list.set(answer.results ?? [], answer.total ?? 0, keep, height);
      told.textContent = describeFound(answer, filters.query);
    } catch (error) {
      if (mine !== turn) return;
      list.set([], 0);
      told.textContent = error.message;
    }
  }

  function filter(given) {
    filters = { ...NO_FILTERS, ...given };
    for (const [name, input] of Object.entries(inputs)) input.value = filters[name];
    return load();
  }

  async function open(id, fromList = false) {
    chosen = id;
    await showChosen();
    if (fromList && !matchMedia("(max-width: 60rem)").matches) return;
    detail.scrollIntoView({ block: "start" });
    document.getElementById("memory-title")?.focus({ preventScroll: true });
  }

  async function showChosen() {
    const id = chosen;
    if (!id) return;
    let shown;
    try {
      shown = renderMemory(await page.read("memory", { id }), page);
    } catch (error) {
      shown = note(error.message);
    }
    if (id === chosen) show(detail, shown);
  }

  return { node, load, filter, open, showChosen, fillChoices, focus: () => inputs.query.focus() };
}

function listOptions(options) {
  return options.map(([value, text]) => h("option", { value }, text));
}

function describeFound(answer, query) {
  const order = query && answer.mode ? `best first (${answer.mode})` : "newest first";
  const count = `${formatCount(answer.total ?? 0)}, ${order}.`;
  return [count, answer.message, answer.degraded, answer.skipped].filter(Boolean).join(" ");
}
