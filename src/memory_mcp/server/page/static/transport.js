// Where the page reads and acts: the server of this machine, the file it stands in, or the client
// that shows it. All of them have: read(name, arguments), act(action), listen(heard), can(action).

const OURS = { "X-Memory-Page": "1" };
const AGAIN_MS = 1000;
const REFUSED = [401, 403]; // it stays so until the page is opened anew

export class Refusal extends Error {}

export function chooseTransport() {
  const held = document.getElementById("data");
  if (!held) return makeServerTransport();
  const data = JSON.parse(held.textContent);
  return data.app ? makeClientTransport() : makeFileTransport(data);
}

export function makeServerTransport() {
  async function ask(path, options = {}) {
    let answer;
    try {
      answer = await fetch(path, {
        ...options,
        headers: { ...OURS, ...options.headers },
        credentials: "same-origin",
        redirect: "error",
      });
    } catch {
      throw new Refusal(
        "The server of this page does not answer. Start it again with `memory-mcp view`.",
      );
    }
    if (!(answer.headers.get("content-type") ?? "").startsWith("application/json"))
      throw new Refusal(await answer.text());
    const fields = await answer.json();
    if (!answer.ok) throw new Refusal(fields.message);
    return fields;
  }

  async function follow(heard) {
    for (;;) {
      try {
        const answer = await fetch("api/events", { headers: OURS, credentials: "same-origin" });
        if (REFUSED.includes(answer.status)) return heard("closed"); // each read says why
        if (answer.ok) {
          heard("open");
          const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
          for (let part = await reader.read(); !part.done; part = await reader.read()) {
            if (part.value.includes("event: change")) heard("change");
          }
        }
      } catch {
        /* it is tried again */
      }
      heard("closed");
      await new Promise((resume) => setTimeout(resume, AGAIN_MS));
    }
  }

  return {
    kind: "server",
    read: (name, given = {}) => ask(`api/${name}?${new URLSearchParams(given)}`),
    act: (action) =>
      ask("api/act", {
        method: "POST",
        body: JSON.stringify(action),
        headers: { "Content-Type": "application/json" },
      }),
    listen: follow,
    can: () => true,
  };
}

export function makeFileTransport(data) {
  const addressOf = (name, given) =>
    [
      name,
      ...Object.keys(given)
        .sort()
        .map((key) => `${key}=${given[key]}`),
    ].join("&");

  function list(given) {
    // in a file nothing ranks: all words must be there
    const words = (given.query ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const found = data.memories.filter((each) => {
      const text =
        `${each.title ?? ""} ${each.content} ${(each.tags ?? []).join(" ")}`.toLowerCase();
      return (
        words.every((word) => text.includes(word)) &&
        (!given.kind || each.kind === given.kind) &&
        (!given.category || each.category === given.category) &&
        (!given.tag || (each.tags ?? []).includes(given.tag)) &&
        (!given.written || each.branch === given.written) &&
        (!given.state || (given.state === "durable") === !each.segment)
      );
    });
    const offset = Number(given.offset ?? 0);
    return {
      results: found.slice(offset, offset + Number(given.limit ?? 100)),
      total: found.length,
      offset,
    };
  }

  return {
    kind: "file",
    async read(name, given = {}) {
      const { branch: _, ...rest } = given;
      if (name === "memories" && (rest.at ?? "head") === "head" && rest.state !== "gone")
        return list(rest);
      const found = data.answers[addressOf(name, name === "timeline" ? { limit: "0" } : rest)];
      if (found) return found;
      const row = name === "memory" && data.memories.find((each) => each.memoryId === rest.id);
      if (row) return { ...row, why: {}, cited: [] };
      throw new Refusal("This is not in the file: open the page with `memory-mcp view`.");
    },
    act: async () => {
      throw new Refusal("A file can change nothing: open the page with `memory-mcp view`.");
    },
    listen: async () => {},
    can: () => false,
  };
}

const TOOLS = {
  backtrack: (each) => [
    "backtrack",
    {
      to: each.to,
      mode: each.confirm ? (each.mode ?? "continue") : "",
      lesson: each.lesson ?? "",
      confirm: each.confirm ?? "",
    },
  ],
  correct: (each) => [
    "update_memory",
    {
      memory_id: each.memory_id,
      content: each.content,
      title: each.title ?? "",
      reason: each.reason ?? "",
    },
  ],
  forget: (each) => [
    "forget_memory",
    { memory_id: each.memory_id, mode: each.mode ?? "hide", reason: each.reason ?? "" },
  ],
  decide: (each) => [
    "checkpoint",
    { pending: each.checkpoint_id, decision: each.decision, summary: each.summary ?? "" },
  ],
};
const SURE = "sure:";
const ASKED = {
  correct: "Replace this memory with the new text?",
  forget: "Hide this memory from here on?",
  decide: "Answer this checkpoint?",
};

export function makeClientTransport() {
  // inside a client: JSON-RPC with the window around this one, which speaks with the server
  let last = 0;
  let own = null; // the branch that the session is on: its tools act there and nowhere else
  let ended = false;
  let heard = () => {};
  const waiting = new Map();

  window.addEventListener("message", (event) => {
    if (event.source !== window.parent || event.data?.jsonrpc !== "2.0") return;
    const { id, method, result, error } = event.data;
    if (method === "ui/resource-teardown") ended = true;
    if (method === "ui/notifications/tool-result") heard("change");
    else if (method === "ui/notifications/host-context-changed") useTheme(event.data.params?.theme);
    else if (method && id !== undefined) reply({ jsonrpc: "2.0", id, result: {} });
    else if (waiting.has(id)) {
      const { resolve, reject } = waiting.get(id);
      waiting.delete(id);
      if (error) reject(new Refusal(error.message));
      else resolve(result);
    }
  });

  function reply(message) {
    window.parent.postMessage(message, "*");
  }

  function request(method, params) {
    const id = ++last;
    reply({ jsonrpc: "2.0", id, method, params });
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  }

  function useTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
  }

  const ready = request("ui/initialize", {
    protocolVersion: "2026-01-26",
    appInfo: { name: "memory-timeline", version: "1" },
    appCapabilities: {},
  }).then((answer) => {
    useTheme(answer?.hostContext?.theme);
    reply({ jsonrpc: "2.0", method: "ui/notifications/initialized", params: {} });
    const tell = () =>
      reply({
        jsonrpc: "2.0",
        method: "ui/notifications/size-changed",
        params: {
          width: document.body.scrollWidth,
          height: Math.min(720, document.body.scrollHeight),
        },
      });
    new ResizeObserver(tell).observe(document.body);
  });

  async function read(name, given = {}) {
    await ready;
    const uri = `memory://page/${name}?${new URLSearchParams(given)}`;
    const answer = await request("resources/read", { uri });
    const fields = JSON.parse(answer.contents[0].text);
    if (name === "head" && !given.branch) own = fields.branch;
    return fields;
  }

  // no host hands on what a server notifies of: each answer to this read waits for news
  async function follow(told) {
    heard = told;
    told("open");
    let mark = "";
    while (!ended) {
      await becomeVisible();
      try {
        const news = await read("news", { after: mark });
        if (mark && news.mark !== mark) told("change");
        mark = news.mark;
      } catch {
        told("closed");
        mark = "missed"; // what was written meanwhile is read then
        await new Promise((resume) => setTimeout(resume, AGAIN_MS));
      }
    }
  }

  return {
    kind: "client",
    read,
    async act(action) {
      await ready;
      if (action.branch && action.branch !== own) {
        throw new Refusal(
          `This session is on branch ${own}, and its tools act there. Switch it to ` +
            `${action.branch}, or open the page with \`memory-mcp view\`.`,
        );
      }
      if (!action.confirm && ASKED[action.action])
        return { status: "undecided", message: ASKED[action.action], confirm: "yes" };
      const erases = action.mode === "erase" || action.mode === "forget";
      if (erases && action.confirm && !action.confirm.startsWith(SURE))
        return {
          status: "undecided",
          last: true,
          message: "This cannot be undone. Erase for good?",
          confirm: SURE + action.confirm,
        };
      const [name, given] = TOOLS[action.action]({
        ...action,
        confirm: (action.confirm ?? "").replace(SURE, ""),
      });
      const answer = await request("tools/call", {
        name,
        arguments: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "")),
      });
      const fields = answer.structuredContent ?? {
        success: !answer.isError,
        message: (answer.content ?? []).map((each) => each.text ?? "").join("\n"),
      };
      heard("change");
      return { ...fields, undo: makeWayBack(action, fields) };
    },
    listen: follow,
    can: (action) => action in TOOLS,
  };
}

// the action that takes back what a tool did, where one does
function makeWayBack(action, fields) {
  if (fields.line) return { action: "backtrack", to: fields.line };
  if (action.action !== "decide" || fields.status === "refused") return undefined;
  const { confirm: _, ...again } = action;
  if (action.decision === "reopen") return action.again;
  return { action: "decide", checkpoint_id: action.checkpoint_id, decision: "reopen", again };
}

function becomeVisible() {
  if (!document.hidden) return null;
  return new Promise((resume) => {
    document.addEventListener("visibilitychange", resume, { once: true });
  });
}
