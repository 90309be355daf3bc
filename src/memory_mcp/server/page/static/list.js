// A list of any length: only the rows in view are nodes. One stop of the Tab key, arrows within.

import { h } from "./dom.js";

const SPARE_ROWS = 8;

export function makeList({ label, rowHeight, render, pick, load, empty = "Nothing here." }) {
  let items = [];
  let total = 0;
  let at = -1;
  let loading = null;
  let drawn = new Map();
  const inner = h("div", { class: "rows", role: "presentation" });
  const none = h("p", { class: "quiet empty", hidden: true }, empty);
  const box = h(
    "div",
    {
      class: "list",
      role: "listbox",
      tabindex: "0",
      "aria-label": label,
      onkeydown: move,
      onclick: click,
      onscroll: paint,
    },
    inner,
  );
  const name = `list-${Math.random().toString(36).slice(2, 9)}`;

  function set(found, count = found.length, keep = false, height = rowHeight) {
    if (height !== rowHeight) drawn = new Map(); // each row stands elsewhere
    rowHeight = height;
    const held = keep ? items[at]?.memoryId : null;
    items = found;
    total = count;
    const stands = held ? items.findIndex((each) => each?.memoryId === held) : -1;
    if (stands >= 0) at = stands; // what others wrote is above it
    if (!keep) {
      at = -1;
      box.scrollTop = 0;
    }
    if (at >= total) at = total - 1;
    inner.style.height = `${total * rowHeight}px`;
    none.hidden = total > 0;
    box.hidden = total === 0;
    paint();
  }

  function paint() {
    const first = Math.max(0, Math.floor(box.scrollTop / rowHeight) - SPARE_ROWS);
    const end = Math.min(
      total,
      Math.ceil((box.scrollTop + (box.clientHeight || 600)) / rowHeight) + SPARE_ROWS,
    );
    const rows = [];
    const kept = new Map();
    for (let i = first; i < end; i++) {
      // a row that says the same stays the same node: nobody clicks into nothing while others write
      const says = JSON.stringify([items[i], i === at, total]);
      const before = drawn.get(i);
      const row =
        before?.says === says
          ? before.row
          : h(
              "div",
              {
                class: "row",
                role: "option",
                id: `${name}-${i}`,
                "data-at": i,
                "aria-selected": String(i === at),
                "aria-setsize": total,
                "aria-posinset": i + 1,
              },
              items[i] ? render(items[i], i) : h("span", { class: "quiet" }, "…"),
            );
      kept.set(i, { says, row });
      rows.push(row);
      if (row === before?.row) continue;
      row.style.transform = `translateY(${i * rowHeight}px)`;
      row.style.height = `${rowHeight}px`;
    }
    drawn = kept;
    if (rows.length !== inner.children.length || rows.some((row, i) => inner.children[i] !== row))
      inner.replaceChildren(...rows);
    if (at >= first && at < end) box.setAttribute("aria-activedescendant", `${name}-${at}`);
    else box.removeAttribute("aria-activedescendant");
    fetchMissing(first, end);
  }

  async function fetchMissing(first, end) {
    if (!load || loading) return;
    for (let i = first; i < end; i++) {
      if (items[i]) continue;
      const asked = items;
      loading = load(i);
      try {
        const found = await loading;
        if (asked === items)
          found.forEach((each, j) => {
            items[i + j] = each;
          });
        if (!found.length) return;
      } catch {
        return;
      } finally {
        loading = null;
      }
      paint();
      return;
    }
  }

  function choose(i, quiet = false) {
    if (i < 0 || i >= total) return;
    at = i;
    const top = i * rowHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + rowHeight > box.scrollTop + box.clientHeight)
      box.scrollTop = top + rowHeight - box.clientHeight;
    paint();
    if (!quiet && items[i]) pick(items[i], i);
  }

  function move(event) {
    const page = Math.max(1, Math.floor(box.clientHeight / rowHeight) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, j: 1, k: -1 };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Home") choose(0);
    else if (event.key === "End") choose(total - 1);
    else if (event.key in steps) choose(Math.min(total - 1, Math.max(0, at + steps[event.key])));
    else if (event.key === "Enter" && at >= 0) choose(at);
    else return;
    event.preventDefault();
  }

  function click(event) {
    const row = event.target.closest(".row");
    if (row) choose(Number(row.dataset.at));
  }

  new ResizeObserver(paint).observe(box);
  return {
    node: h("div", { class: "listing" }, box, none),
    set,
    choose,
    focus: () => box.focus(),
    count: () => total,
    items: () => items,
  };
}
