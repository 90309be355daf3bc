// Puts the page together: its views, the branch that is shown, and what is read anew on a change.

import { h, show, button, note, untilReleased } from "./dom.js";
import { formatCount } from "./words.js";
import { chooseTransport } from "./transport.js";
import { isSet } from "./graph.js";
import { makeDecider } from "./decide.js";
import { makeTimeline } from "./timeline.js";
import { makeMemories } from "./memories.js";
import { makeWaiting } from "./waiting.js";
import { makeCompare, makeHealth, renderProfile, renderSessions } from "./panels.js";

const TABS = [
  ["timeline", "Timeline"],
  ["memories", "Memories"],
  ["waiting", "Decide"],
  ["compare", "Compare"],
  ["profile", "Profile"],
  ["sessions", "Sessions"],
  ["health", "Health"],
];
const NEWS_MS = 60; // a write is often several
const FIRST_AGAIN_MS = 2000;

const byId = (id) => document.getElementById(id);
const transport = chooseTransport();
const panels = {};
let tab = "timeline";
let branch = ""; // the one that is shown; without one that of the session
let head = null;
let refreshing = false;
let due = null; // what is to be read anew after what is read now

const page = {
  transport,
  decide: makeDecider(transport, () => refresh({ own: true })),
  async read(name, given = {}) {
    const answer = await transport.read(name, { ...given, ...branchGiven() });
    await untilReleased();
    return answer;
  },
  branchGiven,
  rows: () => timeline.rows(),
  openMemory: (id) => {
    openTab("memories");
    return memories.open(id);
  },
  openList: (filters) => {
    openTab("memories");
    return memories.filter(filters);
  },
  tellWaiting,
};
const timeline = makeTimeline(page);
const memories = makeMemories(page);
const waiting = makeWaiting(page);
const compare = makeCompare(page);
const health = makeHealth(page);

function branchGiven() {
  return branch ? { branch } : {};
}

// ---- tabs

function buildTabs() {
  for (const [name] of TABS) {
    panels[name] = h("div", {
      role: "tabpanel",
      id: `panel-${name}`,
      "aria-labelledby": `tab-${name}`,
      hidden: true,
      class: `panel ${name}`,
    });
  }
  const tabs = TABS.map(([name, label]) =>
    button(label, () => openTab(name), {
      role: "tab",
      id: `tab-${name}`,
      "aria-controls": `panel-${name}`,
      "aria-selected": "false",
      tabindex: "-1",
    }),
  );
  show(byId("tabs"), tabs);
  show(byId("main"), Object.values(panels));
  show(panels.timeline, timeline.node);
  show(panels.memories, memories.node);
  show(panels.waiting, waiting.node);
  show(panels.compare, compare.node);
  show(panels.health, health.node);
  byId("tabs").addEventListener("keydown", moveToTab);
}

function moveToTab(event) {
  const at = TABS.findIndex(([name]) => name === tab);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
  if (to === undefined) return;
  openTab(TABS[(to + TABS.length) % TABS.length][0]);
  byId(`tab-${tab}`).focus();
  event.preventDefault();
}

function openTab(name) {
  tab = name;
  for (const [each] of TABS) {
    const chosen = each === name;
    byId(`tab-${each}`).setAttribute("aria-selected", String(chosen));
    byId(`tab-${each}`).tabIndex = chosen ? 0 : -1;
    panels[each].hidden = !chosen;
  }
  byId(`tab-${name}`).scrollIntoView({ block: "nearest", inline: "nearest" });
  if (transport.kind === "server") history.replaceState(null, "", `#${name}`);
  return loadTab();
}

// the first two are kept up to date in any case
async function loadTab() {
  const load = {
    waiting: () => Promise.all([waiting.load(), waiting.loadDoubts({ soon: true })]),
    compare: compare.load,
    profile: loadProfile,
    sessions: async () => show(panels.sessions, renderSessions(await page.read("sessions"), page)),
    health: () => health.load(head),
  }[tab];
  const panel = panels[tab];
  try {
    await load?.();
  } catch (error) {
    show(panel, note(error.message));
  }
}

async function loadProfile() {
  const [known, durable] = await Promise.all([
    page.read("profile"),
    page.read("memories", { state: "durable", limit: "100" }),
  ]);
  show(panels.profile, renderProfile(known, durable, page));
}

function tellWaiting(count) {
  const said = h("span", { class: "hidden" }, " waiting");
  show(
    byId("tab-waiting"),
    "Decide",
    count ? h("span", { class: "badge" }, count.toLocaleString(), said) : null,
  );
}

// ---- what is shown of where the project stands

async function loadHead() {
  const told = await page.read("head");
  if (told.skipped) throw new Error(told.skipped);
  head = told;
  document.title = `${head.project} · memory`;
  byId("project").textContent = head.project;
  const standing = [
    isSet(head.phase) ? `phase ${head.phase}` : "",
    head.checkpoints.at(-1)?.id ?? "no checkpoint yet",
    `${formatCount(head.memories)} on this line`,
    `${head.durable.toLocaleString()} beside it`,
    head.reads ? "read only" : "",
  ];
  byId("standing").textContent = standing.filter(Boolean).join(" · ");
  const shown = branch || head.branch;
  show(
    byId("branch"),
    head.branches.map((name) => h("option", { value: name, selected: name === shown }, name)),
  );
}

// one at a time: what comes meanwhile is read once, after it
async function refresh({ own = false } = {}) {
  due = { own: own || Boolean(due?.own) };
  if (refreshing) return;
  refreshing = true;
  while (due) {
    const now = due;
    due = null;
    await readAnew(now);
  }
  refreshing = false;
}

async function readAnew({ own }) {
  try {
    await loadHead();
    await timeline.load();
    memories.fillChoices(head.branches, timeline.rows());
    const told = waiting.load();
    if (tab === "waiting") waiting.loadDoubts({ soon: own });
    await Promise.all([memories.load({ keep: true }), memories.showChosen(), told]);
    const choosing = document.activeElement?.closest("select");
    if (!["timeline", "memories", "waiting"].includes(tab) && !choosing) await loadTab();
  } catch (error) {
    page.decide.say(error.message, null, true);
    // a page that shows nothing yet does not wait for news of others
    if (!head && transport.kind !== "file") setTimeout(() => refresh({ own }), FIRST_AGAIN_MS);
  }
}

// ---- what others write

function listen() {
  let soon = null;
  transport.listen((news) => {
    const down = news === "closed";
    byId("live").className = down ? "down" : "up";
    byId("live").textContent = down ? "not connected" : "live";
    if (down) return;
    clearTimeout(soon);
    soon = setTimeout(() => refresh(), news === "open" ? 0 : NEWS_MS);
  });
}

async function begin() {
  document.documentElement.dataset.kind = transport.kind;
  const wanted = location.hash.slice(1);
  buildTabs();
  byId("branch").disabled = transport.kind === "file";
  byId("branch").addEventListener("change", (event) => {
    branch = event.target.value;
    timeline.forget();
    refresh({ own: true });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea, select, dialog")) return;
    openTab("memories");
    memories.focus();
    event.preventDefault();
  });
  openTab("timeline");
  await refresh({ own: true });
  waiting.loadDoubts({ soon: true });
  if (TABS.some(([name]) => name === wanted) && wanted !== tab) openTab(wanted);
  document.documentElement.dataset.ready = "yes";
  listen();
}

begin();
