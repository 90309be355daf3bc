// Asks before anything is changed, in the words of the tools, and offers the way back.

import { h, show, button } from "./dom.js";

export function makeDecider(transport, changed) {
  const dialog = document.getElementById("dialog");
  const toast = document.getElementById("toast");

  function ask(title, body, choices) {
    show(toast); // what was said before is no answer to this
    return new Promise((resolve) => {
      let answer = null;
      const close = (value) => {
        answer = value;
        dialog.close();
      };
      const made = choices.map(([label, value, kind]) =>
        button(label, () => close(value), { class: kind }),
      );
      show(
        dialog,
        h("h2", { id: "dialog-title" }, title),
        h("div", { class: "dialog-body" }, body),
        h(
          "div",
          { class: "choices" },
          button("Cancel", () => close(null), { class: "plain" }),
          made,
        ),
      );
      dialog.onclose = () => resolve(answer);
      dialog.showModal();
      (dialog.querySelector("textarea, input") ?? made[made.length - 1] ?? dialog).focus();
    });
  }

  async function run(action, title, verb, { danger = false } = {}) {
    let asked = { ...action };
    for (;;) {
      let answer;
      show(toast);
      try {
        answer = await transport.act(asked);
      } catch (error) {
        say(error.message, null, true);
        return false;
      }
      if (answer.status === "undecided" || answer.status === "changed") {
        const body = [h("p", { class: "said" }, answer.message)];
        if (answer.words) body.push(renderDiff(answer.words));
        const grave = danger || answer.last || answer.erases > 0;
        if (
          !(await ask(answer.last ? "Are you sure?" : title, body, [
            [answer.last ? "Erase for good" : verb, true, grave ? "danger" : "primary"],
          ]))
        ) {
          say("Nothing was changed.");
          return false;
        }
        asked = { ...asked, confirm: answer.confirm };
        continue;
      }
      say(answer.message, answer.undo, answer.success === false);
      changed();
      return answer.success !== false;
    }
  }

  function say(message, undo = null, failed = false) {
    const parts = [h("p", {}, message)];
    if (undo) parts.push(button("Undo", () => run({ ...undo }, "Undo", "Undo"), { class: "undo" }));
    parts.push(
      button("Close", () => show(toast), { class: "plain", "aria-label": "Close this message" }),
    );
    show(toast, h("div", { class: `toast ${failed ? "failed" : ""}` }, parts));
  }

  async function askText(title, fields, verb) {
    const inputs = fields.map(([name, label, value, rows]) => {
      const id = `field-${name}`;
      const input = rows ? h("textarea", { id, rows }) : h("input", { id, type: "text" });
      input.value = value ?? "";
      return [name, input, h("div", { class: "field" }, h("label", { for: id }, label), input)];
    });
    const answer = await ask(
      title,
      inputs.map((each) => each[2]),
      [[verb, true, "primary"]],
    );
    return answer ? Object.fromEntries(inputs.map(([name, input]) => [name, input.value])) : null;
  }

  return { run, say, ask, askText, can: transport.can };
}

export function renderDiff(words) {
  const parts = words.map(([kind, text]) =>
    h({ same: "span", removed: "del", added: "ins" }[kind], {}, text),
  );
  return h(
    "div",
    { class: "diff", role: "group", "aria-label": "What changed, word by word" },
    parts,
  );
}
