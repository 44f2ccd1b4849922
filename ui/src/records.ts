// What processes recorded, as people read it. Pure. The numbers are those of the journal's format.
import type { JournalRecords, Record as Entry } from "../gen/headway/v1/record_service_pb.js";

const TYPES = [
  ..."none job_start job_end step_start step_end step_soft_end span_begin span_end".split(" "),
  ..."capacity checkpoint_saved heartbeat exit exclude rollback query clock notice note".split(" "),
  ..."metric config stderr_tail dropped process_end".split(" "),
];
const SPANS = [
  ..."none accelerator_init training_prep data_loading async_data_loading".split(" "),
  ..."checkpoint_save checkpoint_restore custom phase elastic_wait elastic_reinit".split(" "),
];
const METRIC = TYPES.indexOf("metric");
const BEGIN = TYPES.indexOf("span_begin");
const END = TYPES.indexOf("span_end");
const STEPS = new Set(
  "step_start step_end step_soft_end checkpoint_saved rollback"
    .split(" ")
    .map((name) => TYPES.indexOf(name)),
);
const RANK_AT = 80;

/** Of the process whose journal begins with these bytes; undefined: it has none. */
export function rankOf(header: Uint8Array): bigint | undefined {
  if (header.length < RANK_AT + 8) return undefined;
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength);
  const rank = view.getBigInt64(RANK_AT, true);
  return rank < 0n ? undefined : rank;
}

/** The value of a metric: 64 bits as IEEE 754 has them. */
function valueOf(bits: bigint): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigInt64(0, bits);
  return view.getFloat64(0);
}

/** Its kind as event files have it, and what else it says. */
export function tell(entry: Entry, names: readonly string[]): [kind: string, what: string] {
  const name = entry.name === 0 ? "" : (names[entry.name - 1] ?? "");
  const kind = TYPES[entry.type] ?? `type ${entry.type}`;
  if (entry.type === BEGIN || entry.type === END) {
    const span = SPANS[entry.span] ?? `span ${entry.span}`;
    return [`${span}_${entry.type === BEGIN ? "start" : "end"}`, name];
  }
  if (entry.type === METRIC) {
    const at = entry.a >= 0n ? ` at step ${entry.a}` : "";
    return [kind, `${name} = ${valueOf(entry.b)}${at}`];
  }
  if (STEPS.has(entry.type)) return [kind, String(entry.a)];
  return [kind, name];
}

export interface Row {
  time: bigint;
  rank: bigint | undefined;
  kind: string;
  what: string;
}

/** Those of a page, by time. */
export function rowsOf(names: readonly Uint8Array[], journals: readonly JournalRecords[]): Row[] {
  const decoder = new TextDecoder();
  const texts = names.map((name) => decoder.decode(name));
  const rows = journals.flatMap((journal) => {
    const rank = rankOf(journal.header);
    return journal.records.map((entry): Row => {
      const [kind, what] = tell(entry, texts);
      return { time: entry.timeNs, rank, kind, what };
    });
  });
  // Of equal times each journal's own order stays.
  return rows.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
}
