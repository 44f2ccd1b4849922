// What the server says of a run's time, as charts and timelines take it.
import type { TimelineInterval } from "../gen/headway/v1/report_pb.js";
import type { History as HistoryMessage, RunTimeline } from "../gen/headway/v1/view_service_pb.js";
import { LOOKS, placeOf } from "./categories.ts";
import type { History } from "./history.ts";
import { type Exact, type Lane, type Mixed, together } from "./timeline/lanes.ts";

/** The intervals behind exact lanes, by their places in them; undefined: in that of all. */
export type Intervals = ReadonlyMap<bigint | undefined, readonly TimelineInterval[]>;

/** The lanes of a timeline, and one for all of them, in nanoseconds from `origin`. */
export function lanesOf(timeline: RunTimeline, origin: bigint): [Lane[], Intervals] {
  const { begin, end, columns } = timeline;
  const intervals = new Map<bigint | undefined, TimelineInterval[]>();
  if (begin === undefined || end === undefined) return [[], intervals];
  const from = (ns: bigint): number => Number(ns - origin);
  const lanes = timeline.lanes.map((lane): Lane => {
    const kept = { attempt: lane.attempt, begin: from(lane.begin), end: from(lane.end) };
    if (columns === 0) {
      intervals.set(lane.attempt, lane.intervals);
      const time: Exact = {
        kind: "exact",
        begins: Float64Array.from(lane.intervals, (one) => Math.max(from(one.begin), kept.begin)),
        ends: Float64Array.from(lane.intervals, (one) => Math.min(from(one.end), kept.end)),
        looks: Uint8Array.from(lane.intervals, (one) => placeOf(one.category)),
      };
      return { ...kept, time };
    }
    const columnNs = Number(end - begin) / columns;
    const kinds = LOOKS.length;
    const parts = new Float64Array(lane.elapsedNs.length * kinds);
    for (const series of lane.series) {
      const kind = placeOf(series.category);
      series.ns.forEach((ns, column) => {
        const place = column * kinds + kind;
        parts[place] = (parts[place] ?? 0) + Number(ns);
      });
    }
    const time: Mixed = {
      kind: "mixed",
      begin: from(begin) + lane.firstColumn * columnNs,
      columnNs,
      columns: lane.elapsedNs.length,
      parts,
    };
    return { ...kept, time };
  });
  const all = together(lanes, LOOKS.length);
  if (all === undefined) return [lanes, intervals];
  intervals.set(
    undefined,
    timeline.lanes.flatMap((lane) => lane.intervals),
  );
  return [[all, ...lanes], intervals];
}

/** Undefined: nothing is recorded. */
export function historyOf(message: HistoryMessage): History | undefined {
  const { begin, end, columns } = message;
  if (begin === undefined || end === undefined || columns === 0) return undefined;
  const length = end - begin;
  return {
    ends: message.elapsedNs.map(
      (_, i) => Number((begin + (length * BigInt(i + 1)) / BigInt(columns)) / 1000n) / 1e6,
    ),
    elapsed: message.elapsedNs.map(Number),
    elapsedBefore: Number(message.elapsedBeforeNs),
    parts: message.series.map((series) => ({
      look: placeOf(series.category),
      name: series.names > 0 ? `${series.names} others` : series.name,
      ns: series.ns.map(Number),
      before: Number(series.beforeNs),
    })),
  };
}
