// Charts and tables as files.
import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf, fileName } from "../src/csv.ts";
import { draw, type Figure, roundValues, svgPen } from "../src/figure.ts";

test("values that spreadsheets read back", () => {
  assert.equal(
    csvOf([
      ["a", 'say "x", y', "two\nlines"],
      [1.5, null, 9007199254740993n.toString()],
    ]),
    'a,"say ""x"", y","two\nlines"\r\n1.5,,9007199254740993\r\n',
  );
  // A run may be called as it likes.
  assert.equal(csvOf([["=1+1", "@x", "-5", "-x", "+1.5e3"]]), "'=1+1,'@x,-5,'-x,+1.5e3\r\n");
  assert.equal(fileName("llama/7b: Über  time", "csv"), "llama-7b-U-ber-time.csv");
  assert.equal(fileName("../..", "svg"), "headway.svg");
});

test("an axis has round values", () => {
  assert.deepEqual(roundValues(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(roundValues(0.13, 0.58, 5), [0.2, 0.3, 0.4, 0.5]);
  assert.deepEqual(roundValues(-30, 70, 4), [0, 50]);
  assert.deepEqual(roundValues(3, 3, 5), [3]);
});

const figure: Figure = {
  title: "Lost <b> & found",
  xs: [0, 1, 2, 3],
  along: { name: "time", exact: String },
  lines: [
    { label: "a", color: "red", values: [0.1, 0.2, null, 0.1], filled: true },
    { label: "b", color: "rgb(0, 0, 255)", values: [0.3, 0.3, null, 0.4], filled: true },
    { label: "so far", color: "gray", values: [0.1, 0.5, 0.5, 0.9], dashed: true },
  ],
  ticks: [
    { at: 1, label: "one" },
    { at: 9, label: "beyond" },
  ],
  axis: (value) => `${value * 100} %`,
  range: [0, 1],
  colors: { paper: "white", ink: "black", muted: "gray", grid: "silver" },
};

test("a figure has its lines, areas, axes and keys", () => {
  const pen = svgPen(600, 300);
  draw(figure, pen);
  const svg = pen.svg();
  assert.ok(svg.includes("Lost &#60;b&#62; &#38; found"));
  // Two stretches of two areas, the ground; of each area a line on top, and one dashed.
  assert.equal(svg.match(/fill-opacity="0.75"/g)?.length, 4);
  assert.equal(svg.match(/stroke-dasharray/g)?.length, 2);
  for (const word of [">one<", ">20 %<", ">so far<", ">a<"]) assert.ok(svg.includes(word), word);
  assert.ok(!svg.includes("beyond") && !/NaN|Infinity|undefined/.test(svg));
  // An area lies on the one below it: from (0, 0.3) to (1, 0.3), back on (1, 0.2) and (0, 0.1).
  const area = /"M([\d.]+) ([\d.]+)L[^Z]*L([\d.]+) ([\d.]+)Z" fill="rgb\(0, 0, 255\)"/;
  const corners = area.exec(svg);
  const [, x0, y0, x3, y3] = (corners ?? []).map(Number);
  assert.equal(x0, x3);
  assert.ok((y0 ?? 0) < (y3 ?? 0));
});

test("nothing to show is no fault", () => {
  const pen = svgPen(300, 200);
  const empty = { label: "a", color: "red", values: [null, null] };
  const { range: _, ...free } = figure;
  draw({ ...free, xs: [], lines: [] }, pen);
  draw({ ...free, xs: [5, 5], lines: [empty, { ...empty, values: [2, 2] }] }, pen);
  assert.ok(!/NaN|Infinity/.test(pen.svg()));
});
