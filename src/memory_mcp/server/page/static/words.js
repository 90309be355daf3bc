// Words of the page: times, counts, and what two texts do not have in common.

const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const NUMBER = new Intl.NumberFormat();
const TOKENS_COMPARED_MAX = 3000;

export function formatTime(at) {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? "" : WHEN.format(time);
}

export function formatCount(count, one = "memory", many = "memories") {
  return `${NUMBER.format(count)} ${count === 1 ? one : many}`;
}

export function firstLine(text, most = 160) {
  const line = String(text ?? "").trim().split(/\s+/).join(" ");
  const signs = Array.from(line.slice(0, most * 2));
  return signs.length > most ? `${signs.slice(0, most).join("")}…` : line;
}

export function compareWords(before, after) {
  // the longest row of words that both have, then what is only in one of them
  const a = before.split(/(\s+)/), b = after.split(/(\s+)/);
  if (a.length * b.length > TOKENS_COMPARED_MAX ** 2) return [["gone", before], ["come", after]];
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i * width + j] = a[i] === b[j]
        ? best[(i + 1) * width + j + 1] + 1
        : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const parts = [];
  const add = (kind, text) => {
    const last = parts[parts.length - 1];
    if (last && last[0] === kind) last[1] += text;
    else parts.push([kind, text]);
  };
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { add("same", a[i]); i++; j++; }
    else if (i < a.length && (j === b.length || best[(i + 1) * width + j] >= best[i * width + j + 1])) add("gone", a[i++]);
    else add("come", b[j++]);
  }
  return parts;
}
