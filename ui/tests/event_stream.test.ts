// Server-sent events, wherever what is read is cut.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser, type StreamEvent } from "../src/event_stream.ts";

const TEXT =
  ": a comment\nretry: 1000\n\nid: a-1\nevent: run\ndata: {\"x\":1}\n\n" +
  "event: steps\r\ndata:one\r\ndata: two\r\n\r\ndata\rdata:\r\revent: none\n\nid: b\nretry: x\n\n" +
  "unknown: y\ndata: grö\u00dfe\n\n";
const EVENTS: StreamEvent[] = [
  { event: "run", data: '{"x":1}', id: "a-1" },
  { event: "steps", data: "one\ntwo", id: "a-1" },
  { event: "message", data: "\n", id: "a-1" },
  { event: "message", data: "grö\u00dfe", id: "b" },
];

test("whole, and in parts of any size", () => {
  for (let size = 1; size <= TEXT.length; ++size) {
    const parser = new EventParser();
    const found: StreamEvent[] = [];
    for (let at = 0; at < TEXT.length; at += size) {
      found.push(...parser.feed(TEXT.slice(at, at + size)));
    }
    assert.deepEqual(found, EVENTS, `in parts of ${size}`);
    assert.equal(parser.retryMs, 1000);
  }
});

test("what is not whole is no event", () => {
  const parser = new EventParser();
  assert.deepEqual(parser.feed("data: x\n"), []);
  assert.deepEqual(parser.feed("\n"), [{ event: "message", data: "x", id: "" }]);
});
