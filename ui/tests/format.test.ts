// How values are written. tests/e2e/test_ui.py brings the examples of the command line's own test.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  ago,
  count,
  duration,
  exactTime,
  measure,
  percent,
  shortDuration,
  toDuration,
  toFilter,
  UNKNOWN,
} from "../src/format.ts";

const path = process.env["HEADWAY_TEST"];
const given = JSON.parse(path === undefined ? "{}" : readFileSync(path, "utf8")) as {
  durations?: [string, string][];
};

test("durations, as the command line has them", () => {
  for (const [ns, text] of given.durations ?? []) assert.equal(duration(BigInt(ns)), text, ns);
  assert.equal(duration(1_052_467_000_000_000n), "12 d 04:21:07");
  assert.equal(duration(2_871_000_000n), "2.871 s");
  assert.equal(duration(59_999_600_000n), "0:01:00");
  assert.equal(duration(undefined), UNKNOWN);
});

test("a share is all only if it is all", () => {
  const cases: [number | undefined, string][] = [
    [0, "0.0"],
    [1e-9, "< 0.1"],
    [0.0005, "0.1"],
    [0.874, "87.4"],
    [0.99949, "99.9"],
    [0.9999, "> 99.9"],
    [1, "100.0"],
    [undefined, UNKNOWN],
    [Number.NaN, UNKNOWN],
  ];
  for (const [share, text] of cases) assert.equal(percent(share), text);
});

test("counts and times", () => {
  assert.equal(count(318_204), "318,204");
  assert.equal(count(2n ** 62n), "4,611,686,018,427,387,904");
  assert.equal(exactTime(1_700_000_000_123_456_789n), "2023-11-14T22:13:20.123456789Z");
  assert.equal(exactTime(-1n), "1969-12-31T23:59:59.999999999Z");
  const second = 1_000_000_000n;
  const cases: [bigint, string][] = [
    [0n, "now"],
    [-5n, "now"],
    [59n, "59 s ago"],
    [60n, "1 min ago"],
    [86_399n, "23 h ago"],
    [86_400n * 400n, "400 d ago"],
  ];
  const now = 1_700_000_000n;
  for (const [before, text] of cases)
    assert.equal(ago((now - before) * second, Number(now) * 1000), text);
});

test("one word is looked for in names; the rest is a filter", () => {
  assert.equal(toFilter(" llama-7b "), 'name:"llama-7b"');
  assert.equal(toFilter("größe"), 'name:"größe"');
  assert.equal(toFilter("goodput < 90%"), "goodput < 90%");
  assert.equal(toFilter("name:x"), "name:x");
  assert.equal(toFilter(""), "");
});

test("durations as people type them, and as they stand at an axis", () => {
  assert.equal(toDuration("90s"), 90_000_000_000n);
  assert.equal(toDuration(" 15 min "), 900_000_000_000n);
  assert.equal(toDuration("6H"), 21_600_000_000_000n);
  assert.equal(toDuration("2d"), 172_800_000_000_000n);
  for (const wrong of ["", "5", "h", "-1h", "0s", "1.5h", "99999d", "1h30m"]) {
    assert.equal(toDuration(wrong), undefined, wrong);
  }
  assert.equal(shortDuration(0), "0");
  assert.equal(shortDuration(1_500_000_000), "1.5 s");
  assert.equal(shortDuration(250_000), "250 µs");
  assert.equal(shortDuration(3 * 60e9), "3 min");
  assert.equal(shortDuration(36 * 3600e9), "36 h");
  assert.equal(shortDuration(72 * 3600e9), "3 d");
});

test("values of metrics with their units", () => {
  assert.equal(measure(2.34567, "1"), "2.346");
  assert.equal(measure(0.00001234, ""), "1.234e-5");
  assert.equal(measure(0.0001, "1"), "1e-4");
  assert.equal(measure(0, "%"), "0 %");
  assert.equal(measure(93.5, "%"), "93.5 %");
  assert.equal(measure(123456, "{token}/s"), "123,456");
  assert.equal(measure(2.5e12, "1"), "2.5e12");
  assert.equal(measure(0.0152, "s"), "15.2 ms");
  assert.equal(measure(3 * 2 ** 30, "By"), "3 GiB");
  assert.equal(measure(-12, "By"), "-12 B");
  assert.equal(measure(Number.NaN, "s"), "NaN");
});
