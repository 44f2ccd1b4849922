// What is shown, kept as a file: tables as CSV, charts as CSV, SVG and PNG.
import type { JSX, RefObject } from "preact";
import { useState } from "preact/hooks";
import { type Cell, csvOf, fileName } from "./csv.ts";
import { canvasPen, draw, type Figure, svgPen } from "./figure.ts";

const WIDTH = 960;
const HEIGHT = 420;
const FINE = 2; // of a PNG

function give(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Named after the view, as its title says it. */
const named = (what: string, ending: string): string =>
  fileName(`${document.title.replace(/ · headway$/, "")} ${what}`, ending);

function cellOf(cell: HTMLTableCellElement): Cell {
  const exact = cell.querySelector("data, time");
  if (exact instanceof HTMLDataElement) return exact.value;
  if (exact instanceof HTMLTimeElement) return exact.dateTime;
  const text = (cell.innerText || cell.getAttribute("aria-label") || "").trim();
  return text === "–" ? "" : text.replace(/\s+/g, " ");
}

const rowsOf = (table: HTMLTableElement): Cell[][] =>
  [...table.rows].map((row) => [...row.cells].map(cellOf));

/** For the table within `box`; `rows`: where that has only some of what there is. */
export function SaveTable(props: {
  label: string;
  box: RefObject<HTMLElement | null>;
  rows?: (() => Promise<Cell[][]>) | undefined;
}): JSX.Element {
  const { label, box, rows } = props;
  const [busy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    const table = box.current?.querySelector("table");
    if (table === null || table === undefined || busy) return;
    setBusy(true);
    try {
      const all = rows === undefined ? rowsOf(table) : await rows();
      give(new Blob([csvOf(all)], { type: "text/csv" }), named(label, "csv"));
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      type="button"
      class="save"
      aria-label={`Save "${label}" as CSV`}
      aria-busy={busy || undefined}
      onClick={() => void save()}
    >
      {busy ? "CSV …" : "CSV"}
    </button>
  );
}

/** For a chart: `figure` is asked for when somebody wants it. */
export function SaveChart(props: { label: string; figure: () => Figure }): JSX.Element {
  const { label, figure } = props;
  const csv = (): void => {
    const { xs, along, lines } = figure();
    const head = [along.name, ...lines.map((line) => line.label)];
    const rows = xs.map((x, i): Cell[] => [
      along.exact(x),
      ...lines.map((line) => (line.shown ?? line.values)[i] ?? null),
    ]);
    give(new Blob([csvOf([head, ...rows])], { type: "text/csv" }), named(label, "csv"));
  };
  const svg = (): void => {
    const pen = svgPen(WIDTH, HEIGHT);
    draw(figure(), pen);
    give(new Blob([pen.svg()], { type: "image/svg+xml" }), named(label, "svg"));
  };
  const png = (): void => {
    const canvas = document.createElement("canvas");
    canvas.width = WIDTH * FINE;
    canvas.height = HEIGHT * FINE;
    const context = canvas.getContext("2d");
    if (context === null) return;
    draw(figure(), canvasPen(context, WIDTH, HEIGHT, FINE));
    canvas.toBlob((blob) => {
      if (blob !== null) give(blob, named(label, "png"));
    }, "image/png");
  };
  const kinds: [string, () => void][] = [
    ["PNG", png],
    ["SVG", svg],
    ["CSV", csv],
  ];
  return (
    <span class="saves">
      {kinds.map(([kind, save]) => (
        <button
          key={kind}
          type="button"
          class="save"
          aria-label={`Save "${label}" as ${kind}`}
          onClick={save}
        >
          {kind}
        </button>
      ))}
    </span>
  );
}
