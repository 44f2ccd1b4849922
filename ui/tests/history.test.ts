// Goodput over time, and what it is made of.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type History,
  largest,
  type Part,
  secondsSoFar,
  shareOf,
  shareSoFar,
  stacked,
} from "../src/history.ts";

const part = (look: number, ns: number[], before = 0): Part => ({ look, name: "", ns, before });
const history: History = {
  ends: [1, 2, 3, 4],
  elapsed: [10, 10, 0, 20],
  elapsedBefore: 20,
  parts: [part(0, [5, 10, 0, 15], 20), part(1, [5, 0, 0, 1]), part(2, [0, 0, 0, 4])],
};
const good = (one: Part): boolean => one.look === 0;

test("shares of columns, and of all so far", () => {
  assert.deepEqual(shareOf(history, good), [0.5, 1, null, 0.75]);
  assert.deepEqual(shareOf(history, () => true), [1, 1, null, 1]);
  assert.deepEqual(shareSoFar(history, good), [25 / 30, 35 / 40, 35 / 40, 50 / 60]);
  const fresh = { ...history, elapsed: [0, 4], elapsedBefore: 0, parts: [part(0, [0, 1])] };
  assert.deepEqual(shareSoFar(fresh, good), [null, 0.25]);
  assert.deepEqual(secondsSoFar(part(0, [1e9, 0, 2e9], 5e8)), [1.5, 1.5, 3.5]);
});

test("what is stacked lies upon what is below it", () => {
  assert.deepEqual(stacked([[1, null, 3], [10, 20, 30], [0, 0, 0]]), [
    [1, null, 3], [11, null, 33], [11, null, 33],
  ]); // prettier-ignore
  assert.deepEqual(stacked([]), []);
});

test("the kinds of which there is most, and the rest together", () => {
  const parts = [part(1, [1, 0]), part(2, [5, 5]), part(3, [0, 0]), part(4, [0, 1], 3)];
  assert.deepEqual(largest(parts, 5).map((one) => one.look), [2, 4, 1]);
  const two = largest(parts, 2);
  assert.deepEqual(two.map((one) => one.look), [2, -1]);
  assert.deepEqual(two[1], { look: -1, name: "2 others", ns: [1, 1], before: 3 });
  assert.deepEqual(largest([], 3), []);
});
