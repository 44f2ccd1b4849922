// Records as people read them.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Record as Entry } from "../gen/headway/v1/record_service_pb.js";
import { rankOf, tell } from "../src/records.ts";

const entry = (values: Partial<Entry>): Entry =>
  ({ type: 0, span: 0, name: 0, a: 0n, b: 0n, ...values }) as Entry;
const bits = (value: number): bigint => {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return view.getBigInt64(0);
};

test("what each kind of record says", () => {
  const names = ["eval", "loss"];
  const cases: [Partial<Entry>, string, string][] = [
    [{ type: 3, a: 17n }, "step_start", "17"],
    [{ type: 6, span: 7, name: 1, a: -1n }, "custom_start", "eval"],
    [{ type: 7, span: 3 }, "data_loading_end", ""],
    [{ type: 18, name: 2, a: 3n, b: bits(-1.5) }, "metric", "loss = -1.5 at step 3"],
    [{ type: 18, name: 2, a: -1n, b: bits(Number.NaN) }, "metric", "loss = NaN"],
    [{ type: 13, a: 5n }, "rollback", "5"],
    [{ type: 99 }, "type 99", ""],
    [{ type: 6, span: 77 }, "span 77_start", ""],
    [{ type: 19, name: 9 }, "config", ""],
  ];
  for (const [values, kind, what] of cases) {
    assert.deepEqual(tell(entry(values), names), [kind, what]);
  }
});

test("the rank in a journal's header", () => {
  const header = new Uint8Array(300);
  new DataView(header.buffer).setBigInt64(80, 41n, true);
  assert.equal(rankOf(header), 41n);
  new DataView(header.buffer).setBigInt64(80, -1n, true);
  assert.equal(rankOf(header), undefined);
  assert.equal(rankOf(header.subarray(0, 80)), undefined);
});
