// What the server says of a run's time, as charts and timelines take it.
import type { TimelineInterval } from "../gen/headway/v1/report_pb.js";
import {
  type History as HistoryMessage,
  type RunTimeline,
  StepAxis,
  type StepHistory,
} from "../gen/headway/v1/view_service_pb.js";
import { LOOKS, placeOf } from "./categories.ts";
import type { History } from "./history.ts";
import { bridged, type Values } from "./metric_lines.ts";
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

/** How long steps took, part by part of an axis; null where there is a gap. */
export interface StepColumns {
  /** [columns] the middle of each: seconds since 1970, or numbers of steps. */
  xs: number[];
  /** [columns] in nanoseconds. */
  p10: Values;
  p50: Values;
  p90: Values;
  max: Values;
  /** [columns] numbers of steps; of the axis of time. */
  last: (number | null)[];
  productive: (number | null)[];
}

const NO_STEP = -(2n ** 63n);

/** Undefined: there is no step. */
export function stepColumnsOf(message: StepHistory): StepColumns | undefined {
  const { begin, end, columns, axis } = message;
  const any = message.count.some((count) => count > 0n);
  if (begin === undefined || end === undefined || columns === 0 || !any) return undefined;
  const length = Number(end - begin);
  const place = (i: number): number => (length * (i + 0.5)) / columns;
  const known = (values: readonly bigint[]): Values =>
    bridged(values.map((ns, i) => ((message.count[i] ?? 0n) > 0n ? Number(ns) : null)));
  const stepsOf = (values: readonly bigint[]): (number | null)[] =>
    values.map((step) => (step === NO_STEP ? null : Number(step)));
  const first = axis === StepAxis.STEP ? Number(begin) : Number(begin / 1000n) / 1e6;
  const unit = axis === StepAxis.STEP ? 1 : 1e9;
  return {
    xs: message.count.map((_, i) => first + place(i) / unit),
    p10: known(message.p10Ns),
    p50: known(message.p50Ns),
    p90: known(message.p90Ns),
    max: known(message.maxNs),
    last: stepsOf(message.lastStep),
    productive: stepsOf(message.productiveStep),
  };
}
