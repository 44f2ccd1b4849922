// How values are written. tests/e2e/test_ui.py brings the examples of the command line's own test.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ago, count, duration, exactTime, percent, toFilter, UNKNOWN } from "../src/format.ts";

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
