// Builds nodes. What a memory says becomes text, never markup.

export const SVG_SPACE = "http://www.w3.org/2000/svg";

export function h(tag, given = {}, ...children) {
  return fill(document.createElement(tag), given, children);
}

export function draw(tag, given = {}, ...children) {
  return fill(document.createElementNS(SVG_SPACE, tag), given, children);
}

function fill(node, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else node.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export function show(node, ...children) {
  // what others write draws it anew: the keyboard stays on what says the same
  const held = node.contains(document.activeElement) ? document.activeElement : null;
  const named = held && nameIn(held);
  node.replaceChildren(
    ...children
      .flat(Infinity)
      .filter((each) => each !== undefined && each !== null && each !== false),
  );
  if (!held || held === document.activeElement) return;
  if (held.isConnected) held.focus({ preventScroll: true });
  else
    [...node.querySelectorAll(held.tagName)]
      .find((each) => nameIn(each) === named)
      ?.focus({ preventScroll: true });
}

function nameIn(node) {
  // in a list of cards the same button stands on each
  return [
    node.id,
    node.getAttribute("aria-label"),
    node.textContent,
    node.closest("li")?.textContent,
  ].join("\n");
}

// nothing is drawn anew between the press and the release of a click: it would meet nothing
let released = null;
let tellReleased = null;
document.addEventListener(
  "pointerdown",
  () => {
    released ??= new Promise((resume) => (tellReleased = resume));
  },
  true,
);
for (const ends of ["pointerup", "pointercancel", "blur"])
  window.addEventListener(
    ends,
    () => {
      const tell = tellReleased;
      released = tellReleased = null;
      if (tell) setTimeout(tell); // the click comes first
    },
    true,
  );

export function untilReleased() {
  return released;
}

export function button(label, act, given = {}) {
  return h("button", { type: "button", onclick: act, ...given }, label);
}

export function section(title, given = {}, ...children) {
  return h("section", given, h("h3", {}, title), ...children);
}

export function chip(text, kind = "") {
  return h("span", { class: `chip ${kind}` }, text);
}

export function note(text) {
  return h("p", { class: "note" }, text);
}

export function card(title, text, ...more) {
  return h(
    "li",
    { class: "card" },
    h(
      "div",
      {},
      title ? h("p", { class: "card-title" }, title) : null,
      h("p", { class: "text-short" }, text),
    ),
    h("div", { class: "actions" }, more),
  );
}

export function cards(title, about, items) {
  if (!items.length) return null;
  return section(
    `${title} (${items.length})`,
    {},
    h("p", { class: "quiet" }, about),
    h("ul", { class: "cards" }, items),
  );
}
