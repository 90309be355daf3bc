// Puts the page together: what is shown, what was chosen, and what is read again when it changed.

import { h, show, button, section } from "./dom.js";
import { formatTime, formatCount, firstLine } from "./words.js";
import { chooseTransport } from "./transport.js";
import { makeList } from "./list.js";
import { GRAPH_ROW, prepareRows, renderRow, nameOf } from "./graph.js";
import { makeDecider } from "./decide.js";
import { MEMORY_ROW, renderMemory, renderMemoryRow } from "./memory.js";
import { countWaiting, renderCompare, renderDurable, renderHealth, renderProfile, renderSessions, renderWaiting } from "./panels.js";

const TABS = [["timeline", "Timeline"], ["memories", "Memories"], ["waiting", "Decide"], ["compare", "Compare"], ["profile", "Profile"], ["sessions", "Sessions"], ["health", "Health"]];
const PAGE_ROWS = 100;
const TYPING_MS = 120;
const KINDS = ["fact", "decision", "preference", "convention", "pattern", "identity", "lesson", "event", "episode", "summary", "closeout", "resource"];

const byId = (id) => document.getElementById(id);
const transport = chooseTransport();
const state = { tab: "timeline", branch: "", head: null, rows: [], limit: 200, point: null, memory: null, doubts: {}, filters: { query: "", kind: "", category: "", tag: "", written: "", state: "", at: "head" }, turn: 0 };
const panels = {};
const decide = makeDecider(transport, () => refresh());
const page = {
  decide, transport,
  read: (name, given = {}) => transport.read(name, { ...given, ...branchGiven() }),
  rows: () => state.rows,
  branchGiven,
  openMemory,
  openList: (filters) => { Object.assign(state.filters, { query: "", kind: "", category: "", tag: "", written: "", state: "", at: "head" }, filters); writeFilters(); openTab("memories"); loadList(); },
};

function branchGiven() { return state.branch ? { branch: state.branch } : {}; }

// ---- tabs

function buildTabs() {
  const tabs = TABS.map(([name, label]) => button(label, () => openTab(name), { role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, "aria-selected": "false", tabindex: "-1" }));
  show(byId("tabs"), tabs);
  byId("tabs").addEventListener("keydown", (event) => {
    const at = TABS.findIndex(([name]) => name === state.tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (to === undefined) return;
    openTab(TABS[(to + TABS.length) % TABS.length][0]);
    byId(`tab-${state.tab}`).focus();
    event.preventDefault();
  });
  for (const [name, label] of TABS) panels[name] = h("div", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, hidden: true, class: `panel ${name}` });
  show(byId("main"), Object.values(panels));
}

function openTab(name) {
  state.tab = name;
  for (const [each] of TABS) {
    const chosen = each === name;
    byId(`tab-${each}`).setAttribute("aria-selected", String(chosen));
    byId(`tab-${each}`).tabIndex = chosen ? 0 : -1;
    panels[each].hidden = !chosen;
  }
  if (transport.kind === "server") history.replaceState(null, "", `#${name}`);
  loadTab(name);
}

async function loadTab(name) {
  const load = { waiting: loadWaiting, compare: async () => show(panels.compare, renderCompare(page)), profile: loadProfile, sessions: loadSessions, health: loadHealth }[name];
  if (load) await guard(panels[name], load);
}

async function guard(node, work) {
  try { await work(); } catch (error) { show(node, h("p", { class: "note" }, error.message)); }
}

// ---- the timeline

const details = h("div", { class: "details", "aria-live": "polite" });
const durable = h("div", { class: "beside" });
const slider = h("input", { type: "range", id: "then", min: "0", max: "0", value: "0", step: "1" });
const then = h("output", { for: "then", id: "then-text" });
const graph = makeList({ label: "The timeline, newest first", rowHeight: GRAPH_ROW, render: renderRow, pick: (row) => choosePoint(row), empty: "Nothing was written yet." });

function buildTimeline() {
  const step = (by) => { const to = Number(slider.value) + by; if (to >= 0 && to <= Number(slider.max)) { slider.value = to; slide(); } };
  slider.addEventListener("input", slide);
  show(panels.timeline, h("div", { class: "columns" },
    h("div", { class: "column" }, h("h2", { class: "hidden" }, "The timeline"),
      h("div", { class: "time" }, h("label", { for: "then" }, "What was known then"), button("‹", () => step(-1), { "aria-label": "Earlier" }), slider, button("›", () => step(1), { "aria-label": "Later" }), then),
      h("div", { class: "planes" }, graph.node, durable)),
    h("div", { class: "column side" }, details)));
}

function listTimes() {
  // the points to slide along: what holds, oldest first, then now
  return state.rows.filter((row) => (row.kind === "checkpoint" && !row.left) || (row.kind === "branch" && row.here)).slice().reverse();
}

function slide() {
  const row = listTimes()[Number(slider.value)];
  if (!row) return;
  graph.choose(state.rows.indexOf(row), true);
  choosePoint(row);
}

function tellTime(row) {
  const times = listTimes();
  slider.max = String(Math.max(0, times.length - 1));
  const at = times.indexOf(row);
  if (at >= 0) slider.value = String(at);
  const text = !row || (row.kind === "branch" && row.here) ? "now" : `${nameOf(row)}${row.at ? `, ${formatTime(row.at)}` : ""}`;
  then.textContent = text;
  slider.setAttribute("aria-valuetext", text);
}

async function choosePoint(row) {
  if (row.kind === "older") { state.limit = 0; await loadTimeline(); return; }
  state.point = row.key;
  tellTime(row);
  const turn = ++state.turn;
  const given = row.branch ? { branch: row.branch } : branchGiven();
  try {
    const [told, known] = await Promise.all([
      row.kind === "checkpoint" || row.kind === "line" ? transport.read("point", { point: row.name, ...given }) : null,
      transport.kind === "file" && !row.here ? null : transport.read("memories", { at: pointOf(row), limit: "50", ...branchGiven() }),
    ]);
    if (turn === state.turn) show(details, renderPoint(row, told, known, given));
  } catch (error) {
    if (turn === state.turn) show(details, h("p", { class: "note" }, error.message));
  }
}

function pointOf(row) { return row.kind === "branch" && row.here ? "head" : nameOf(row); }

function renderPoint(row, told, known, given) {
  const closed = (told?.closed ?? []).filter((one) => !(one.kind === "closeout" && (one.key ?? "").endsWith(":closeout")));
  const restores = row.left;
  const go = (mode) => async () => {
    const lesson = restores || mode === "forget" ? {} : await decide.askText("Go back to here", [["lesson", "What was tried, and why it failed (kept as a lesson; may be empty)", "", 3]], "Look what it hides");
    if (lesson) decide.run({ action: "backtrack", to: row.name, mode, ...lesson, ...given }, restores ? "Restore this line" : mode === "forget" ? "Go back, and erase what came after" : "Go back to here", restores ? "Restore it" : mode === "forget" ? "Erase it" : "Go back", { danger: mode === "forget" });
  };
  const hides = told?.hides ?? 0;
  return h("article", { class: "memory" },
    h("header", {}, h("h2", {}, row.kind === "branch" && row.here ? "You are here" : nameOf(row)), h("p", { class: "quiet" }, [row.kind === "checkpoint" ? "checkpoint" : row.kind === "line" ? "left line" : row.kind, row.at ? formatTime(row.at) : "", row.client, row.session ? `session ${firstLine(row.session, 20)}` : "", row.commit ? `commit ${row.commit.slice(0, 8)}${row.gitBranch ? ` on ${row.gitBranch}` : ""}` : ""].filter(Boolean).join(" · "))),
    told?.summary ? h("p", { class: "text" }, told.summary) : null,
    told?.left ? h("p", { class: "note" }, told.left) : null,
    told?.skipped ? h("p", { class: "note" }, told.skipped) : null,
    told?.effect ? section(restores ? "What restoring it would do" : "What going back to it would do", {}, h("p", { class: "said" }, told.effect),
      decide.can("backtrack") ? h("div", { class: "actions" }, button(restores ? "Restore this line…" : "Go back to here…", go("continue"), { class: "primary" }),
        restores || !hides ? null : button("Go back and erase…", go("forget"), { class: "danger-line" })) : null) : null,
    row.kind === "branch" && row.here && decide.can("undo") ? h("div", { class: "actions" }, button("Undo the last move…", () => decide.run({ action: "undo", ...branchGiven() }, "Undo the last move", "Undo it"))) : null,
    row.status === "pending" && decide.can("decide") ? h("div", { class: "actions" }, button("Save this checkpoint", () => decide.run({ action: "decide", checkpoint_id: row.name, decision: "save", ...given }, "Save this checkpoint", "Save it"), { class: "primary" })) : null,
    closed.length ? section("What was decided and closed", {}, h("ul", { class: "plain-list" }, closed.map((one) => {
      const [what, reason] = one.content.split("\nReason: ");
      return h("li", {}, button(firstLine(what, 240), () => openMemory(one.memoryId), { class: "link" }), reason ? h("p", { class: "quiet" }, `because ${firstLine(reason, 240)}`) : null);
    }))) : null,
    known ? section(`What was known ${row.kind === "branch" && row.here ? "now" : "then"} (${(known.total ?? 0).toLocaleString()})`, {},
      h("ul", { class: "plain-list known" }, (known.results ?? []).map((one) => h("li", {}, button(firstLine(one.title || one.content, 110), () => openMemory(one.memoryId), { class: "link" })))),
      known.total > 50 ? button("All of them", () => page.openList({ at: pointOf(row) }), { class: "plain" }) : null) : null);
}

async function loadTimeline() {
  const [log, beside] = await Promise.all([page.read("timeline", { limit: String(state.limit) }), page.read("memories", { state: "durable", limit: "12" })]);
  if (log.skipped) { show(details, h("p", { class: "note" }, log.skipped)); return; }
  state.rows = prepareRows(log.nodes);
  graph.set(state.rows, state.rows.length, true);
  show(durable, renderDurable(beside, page));
  const at = Math.max(0, state.rows.findIndex((row) => row.key === state.point));
  if (state.rows.length) { graph.choose(at, true); await choosePoint(state.rows[at]); }
}

// ---- the list of memories

const found = makeList({ label: "Memories", rowHeight: MEMORY_ROW, render: renderMemoryRow, pick: (each) => openMemory(each.memoryId, true), load: (offset) => readList(Math.floor(offset / PAGE_ROWS) * PAGE_ROWS).then((each) => spread(each, offset)), empty: "No memory matches." });
const detail = h("div", { class: "details", "aria-live": "polite" }, h("p", { class: "quiet" }, "Choose a memory."));
const told = h("p", { class: "quiet count", role: "status" });
const inputs = {};
let typing = null, asked = 0;

function buildMemories() {
  const select = (name, label, options) => {
    inputs[name] = h("select", { id: `by-${name}`, onchange: loadList }, options.map(([value, text]) => h("option", { value }, text)));
    return h("div", { class: "field" }, h("label", { for: `by-${name}` }, label), inputs[name]);
  };
  const text = (name, label) => {
    inputs[name] = h("input", { id: `by-${name}`, type: "text", oninput: loadSoon });
    return h("div", { class: "field" }, h("label", { for: `by-${name}` }, label), inputs[name]);
  };
  inputs.query = h("input", { id: "by-query", type: "search", placeholder: "Ask as you would a person", oninput: loadSoon, autocomplete: "off" });
  show(panels.memories, h("div", { class: "columns" },
    h("div", { class: "column" }, h("h2", { class: "hidden" }, "Memories"),
      h("form", { class: "search", role: "search", onsubmit: (event) => { event.preventDefault(); loadList(); } },
        h("div", { class: "field wide" }, h("label", { for: "by-query" }, "Search"), inputs.query),
        select("kind", "Kind", [["", "any"], ...KINDS.map((kind) => [kind, kind])]),
        select("state", "State", [["", "holds"], ["timeline", "on the timeline"], ["durable", "durable"], ["gone", "replaced, hidden, expired"]]),
        text("category", "Category"), text("tag", "Tag"),
        select("written", "Written on", [["", "any branch"]]), select("at", "As of", [["head", "now"]])),
      told, found.node),
    h("div", { class: "column side" }, detail)));
}

function writeFilters() { for (const [name, input] of Object.entries(inputs)) input.value = state.filters[name] ?? ""; }

function fillChoices() {
  const now = h("option", { value: "head" }, "now");
  const keep = { written: inputs.written.value, at: inputs.at.value || state.filters.at };
  show(inputs.written, h("option", { value: "" }, "any branch"), (state.head?.branches ?? []).map((name) => h("option", { value: name }, name)));
  show(inputs.at, now, state.rows.filter((row) => ["checkpoint", "line", "branch"].includes(row.kind) && !row.here).map((row) => h("option", { value: row.name }, `${row.kind === "line" ? "left " : ""}${nameOf(row)}`)));
  inputs.written.value = keep.written;
  inputs.at.value = keep.at;
}

function loadSoon() {
  clearTimeout(typing);
  typing = setTimeout(loadList, TYPING_MS);
}

function readList(offset) {
  const given = Object.fromEntries(Object.entries(state.filters).filter(([, value]) => value));
  return page.read("memories", { ...given, offset: String(offset), limit: String(PAGE_ROWS) });
}

function spread(answer, wanted) {
  const rows = answer.results ?? [];
  rows.forEach((each, i) => { if (answer.offset + i !== wanted + i) found.items()[answer.offset + i] = each; });
  return rows.slice(wanted - answer.offset);
}

async function loadList(keep = false) {
  for (const [name, input] of Object.entries(inputs)) state.filters[name] = input.value.trim();
  const turn = ++asked;
  try {
    const answer = await readList(0);
    if (turn !== asked) return;
    found.set(answer.results ?? [], answer.total ?? 0, keep === true);
    const by = state.filters.query && answer.mode ? `, best first (${answer.mode})` : ", newest first";
    told.textContent = [`${formatCount(answer.total ?? 0)}${by}.`, answer.message, answer.degraded, answer.skipped].filter(Boolean).join(" ");
  } catch (error) {
    if (turn === asked) { found.set([], 0); told.textContent = error.message; }
  }
}

async function openMemory(id, quiet = false) {
  state.memory = id;
  if (state.tab !== "memories") openTab("memories");
  await showMemory();
  if (!quiet || matchMedia("(max-width: 60rem)").matches) { detail.scrollIntoView({ block: "start" }); byId("memory-title")?.focus({ preventScroll: true }); }
}

async function showMemory() {
  const id = state.memory;
  if (!id) return;
  try {
    const each = await page.read("memory", { id });
    if (id === state.memory) show(detail, renderMemory(each, page));
  } catch (error) {
    if (id === state.memory) show(detail, h("p", { class: "note" }, error.message));
  }
}

// ---- the other views

async function readWaiting(all) {
  // doubts are looked for in all records: only where they are shown, and at the start
  const [each, found] = await Promise.all([page.read("waiting"), all ? page.read("doubts") : null]);
  if (found) state.doubts = { disputes: found.disputes ?? [], stale: found.stale ?? [] };
  const whole = { ...each, ...state.doubts };
  tellWaiting(whole);
  return whole;
}

async function loadWaiting() {
  const each = await readWaiting(true);
  show(panels.waiting, each.skipped ? h("p", { class: "note" }, each.skipped) : renderWaiting(each, page));
}

function tellWaiting(each) {
  const count = each.skipped ? 0 : countWaiting(each);
  show(byId("tab-waiting"), "Decide", count ? h("span", { class: "badge" }, count, h("span", { class: "hidden" }, " waiting")) : null);
}

async function loadProfile() {
  const [each, beside] = await Promise.all([page.read("profile"), page.read("memories", { state: "durable", limit: "100" })]);
  show(panels.profile, renderProfile(each, beside, page));
}

async function loadSessions() { show(panels.sessions, renderSessions(await page.read("sessions"), page)); }

async function loadHealth() {
  const figures = await page.read("figures");
  show(panels.health, renderHealth(state.head, figures, page));
}

// ---- all of it

async function loadHead() {
  const head = await page.read("head");
  if (head.skipped) throw new Error(head.skipped);
  state.head = head;
  document.title = `${head.project} · memory`;
  byId("project").textContent = head.project;
  const at = head.checkpoints.length ? head.checkpoints[head.checkpoints.length - 1].id : "no checkpoint yet";
  byId("standing").textContent = [head.phase === null || head.phase === undefined ? "" : `phase ${head.phase}`, at, `${formatCount(head.memories)} on this line`, `${head.durable.toLocaleString()} beside it`, head.reads ? "read only" : ""].filter(Boolean).join(" · ");
  show(byId("branch"), head.branches.map((name) => h("option", { value: name, selected: name === (state.branch || head.branch) }, name)));
}

async function refresh() {
  try {
    await loadHead();
    await loadTimeline();
    fillChoices();
    await Promise.all([loadList(true), showMemory(), readWaiting(false)]);
    if (!["timeline", "memories"].includes(state.tab) && !document.activeElement?.closest("select")) await loadTab(state.tab);
  } catch (error) {
    decide.say(error.message, null, true);
  }
}

function listen() {
  let waiting = null, busy = false, again = false;
  const run = async () => {
    waiting = null;
    if (busy) { again = true; return; }
    busy = true;
    await refresh();
    busy = false;
    if (again) { again = false; run(); }
  };
  transport.listen((news) => {
    const live = byId("live");
    live.className = news === "closed" ? "down" : "up";
    live.textContent = news === "closed" ? "not connected" : "live";
    if (news !== "closed") { clearTimeout(waiting); waiting = setTimeout(run, news === "open" ? 0 : 60); }
  });
}

async function begin() {
  document.documentElement.dataset.kind = transport.kind;
  buildTabs();
  buildTimeline();
  buildMemories();
  byId("branch").addEventListener("change", (event) => { state.branch = event.target.value; state.point = null; refresh(); });
  byId("branch").disabled = transport.kind === "file";
  const wanted = location.hash.slice(1);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, textarea, select, dialog")) { openTab("memories"); inputs.query.focus(); event.preventDefault(); }
  });
  try {
    await loadHead();
    openTab("timeline");
    await loadTimeline();
    fillChoices();
    await loadList();
    readWaiting(true).catch(() => {});
    if (TABS.some(([name]) => name === wanted) && wanted !== "timeline") openTab(wanted);
  } catch (error) {
    show(byId("main"), h("p", { class: "note" }, error.message));
    return;
  }
  document.documentElement.dataset.ready = "yes";
  listen();
}

begin();
