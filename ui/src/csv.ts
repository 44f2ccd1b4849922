// Tables and charts as comma-separated values (RFC 4180), with what is exact in place of what is
// shown. Pure.

export type Cell = string | number | null;

/** Lines that spreadsheets take for what they are: a text is never a formula. */
export function csvOf(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => row.map(field).join(",") + "\r\n").join("");
}

function field(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const formula = /^[=+\-@\t\r]/.test(cell) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(cell);
  const text = formula ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** What a name of a file may hold: the rest becomes `-`. */
export const fileName = (name: string, ending: string): string =>
  `${name
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9._]+/g, "-")
    .replace(/^[-.]+|-+$/g, "")
    .slice(0, 100) || "headway"}.${ending}`;
