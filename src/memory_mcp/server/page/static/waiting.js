// What waits for the user's word, and the answers that can be given.

import { h, show, button, section, note, card, cards } from "./dom.js";
import { formatTime, firstLine } from "./words.js";

const GROUPS = ["pending", "reviews", "suggestions", "disputes", "stale"];
const PAUSE_MS = 5000; // between two comparisons while others write

export function makeWaiting(page) {
  const node = h("div", { class: "page-width" });
  let told = null;
  let failure = ""; // why it could not be read; what was told before may be answered by now
  let doubts = {}; // found by comparing all records: only at the start, and where they are shown
  let turn = 0;
  let doubting = false;
  let doubtsDue = false;
  let calm = null;

  // an answer that was overtaken by a later one is out of date
  async function load() {
    const mine = ++turn;
    try {
      const found = await page.read("waiting");
      if (mine !== turn) return;
      told = found;
      failure = "";
    } catch (error) {
      if (mine !== turn) return;
      failure = error.message;
    }
    draw();
  }

  // comparing is dear: never twice at once, and after the news of others not before a pause. What
  // is known stays meanwhile
  async function loadDoubts({ soon = false } = {}) {
    if (!soon) {
      calm ??= setTimeout(() => loadDoubts({ soon: true }), PAUSE_MS);
      return;
    }
    clearTimeout(calm);
    calm = null;
    doubtsDue = true;
    if (doubting) return;
    doubting = true;
    try {
      while (doubtsDue) {
        doubtsDue = false;
        await readDoubts();
      }
    } catch (error) {
      page.decide.say(error.message, null, true);
    } finally {
      doubting = false;
    }
    draw();
  }

  // those of all memories that were looked at before, and at least of the newest
  async function readDoubts() {
    const [stale, disputes] = await Promise.all([page.read("stale"), page.read("disputes")]);
    let found = { ...stale, ...disputes };
    while (!doubtsDue && found.lookedAt < Math.min(doubts.lookedAt ?? 0, found.total)) {
      found = await readFurther(found);
    }
    if (!doubtsDue) doubts = found;
  }

  async function readFurther(before) {
    const more = await page.read("disputes", { offset: String(before.lookedAt) });
    const keyOf = (pair) => pair.memories.map((one) => one.memoryId).join();
    const known = new Set(before.disputes.map(keyOf));
    const fresh = more.disputes.filter((pair) => !known.has(keyOf(pair)));
    return { ...before, ...more, disputes: [...before.disputes, ...fresh] };
  }

  async function lookFurther() {
    try {
      doubts = await readFurther(doubts);
    } catch (error) {
      page.decide.say(error.message, null, true);
    }
    draw();
  }

  function draw() {
    if (failure) {
      show(node, note(failure));
      return;
    }
    if (!told) return;
    if (told.skipped) {
      show(node, note(told.skipped));
      page.tellWaiting(0);
      return;
    }
    const all = { ...told, ...doubts };
    page.tellWaiting(countWaiting(all));
    show(node, renderWaiting(all, page, lookFurther));
  }

  return { node, load, loadDoubts };
}

function countWaiting(all) {
  const counts = GROUPS.map((name) => (all[name] ?? []).length);
  return counts.reduce((sum, count) => sum + count, all.trust ? 1 : 0);
}

function renderWaiting(all, page, lookFurther) {
  const answers = makeAnswers(page);
  const groups = [
    renderPending(all.pending, page, answers),
    renderTrust(all.trust, answers),
    renderReviews(all.reviews, answers),
    renderSuggestions(all.suggestions, answers),
    renderDisputes(all.disputes ?? [], page, answers),
    renderStale(all.stale ?? [], page, answers),
  ];
  const nothing = h("p", { class: "quiet" }, "Nothing waits. What an agent asks you appears here.");
  return [
    h("h2", {}, "What waits for your word"),
    groups.some(Boolean) ? groups : nothing,
    all.warnings.map(note),
    renderReach(all, page, lookFurther),
  ];
}

// a button for each answer that can be given here
function makeAnswers({ decide, branchGiven }) {
  return (label, action, title, verb, given = {}) => {
    if (!decide.can(action.action)) return null;
    return button(label, () => decide.run({ ...action, ...branchGiven() }, title, verb), given);
  };
}

function renderPending(pending, page, answer) {
  const title = "Checkpoints that wait for your approval";
  const about = "A backtrack can lead to them once they are saved.";
  const primary = { class: "primary" };
  return cards(
    title,
    about,
    pending.map((one) => {
      const action = { action: "decide", checkpoint_id: one.id };
      const save = { ...action, decision: "save" };
      const skip = { ...action, decision: "skip" };
      return card(
        one.id,
        one.summary,
        answer("Save", save, "Save this checkpoint", "Save it", primary),
        page.decide.can("decide") ? button("Edit…", () => edit(one, action, page)) : null,
        answer("Skip", skip, "Skip this checkpoint", "Skip it"),
      );
    }),
  );
}

async function edit(one, action, { decide, branchGiven }) {
  const fields = [["summary", "Summary", one.summary, 5]];
  const given = await decide.askText("Edit the summary", fields, "Go on");
  const whole = { ...action, decision: "edit", ...given, ...branchGiven() };
  if (given) decide.run(whole, "Save it with this summary", "Save it");
}

function renderTrust(trust, answer) {
  if (!trust) return null;
  return section(
    "What came with this repository",
    {},
    h("p", { class: "said" }, trust.message),
    h(
      "div",
      { class: "actions" },
      answer(
        "Trust this project",
        { action: "trust", trusted: true },
        "Trust this project",
        "Trust it",
        { class: "primary" },
      ),
    ),
  );
}

function renderReviews(reviews, answer) {
  const items = reviews.map((one) => {
    const action = { action: "review", memory_id: one.memoryId };
    const title = "what another member wrote";
    return card(
      one.scope?.user,
      one.content,
      answer("Keep", { ...action, keep: true }, `Keep ${title}`, "Keep it", { class: "primary" }),
      answer("Drop", { ...action, keep: false }, `Drop ${title}`, "Drop it"),
    );
  });
  return cards("Written by other members", "In none of your contexts before you agree.", items);
}

function renderSuggestions(suggestions, answer) {
  const items = suggestions.map((one) => {
    const action = { action: "suggestion", statement: one.statement };
    const keep = { ...action, keep: true };
    return card(
      one.category,
      one.statement,
      answer("Keep", keep, "Keep what you said", "Keep it", { class: "primary" }),
      answer("Drop", { ...action, keep: false }, "Drop what you said", "Drop it"),
    );
  });
  return cards("What you said", "Kept if you agree.", items);
}

function renderDisputes(disputes, page, answer) {
  const title = "Memories that contradict another";
  const about = "Say which of the two is right: the other is hidden, and can be brought back.";
  const relations = {
    outdated: "Outdated by a newer one",
    disputed: "Nothing says which is right",
  };
  const items = disputes.map(({ relation, memories }) =>
    h(
      "li",
      { class: "card" },
      h("p", { class: "card-title" }, relations[relation]),
      h(
        "div",
        { class: "pair" },
        memories.map((one, i) => renderSide(one, memories[1 - i], page, answer)),
      ),
    ),
  );
  return cards(title, about, items);
}

function renderSide(one, other, page, answer) {
  const hide = {
    action: "forget",
    memory_id: other.memoryId,
    mode: "hide",
    reason: "The other memory about it is right.",
  };
  const named = { "aria-label": `This one is right: ${firstLine(one.content, 60)}` };
  return h(
    "div",
    {},
    h("p", { class: "text-short" }, one.content),
    h("p", { class: "quiet" }, formatTime(one.createdAt)),
    h(
      "div",
      { class: "actions" },
      answer("This one is right", hide, "Hide the other memory", "Hide it", named),
      renderLook(one, page),
    ),
  );
}

function renderStale(stale, page, answer) {
  const items = stale.map((one) => {
    const holds = { action: "cite_again", memory_id: one.memoryId };
    const reason = "The code that it rested on has changed.";
    const hide = { action: "forget", memory_id: one.memoryId, mode: "hide", reason };
    return card(
      one.stale,
      one.content,
      answer("Still true", holds, "Still true", "It is true", { class: "primary" }),
      answer("No longer true", hide, "Hide this memory", "Hide it"),
      renderLook(one, page),
    );
  });
  return cards("Memories whose code has changed", "What they cite is not as it was.", items);
}

function renderLook(one, page) {
  return button("Look at it", () => page.openMemory(one.memoryId), {
    class: "plain",
    "aria-label": `Look at it: ${firstLine(one.content, 60)}`,
  });
}

function renderReach({ lookedAt = 0, total = 0 }, page, lookFurther) {
  if (lookedAt >= total) return null;
  const count = (number) => number.toLocaleString();
  return h(
    "div",
    { class: "reach" },
    h(
      "p",
      { class: "quiet" },
      `The newest ${count(lookedAt)} of ${count(total)} memories were compared with all others.`,
    ),
    page.transport.kind === "file" ? null : button("Compare older ones too", lookFurther),
  );
}
