// The views that are only read: two points compared, who you are, sessions, health.

import { h, draw, show, button, chip, section, note, card } from "./dom.js";
import { formatTime, formatCount, firstLine } from "./words.js";
import { renderDiff } from "./decide.js";
import { nameOf } from "./graph.js";

export function makeCompare(page) {
  const out = h("div", { "aria-live": "polite" });
  const a = h("select", { id: "compare-a", onchange: compare });
  const b = h("select", { id: "compare-b", onchange: compare });
  let turn = 0;

  // the points change as others write; the two that were chosen stay
  function load() {
    const names = page.rows().filter((row) => ["branch", "checkpoint", "line"].includes(row.kind));
    const options = [
      ["head", "now, on this branch"],
      ...names.map((row) => [
        row.name,
        `${row.kind === "line" ? "left line" : row.kind}: ${nameOf(row)}${row.summary ? ` — ${firstLine(row.summary, 60)}` : ""}`,
      ]),
      ["start", "start: before the first memory"],
    ];
    const last = names.find((row) => row.kind === "checkpoint" && row.status === "valid");
    for (const [select, first] of [
      [a, last ? last.name : "start"],
      [b, "head"],
    ]) {
      const kept = options.some(([value]) => value === select.value) ? select.value : first;
      show(
        select,
        options.map(([value, text]) => h("option", { value }, text)),
      );
      select.value = kept;
    }
    return compare();
  }

  const list = (title, records, count) =>
    section(
      `${title} (${count.toLocaleString()})`,
      {},
      records.length < count ? h("p", { class: "quiet" }, `The newest ${records.length}.`) : null,
      records.length
        ? h(
            "ul",
            { class: "plain-list" },
            records.map((one) =>
              h(
                "li",
                {},
                chip(one.kind, "kind"),
                " ",
                button(firstLine(one.content), () => page.openMemory(one.memoryId), {
                  class: "link",
                }),
              ),
            ),
          )
        : h("p", { class: "quiet" }, "None."),
    );
  async function compare() {
    const mine = ++turn;
    try {
      const found = await page.read("diff", { a: a.value, b: b.value });
      if (mine !== turn) return;
      show(
        out,
        h("p", { class: "quiet" }, `${formatCount(found.same)} at both.`),
        list("Only at the first", found.onlyA, found.counts[0]),
        list("Only at the second", found.onlyB, found.counts[1]),
        section(
          `Changed (${found.counts[2].toLocaleString()})`,
          {},
          found.changed.length
            ? found.changed.map((pair) => renderDiff(pair.words))
            : h("p", { class: "quiet" }, "None."),
        ),
      );
    } catch (error) {
      if (mine === turn) show(out, h("p", { class: "note" }, error.message));
    }
  }
  const node = h(
    "div",
    { class: "page-width" },
    h("h2", {}, "Two points, compared"),
    h(
      "div",
      { class: "filters" },
      h("label", { for: "compare-a" }, "First"),
      a,
      h("label", { for: "compare-b" }, "Second"),
      b,
    ),
    out,
  );
  return { node, load };
}

export function renderProfile(each, durable, page) {
  return h(
    "div",
    { class: "page-width" },
    h("h2", {}, "Who you are"),
    each.facts.length
      ? [
          h("p", { class: "lead" }, each.line),
          h(
            "dl",
            { class: "facts" },
            each.facts.map((one) =>
              h(
                "div",
                {},
                h("dt", {}, one.field.replaceAll("_", " ")),
                h(
                  "dd",
                  {},
                  button(one.value, () => page.openMemory(one.memoryId), { class: "link" }),
                ),
              ),
            ),
          ),
        ]
      : h(
          "p",
          { class: "quiet" },
          "Nothing is known of you yet. What you say of yourself is kept here, field by field.",
        ),
    renderDurable(durable, page),
  );
}

export function renderDurable(durable, page) {
  const shown = durable.results ?? [];
  return section(
    `Beside the timeline (${durable.total ?? 0})`,
    { class: "durable", id: "durable" },
    h("p", { class: "quiet" }, "Preferences, conventions, lessons: no backtrack hides them."),
    h(
      "ul",
      { class: "plain-list" },
      shown.map((one) =>
        h(
          "li",
          {},
          chip(one.kind, "kind"),
          " ",
          button(firstLine(one.title || one.content), () => page.openMemory(one.memoryId), {
            class: "link",
          }),
        ),
      ),
    ),
    durable.total > shown.length
      ? button(`All ${formatCount(durable.total)}`, () => page.openList({ state: "durable" }), {
          class: "plain",
        })
      : null,
  );
}

export function renderSessions(each, page) {
  return h(
    "div",
    { class: "page-width" },
    h("h2", {}, "Sessions"),
    section(
      `Nudges that wait (${each.nudges.length})`,
      {},
      each.nudges.length
        ? h(
            "ul",
            { class: "cards" },
            each.nudges.map((one) =>
              card(`priority ${one.priority}${one.by ? `, by ${one.by}` : ""}`, one.text),
            ),
          )
        : h(
            "p",
            { class: "quiet" },
            each.place ? `None. Programs leave them in ${each.place}.` : "None.",
          ),
    ),
    section(
      `Episodes and what sessions handed on (${each.total})`,
      {},
      each.episodes.length
        ? h(
            "ul",
            { class: "cards" },
            each.episodes.map((one) =>
              card(
                `${one.title ? `${one.title} · ` : ""}${formatTime(one.createdAt)}`,
                firstLine(one.content, 500),
                button("Look at it", () => page.openMemory(one.memoryId)),
              ),
            ),
          )
        : h("p", { class: "quiet" }, "No session has told of itself yet."),
    ),
  );
}

export function makeHealth(page) {
  const out = h("div", { "aria-live": "polite" });
  const check = button("Check everything now", async () => {
    show(out, h("p", { class: "quiet" }, "The doctor is looking…"));
    try {
      const found = await page.read("health");
      show(
        out,
        h(
          "p",
          {},
          found.findings.length
            ? `${found.findings.length} findings.`
            : "Everything is as it must be.",
        ),
        h(
          "ul",
          { class: "plain-list" },
          found.findings.map((one) =>
            h(
              "li",
              {},
              chip(one.severity, one.severity === "must" ? "gone" : "pending"),
              ` ${one.what} ${one.remedy}`,
            ),
          ),
        ),
        h("p", { class: "quiet" }, `Search: ${found.search}. ${found.proof}`),
      );
    } catch (error) {
      show(out, h("p", { class: "note" }, error.message));
    }
  });
  const node = h("div", { class: "page-width numbers" });
  // what the doctor found stays while the numbers change
  async function load(head) {
    const figures = await page.read("figures");
    show(node, h("h2", {}, "Health and numbers"), renderNumbers(head, figures, page, [check, out]));
  }
  return { node, load };
}

function renderNumbers(head, figures, page, checks) {
  const cloud = head.cloud;
  return [
    section(
      "Checks",
      {},
      page.transport.kind === "file"
        ? h("p", { class: "quiet" }, "A file can check nothing: `memory-mcp doctor` does.")
        : [
            h(
              "p",
              { class: "quiet" },
              "The doctor checks every rule of files and index. It mends nothing here.",
            ),
            checks,
          ],
    ),
    section(
      "Where memories rest",
      {},
      h(
        "dl",
        { class: "facts" },
        [
          ["Provider", nameProvider(head)],
          ...(cloud
            ? [
                ["Waiting to be sent", cloud.pending],
                ["Being confirmed", cloud.checking],
                ["Known to the cloud", cloud.delivered],
                ["Refused by it", cloud.refused],
                ["Trouble", cloud.trouble || "none"],
              ]
            : []),
          ["On this line", formatCount(head.memories)],
          ["Beside it", formatCount(head.durable)],
        ].map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
      ),
    ),
    section("Memories over time", {}, drawDays(figures.days)),
    section(
      `The opening of a session: ${figures.tokens} of ${figures.budget} tokens`,
      {},
      drawBars(
        figures.sections.map((one) => [one.name, one.tokens]),
        "tokens",
      ),
    ),
    section(
      "By kind",
      {},
      drawBars(
        Object.entries(figures.kinds).sort((a, b) => b[1] - a[1]),
        "memories",
      ),
    ),
  ];
}

function nameProvider({ database, cloud }) {
  if (database) return `PostgreSQL, ${database}`;
  return cloud ? "files, mirrored to Supermemory" : "files of this machine";
}

function drawBars(pairs, unit) {
  const most = Math.max(1, ...pairs.map((each) => each[1]));
  return h(
    "table",
    { class: "bars" },
    h("caption", { class: "hidden" }, `By ${unit}`),
    h(
      "tbody",
      {},
      pairs.map(([name, value]) => {
        const bar = h("div", { class: "bar" });
        bar.style.width = `${(100 * value) / most}%`;
        return h(
          "tr",
          {},
          h("th", { scope: "row" }, name),
          h("td", {}, bar),
          h("td", { class: "number" }, value.toLocaleString()),
        );
      }),
    ),
  );
}

function drawDays(days) {
  if (!days.length) return h("p", { class: "quiet" }, "No memory yet.");
  const width = 640,
    height = 120,
    first = Date.parse(days[0][0]),
    span = Math.max(1, Date.parse(days[days.length - 1][0]) - first);
  let sum = 0;
  const total = days.reduce((all, each) => all + each[1], 0);
  const points = days.map(([day, count]) => {
    sum += count;
    return [
      8 + ((width - 16) * (Date.parse(day) - first)) / span,
      height - 8 - ((height - 16) * sum) / total,
    ];
  });
  const path =
    points
      .map(([x, y], i) =>
        i ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M8 ${height - 8}H${x.toFixed(1)}V${y.toFixed(1)}`,
      )
      .join("") + `H${width - 8}`;
  return h(
    "figure",
    {},
    draw(
      "svg",
      {
        class: "days",
        viewBox: `0 0 ${width} ${height}`,
        role: "img",
        "aria-label": `${total} memories that hold, from ${days[0][0]} to ${days[days.length - 1][0]}`,
      },
      draw("path", { class: "area", d: `${path}V${height - 8}H8Z` }),
      draw("path", { class: "rise", d: path }),
    ),
    h(
      "figcaption",
      { class: "quiet" },
      `${days[0][0]} to ${days[days.length - 1][0]}: ${formatCount(total)}, by the day they were written`,
    ),
  );
}
