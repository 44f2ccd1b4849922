// Time axes, windows of time, and lanes of a timeline.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  at,
  type Exact,
  type Lane,
  LEVELS,
  type Mixed,
  pictureOf,
  stretchesOf,
  together,
} from "../src/timeline/lanes.ts";
import {
  clamp,
  LEAST_NS,
  neighbour,
  pan,
  reveal,
  withMargin,
  zoom,
} from "../src/timeline/window.ts";
import { ticksOf } from "../src/time_scale.ts";

process.env["TZ"] = "Europe/Berlin"; // which puts clocks forward and back
const ns = (text: string): bigint => BigInt(Date.parse(text)) * 1_000_000n;
const labels = (from: string, to: string, width = 1000): string[] =>
  ticksOf(ns(from), ns(to), width, 90).map((tick) => tick.label);

test("ticks are round times on the reader's clock", () => {
  assert.deepEqual(labels("2026-11-17T00:00:00+01:00", "2026-11-18T00:00:00+01:00"), [
    "Nov 17", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00", "21:00", "Nov 18",
  ]); // prettier-ignore
  assert.deepEqual(labels("2026-11-17T10:00:00+01:00", "2026-11-17T10:00:30+01:00", 700), [
    "10:00:00", "10:00:05", "10:00:10", "10:00:15", "10:00:20", "10:00:25", "10:00:30",
  ]); // prettier-ignore
  assert.deepEqual(labels("2026-10-28T00:00:00+01:00", "2026-12-05T00:00:00+01:00"), [
    "Nov 1", "Nov 6", "Nov 11", "Nov 16", "Nov 21", "Nov 26", "Dec 1",
  ]); // prettier-ignore
  assert.deepEqual(labels("2026-01-01T00:00:00+01:00", "2028-01-01T00:00:00+01:00"), [
    "Jan 2026", "Apr 2026", "Jul 2026", "Oct 2026", "Jan 2027", "Apr 2027", "Jul 2027",
    "Oct 2027", "Jan 2028",
  ]); // prettier-ignore
});

test("where clocks are put back and forward, hours stay whole", () => {
  const back = labels("2026-10-25T00:00:00+02:00", "2026-10-25T06:00:00+01:00");
  assert.deepEqual(back, ["Oct 25", "01:00", "02:00", "02:00", "03:00", "04:00", "05:00", "06:00"]);
  const forward = labels("2026-03-29T00:00:00+01:00", "2026-03-29T12:00:00+02:00", 700);
  assert.deepEqual(forward, ["Mar 29", "03:00", "04:00", "06:00", "08:00", "10:00", "12:00"]);
});

test("parts of seconds, down to nanoseconds", () => {
  const second = ns("2026-11-17T10:00:00Z");
  const short = (length: bigint): string[] =>
    ticksOf(second, second + length, 600, 100).map((tick) => tick.label);
  assert.deepEqual(short(500_000_000n), [
    "11:00:00", "+100 ms", "+200 ms", "+300 ms", "+400 ms", "+500 ms",
  ]); // prettier-ignore
  assert.deepEqual(short(50_000n), [
    "11:00:00", "+0.01 ms", "+0.02 ms", "+0.03 ms", "+0.04 ms", "+0.05 ms",
  ]); // prettier-ignore
  assert.deepEqual(short(600n), [
    "11:00:00", "+0.1 µs", "+0.2 µs", "+0.3 µs", "+0.4 µs", "+0.5 µs", "+0.6 µs",
  ]); // prettier-ignore
  assert.deepEqual(ticksOf(second, second, 600, 100), []);
});

test("ticks of any window are in order, apart, and not many", () => {
  const start = ns("2026-03-20T12:34:56Z");
  for (let length = 10n; length < 10n ** 19n; length = (length * 37n) / 10n) {
    for (const width of [50, 390, 1500]) {
      const ticks = ticksOf(start, start + length, width, 90);
      assert.ok(ticks.length <= width / 90 + 2, `${length} ns on ${width} px: ${ticks.length}`);
      for (const [i, tick] of ticks.entries()) {
        assert.ok(tick.ns >= start && tick.ns <= start + length);
        assert.ok(i === 0 || tick.ns > (ticks[i - 1]?.ns ?? 0n));
      }
      if (width === 1500) assert.ok(ticks.length >= 2, `${length} ns: ${ticks.length}`);
    }
  }
});

const bounds = { begin: 0, end: 1_000_000 };

test("a window zooms at a point and stays within its bounds", () => {
  const from = (begin: number, end: number): { begin: number; end: number } => ({ begin, end });
  const all = from(0, 1_000_000);
  assert.deepEqual(zoom(all, 0.5, 0.25, bounds), from(125_000, 625_000));
  assert.deepEqual(zoom(from(0, 100_000), 4, 0.5, bounds), from(0, 400_000));
  assert.deepEqual(zoom(from(10, 999_990), 100, 0.5, bounds), bounds);
  const least = zoom(from(500_000, 500_100), 1e-9, 0.5, bounds);
  assert.equal(least.end - least.begin, LEAST_NS);
  assert.deepEqual(pan(from(0, 100_000), 0.5, bounds), from(50_000, 150_000));
  assert.deepEqual(pan(from(0, 100_000), -3, bounds), from(0, 100_000));
  assert.deepEqual(clamp(from(-5, 2_000_000), bounds), bounds);
  assert.deepEqual(reveal(from(0, 100_000), 400_000, bounds), from(350_000, 450_000));
  assert.deepEqual(reveal(from(0, 100_000), 7, bounds), from(0, 100_000));
  assert.deepEqual(withMargin(from(100_000, 300_000), bounds), from(0, 500_000));
  assert.equal(neighbour([1, 5, 9], 5, 1), 9);
  assert.equal(neighbour([1, 5, 9], 5, -1), 1);
  assert.equal(neighbour([1, 5, 9], 9, 1), undefined);
});

const colors = new Uint32Array([11, 22, 33]);
const mixed: Mixed = {
  kind: "mixed", begin: 100, columnNs: 16, columns: 3,
  parts: new Float64Array([8, 0, 8, 0, 4, 0, 15.4, 0.6, 0]),
}; // prettier-ignore
const exact: Exact = {
  kind: "exact",
  begins: new Float64Array([0, 10, 30]),
  ends: new Float64Array([10, 20, 40]),
  looks: new Uint8Array([0, 2, 2]),
};

test("columns are filled from the bottom, as far as there is time in them", () => {
  const pixels = pictureOf(mixed, colors);
  const column = (x: number): number[] =>
    Array.from({ length: LEVELS }, (_, level) => pixels[(LEVELS - 1 - level) * 3 + x] ?? -1);
  assert.deepEqual(column(0), [...Array(8).fill(11), ...Array(8).fill(33)]);
  assert.deepEqual(column(1), [...Array(4).fill(22), ...Array(12).fill(0)]);
  assert.deepEqual(column(2), [...Array(15).fill(11), 22]);
});

test("all lanes in one", () => {
  const lane = (attempt: bigint, begin: number, end: number, time: Exact | Mixed): Lane => ({
    attempt, begin, end, time,
  }); // prettier-ignore
  const next: Exact = {
    kind: "exact",
    begins: new Float64Array([40]),
    ends: new Float64Array([60]),
    looks: new Uint8Array([1]),
  };
  const both = together([lane(0n, 0, 40, exact), lane(1n, 40, 60, next)], 3);
  assert.deepEqual([both?.attempt, both?.begin, both?.end], [undefined, 0, 60]);
  assert.deepEqual(both === undefined ? undefined : at(both, 50, 3)?.index, 3);
  // The column in which one lane ends and the next begins has what both have of it.
  const later: Mixed = { ...mixed, begin: 132, columns: 2, parts: new Float64Array(6).fill(1) };
  const columns = together([lane(0n, 100, 140, mixed), lane(1n, 140, 164, later)], 3)?.time;
  assert.ok(columns?.kind === "mixed");
  assert.equal(columns.columns, 4);
  assert.deepEqual([...columns.parts.slice(6)], [16.4, 1.6, 1, 1, 1, 1]);
  assert.equal(together([], 3), undefined);
});

test("an instant is found in its interval or its column", () => {
  const lane: Lane = { attempt: 1n, begin: 0, end: 200, time: exact };
  const found = { begin: 10, end: 20, parts: [[2, 10]], exact: true, index: 1 };
  assert.deepEqual(at(lane, 12, 3), found);
  assert.deepEqual(at(lane, 10, 3)?.index, 1);
  assert.equal(at(lane, 25, 3), undefined);
  assert.equal(at(lane, -1, 3), undefined);
  const columns: Lane = { ...lane, time: mixed };
  assert.deepEqual(at(columns, 101, 3)?.parts, [[0, 8], [2, 8]]);
  const second = { begin: 116, end: 132, parts: [[1, 4]], exact: false, index: 1 };
  assert.deepEqual(at(columns, 120, 3), second);
  assert.equal(at(columns, 99, 3), undefined);
  assert.equal(at(columns, 148, 3), undefined);
  assert.deepEqual(stretchesOf(lane, 2, 3), [[10, 20], [30, 40]]);
  assert.deepEqual(stretchesOf(columns, 0, 3), [[132, 148]]);
});
