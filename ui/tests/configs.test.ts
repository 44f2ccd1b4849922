// Configurations side by side.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { GetConfigResponseSchema } from "../gen/headway/v1/config_service_pb.js";
import { attemptsOf, classesOf, compare, sideOf, together } from "../src/configs.ts";

const entries = (values: Record<string, string>) => ({
  entries: Object.entries(values).map(([path, value]) => ({ path, value })),
});
const answer = create(GetConfigResponseSchema, {
  configurations: [
    entries({ lr: "0.1", "model.layers": "32" }),
    entries({ lr: "0.2", "model.layers": "32" }),
    entries({ chip: '"v5e"' }),
    entries({ lr: "0.1", seed: "7" }),
  ],
  processes: [
    { rank: 0n, attempt: 0n, configurations: { user: 0 } },
    { rank: 1n, attempt: 1n, configurations: { user: 0 } },
    { rank: 2n, attempt: 1n, configurations: { user: 0, zoo: 2 } },
    { rank: 4n, attempt: 1n, configurations: { user: 1 } },
    { rank: 5n, attempt: 1n, configurations: { user: 3 } },
  ],
  registered: { system: 2 },
});

test("what agrees is one value, and what does not says whose it is", () => {
  assert.deepEqual(classesOf(answer), ["user", "system", "zoo"]);
  assert.deepEqual(attemptsOf(answer, "user"), [0n, 1n]);
  const side = sideOf(answer, "user", 1n);
  assert.deepEqual(side.get("lr"), [
    { value: "0.1", who: "ranks 1–2, 5" },
    { value: "0.2", who: "rank 4" },
  ]);
  assert.deepEqual(side.get("seed"), [
    { value: "7", who: "rank 5" },
    { value: undefined, who: "ranks 1–2, 4" },
  ]);
  assert.deepEqual(sideOf(answer, "system", undefined).get("chip"), [
    { value: '"v5e"', who: "said on the server" },
  ]);
});

test("what was changed, added and removed", () => {
  const rows = compare(sideOf(answer, "user", 0n), sideOf(answer, "user", 1n));
  assert.deepEqual(
    rows.map(({ path, change }) => [path, change]),
    [
      ["lr", "changed"],
      ["model.layers", "changed"],
      ["seed", "added"],
    ],
  );
  const same = compare(sideOf(answer, "user", 0n), sideOf(answer, "user", 0n));
  assert.ok(same.every(({ change }) => change === "same"));
  const gone = compare(sideOf(answer, "user", 1n), new Map());
  assert.ok(gone.every(({ change }) => change === "removed"));
});

test("ranks in a row", () => {
  assert.equal(together(["rank 3", "rank 1", "rank 2", "supervisor"]), "ranks 1–3, supervisor");
  assert.equal(together(["rank 7"]), "rank 7");
  assert.equal(together([]), "");
});
