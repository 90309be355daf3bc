// One memory with all that is known of it, and what can be done with it.

import { h, button, chip, section } from "./dom.js";
import { formatTime, firstLine } from "./words.js";
import { renderDiff } from "./decide.js";
import { whoOf } from "./graph.js";

export const MEMORY_ROW = 54;
export const FOUND_ROW = 76; // with a line that says why it was found

export function renderMemoryRow(each) {
  const marks = [
    each.pinned ? chip("pinned", "here") : null,
    each.outdated_for ? chip("outdated for this question", "pending") : null,
    each.outdated_by && !each.outdated_for ? chip("outdated", "gone") : null,
    each.disputed_with ? chip("disputed", "pending") : null,
    each.standing ? chip(firstLine(each.standing, 40), "pending") : null,
    each.place ? chip("not trusted", "gone") : null,
  ];
  const meta = [
    each.createdAt ? formatTime(each.createdAt) : "",
    each.category,
    each.by ? `by ${each.by}` : "",
    ...(each.tags ?? []).slice(0, 4).map((tag) => `#${tag}`),
  ]
    .filter(Boolean)
    .join(" · ");
  const score =
    each.score === undefined
      ? null
      : h(
          "span",
          { class: "score", title: "How likely it is what was asked, 0 to 1" },
          each.score.toFixed(2),
        );
  return h(
    "div",
    { class: "memory-row" },
    h(
      "div",
      { class: "first" },
      score,
      chip(each.kind ?? "fact", "kind"),
      marks,
      h("strong", {}, firstLine(each.title ? `${each.title}: ${each.content}` : each.content)),
    ),
    each.why ? h("div", { class: "second" }, firstLine(each.why)) : null,
    h("div", { class: "second" }, meta),
  );
}

export function renderMemory(each, page) {
  const why = each.why ?? {};
  return h(
    "article",
    { class: "memory", "aria-labelledby": "memory-title" },
    h(
      "header",
      {},
      h("h2", { id: "memory-title", tabindex: "-1" }, each.title || firstLine(each.content, 90)),
      h(
        "p",
        { class: "chips" },
        chip(each.kind ?? "fact", "kind"),
        each.durable ? chip("durable: no backtrack hides it", "here") : null,
        each.pinned ? chip("pinned", "here") : null,
        each.phase !== undefined ? chip(`phase ${each.phase}`, "phase") : null,
        each.category ? chip(each.category) : null,
        (each.tags ?? []).map((tag) => chip(`#${tag}`)),
      ),
    ),
    each.gone ? h("p", { class: "note" }, each.gone) : null,
    each.standing ? h("p", { class: "note" }, `It may not hold here: ${each.standing}.`) : null,
    h(
      "div",
      { class: "text", tabindex: "0", role: "group", "aria-label": "What it says" },
      each.content,
    ),
    each.gone || !page ? null : renderActions(each, page),
    section("Why it is believed", {}, h("dl", { class: "facts" }, list(factsOf(each, why)))),
    (each.cited ?? []).length
      ? section(
          "What it cites of the code",
          {},
          h(
            "ul",
            { class: "plain-list" },
            each.cited.map((one) =>
              h(
                "li",
                {},
                chip(one.state, one.state === "holds" ? "here" : "gone"),
                " ",
                h("code", {}, one.place),
                one.now ? ` (now ${one.now})` : "",
              ),
            ),
          ),
        )
      : null,
    (each.words ?? []).length
      ? section("What it replaced, word by word", {}, renderDiff(each.words))
      : null,
    related("It replaced", (why.replaced ?? []).slice(1), page),
    related("Made from", why.madeFrom, page),
    related("It brings up to date", why.newerThan, page),
    related("Brought up to date by", why.outdatedBy, page),
    related("Contradicted by", why.disputedWith, page),
    related("Brought up to date, by what is asked, by", why.possible, page),
  );
}

function factsOf(each, why) {
  const origin = each.origin ?? {};
  return [
    ["Written", each.createdAt ? formatTime(each.createdAt) : ""],
    [
      "By",
      [
        why.by ?? origin.by,
        whoOf({ user: why.user ?? each.scope?.user, client: why.client ?? origin.client }),
      ]
        .filter(Boolean)
        .join(", "),
    ],
    ["Session", why.session ?? origin.session],
    [
      "Commit",
      [
        (why.commit ?? origin.commit ?? "").slice(0, 12),
        (why.gitBranch ?? origin.git_branch) ? `on ${why.gitBranch ?? origin.git_branch}` : "",
      ]
        .filter(Boolean)
        .join(" "),
    ],
    ["Branch", each.branch ?? (each.durable ? "all: it is durable" : "")],
    ["Importance", each.importance],
    ["Expires", each.expires_at ? formatTime(each.expires_at) : ""],
    ["Id", each.memoryId],
  ].filter(([, value]) => value);
}

function list(facts) {
  return facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)));
}

function related(title, records, page) {
  if (!(records ?? []).length) return null;
  return section(
    title,
    {},
    h(
      "ul",
      { class: "plain-list" },
      records.map((one) =>
        h(
          "li",
          {},
          page
            ? button(firstLine(one.content), () => page.openMemory(one.memoryId), { class: "link" })
            : firstLine(one.content),
        ),
      ),
    ),
  );
}

function renderActions(each, page) {
  const { decide } = page;
  const id = each.memoryId;
  const known = page.branchGiven();
  const offered = [
    [
      "correct",
      "Correct",
      async () => {
        const given = await decide.askText(
          "Correct this memory",
          [
            ["content", "The whole new text", each.content, 6],
            ["title", "Title (may be empty)", each.title ?? ""],
            ["reason", "Why the old text is wrong (may be empty)", ""],
          ],
          "Look at the change",
        );
        if (given)
          decide.run(
            { action: "correct", memory_id: id, ...given, ...known },
            "Correct this memory",
            "Replace it",
          );
      },
    ],
    [
      "pin",
      each.pinned ? "Unpin" : "Pin",
      () =>
        decide.run(
          { action: "pin", memory_id: id, pinned: !each.pinned, ...known },
          each.pinned ? "Unpin this memory" : "Pin this memory",
          each.pinned ? "Unpin it" : "Pin it",
        ),
    ],
    [
      "forget",
      "Hide",
      async () => {
        const given = await decide.askText(
          "Hide this memory from here on",
          [["reason", "Why it is wrong (may be empty)", ""]],
          "Go on",
        );
        if (given)
          decide.run(
            { action: "forget", memory_id: id, mode: "hide", ...given, ...known },
            "Hide this memory",
            "Hide it",
          );
      },
    ],
    [
      "forget",
      "Erase…",
      () =>
        decide.run(
          { action: "forget", memory_id: id, mode: "erase", ...known },
          "Erase this memory",
          "Erase it",
          { danger: true },
        ),
    ],
  ];
  return h(
    "div",
    { class: "actions", role: "group", "aria-label": "What can be done" },
    offered
      .filter(([name]) => decide.can(name))
      .map(([, label, act]) =>
        button(label, act, { class: label === "Erase…" ? "danger-line" : "" }),
      ),
  );
}
