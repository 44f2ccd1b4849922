// Lines of metrics on one axis.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { SeriesLineSchema } from "../gen/headway/v1/series_service_pb.js";
import { bridged, drawnOf, productiveAt, smoothed } from "../src/metric_lines.ts";

const options = { toX: Number, byStep: false, buckets: 10 };
const points = (times: number[], values: number[], steps: number[] = []) =>
  create(SeriesLineSchema, { times: times.map(BigInt), steps: steps.map(BigInt), values });

test("lines with times of their own share an axis", () => {
  const drawn = drawnOf(
    [points([1, 2, 3], [10, 20, 30]), points([2, 4], [Number.NaN, 5])],
    options,
  );
  assert.deepEqual(drawn.xs, [1, 2, 3, 4]);
  assert.deepEqual(drawn.lines[0]?.values, [10, 20, 30, undefined]);
  assert.deepEqual(drawn.lines[1]?.values, [undefined, null, undefined, 5]);
  assert.deepEqual(
    drawn.lines.map((line) => line.odd),
    [0, 1],
  );
  assert.deepEqual(drawnOf([], options), { xs: [], lines: [] });
});

test("what is missing is a gap, and what has no step is not on the axis of steps", () => {
  const times = [0, 1, 2, 3, 4, 50, 51];
  const drawn = drawnOf([points(times, times)], options);
  assert.deepEqual(drawn.xs, [0, 1, 2, 3, 4, 27, 50, 51]);
  assert.deepEqual(drawn.lines[0]?.values, [0, 1, 2, 3, 4, null, 50, 51]);
  const none = -(2n ** 63n);
  const line = create(SeriesLineSchema, { times: [1n, 2n], steps: [none, 7n], values: [5, 6] });
  assert.deepEqual(drawnOf([line], { ...options, byStep: true }).xs, [7]);
});

test("parts of the axis have a mean, and what it lies between", () => {
  const line = create(SeriesLineSchema, {
    from: 0n,
    to: 100n,
    buckets: [
      {
        index: 0,
        summary: {
          count: 4n,
          notFiniteCount: 1n,
          min: 1,
          max: 3,
          mean: 2,
          minTime: 0n,
          maxTime: 8n,
        },
      },
      { index: 5, summary: { count: 2n, notFiniteCount: 2n, minTime: 50n, maxTime: 60n } },
    ],
  });
  const all = drawnOf([line], options);
  assert.deepEqual(all.xs, [5, 55]);
  const [drawn] = all.lines;
  assert.deepEqual(drawn?.values, [2, null]);
  assert.deepEqual(drawn?.least, [1, null]);
  assert.deepEqual(drawn?.most, [3, null]);
  assert.equal(drawn?.odd, 3);
});

test("smoothing begins where the line does, and anew behind a gap", () => {
  assert.deepEqual(smoothed([4, 4, undefined, 4], 0.9), [4, 4, undefined, 4]);
  const [first, second, gap, anew] = smoothed([0, 10, null, 7], 0.5);
  assert.equal(first, 0);
  assert.ok(Math.abs((second as number) - 20 / 3) < 1e-12);
  assert.deepEqual([gap, anew], [null, 7]);
  assert.deepEqual(smoothed([1, 2], 0), [1, 2]);
});

test("productive time at an instant", () => {
  const progress = { times: [0, 10, 20], productive: [0, 10, 10] };
  assert.deepEqual(
    [-1, 0, 5, 10, 15, 20, 99].map((time) => productiveAt(progress, time)),
    [0, 0, 5, 10, 10, 10, 10],
  );
  assert.equal(productiveAt({ times: [], productive: [] }, 3), 0);
});

test("columns without a value are gaps where there are many in a row", () => {
  const nothing = undefined;
  assert.deepEqual(bridged([null, 1, null, 2, 3]), [nothing, 1, nothing, 2, 3]);
  const long = [1, 2, 3, ...new Array<null>(9).fill(null), 4];
  assert.deepEqual(bridged(long).slice(2, 5), [3, null, nothing]);
  assert.equal(bridged(long).at(-1), 4);
  assert.deepEqual(bridged([]), []);
});
