// Words of the page: times, counts, first lines.

const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const NUMBER = new Intl.NumberFormat();

export function formatTime(at) {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? "" : WHEN.format(time);
}

export function formatCount(count, one = "memory", many = "memories") {
  return `${NUMBER.format(count)} ${count === 1 ? one : many}`;
}

export function firstLine(text, most = 160) {
  const line = String(text ?? "")
    .replace("\nReason: ", " — ")
    .trim()
    .split(/\s+/)
    .join(" ");
  const signs = Array.from(line.slice(0, most * 2));
  return signs.length > most ? `${signs.slice(0, most).join("")}…` : line;
}
