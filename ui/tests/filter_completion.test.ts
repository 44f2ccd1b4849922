// What is offered while a filter is typed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accept, complete, type Labels } from "../src/filter_completion.ts";

const labels: Labels = new Map([
  ["team", new Set(["vision", "speech"])],
  ["a key", new Set(["x y"])],
]);
const offered = (text: string): string[] =>
  complete(text, text.length, labels).options.map((option) => option.text);

test("fields, then signs, then values, then what joins them", () => {
  assert.deepEqual(offered(""), []);
  assert.deepEqual(offered("goo"), ["goodput"]);
  assert.deepEqual(offered("goodput "), ["<", ">", "<=", ">=", "=", "!="]);
  assert.deepEqual(offered("goodput < "), ["90%"]);
  assert.deepEqual(offered("state ="), [
    "not_started", "running", "restarting", "completed", "failed", "interrupted",
  ]); // prettier-ignore
  assert.deepEqual(offered("state = r"), ["running", "restarting"]);
  assert.deepEqual(offered("state = running "), ["AND", "OR"]);
  assert.deepEqual(offered("state = running A"), ["AND"]);
  assert.deepEqual(offered("state = running AND ph"), ["phase"]);
  assert.deepEqual(offered("(state = running) "), ["AND", "OR"]);
  assert.deepEqual(offered("NO"), ["NOT"]);
  assert.deepEqual(offered("name "), ["=", "!=", ":", ":*"]);
});

test("labels of the runs that were seen", () => {
  assert.deepEqual(offered("lab"), ['labels."a key"', "labels.team"]);
  assert.deepEqual(offered("labels.team = "), ["speech", "vision"]);
  assert.deepEqual(offered("labels.team = v"), ["vision"]);
  assert.deepEqual(offered('labels."a key" = '), ['"x y"']);
  assert.deepEqual(offered("labels.other = "), []);
});

test("nothing within a text, and nothing twice", () => {
  assert.deepEqual(offered('name = "sta'), []);
  assert.deepEqual(offered("state = running AND state = running"), []);
});

test("an option takes the place of what was typed", () => {
  const text = "goo < 90%";
  const completion = complete(text, 3, labels);
  assert.deepEqual(accept(text, completion, completion.options[0] ?? { text: "", about: "" }), [
    "goodput < 90%",
    8,
  ]);
  const end = complete("state = r", 9, labels);
  assert.deepEqual(accept("state = r", end, { text: "running", about: "" }), [
    "state = running ",
    16,
  ]);
});
