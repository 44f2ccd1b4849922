// Lines of metrics as charts draw them: on one axis, with gaps, smoothed beside what was said.
// Pure.
import type { SeriesLine } from "../gen/headway/v1/series_service_pb.js";

/** null: a gap is here; undefined: this line has no point here, and goes on. */
export type Values = (number | null | undefined)[];

export interface Drawn {
  /** Places on the axis, in order. */
  xs: number[];
  lines: DrawnLine[];
}
export interface DrawnLine {
  line: SeriesLine;
  /** [xs] the points, or the mean of each part of the axis. */
  values: Values;
  /** [xs] where these are of many points: the least and the largest of each part. */
  least: Values | undefined;
  most: Values | undefined;
  /** How many points were NaN or infinite. */
  odd: number;
}

/** A stretch without a point that is so many times as long as usual is a gap. */
const GAP = 8;

/** Where values stand at equal distances: what is missing is a gap only where much is. */
export function bridged(values: readonly (number | null)[]): Values {
  const there = values.flatMap((value, i) => (value === null ? [] : [i]));
  const usual = usualDistance(there);
  const found: Values = values.map((value) => value ?? undefined);
  there.forEach((place, i) => {
    const before = there[i - 1];
    if (before !== undefined && place - before > GAP * usual) found[before + 1] = null;
  });
  return found;
}

interface Points {
  xs: number[];
  mean: (number | null)[];
  least: (number | null)[];
  most: (number | null)[];
  many: boolean;
  odd: number;
}

const NO_STEP = -(2n ** 63n);

function pointsOf(line: SeriesLine, options: DrawOptions): Points {
  const { toX, byStep, buckets } = options;
  const points: Points = { xs: [], mean: [], least: [], most: [], many: false, odd: 0 };
  const put = (x: number, mean: number | null, least = mean, most = mean): void => {
    points.xs.push(x);
    points.mean.push(mean);
    points.least.push(least);
    points.most.push(most);
  };
  if (line.buckets.length > 0) {
    points.many = true;
    const length = line.to - line.from;
    // Only those parts with points are told.
    for (const { index, summary } of line.buckets) {
      if (summary === undefined) continue;
      points.odd += Number(summary.notFiniteCount);
      const middle = line.from + (length * BigInt(2 * index + 1)) / BigInt(2 * buckets);
      const { mean, min, max } = summary;
      put(toX(middle, line), mean ?? null, min ?? null, max ?? null);
    }
    return points;
  }
  line.values.forEach((value, i) => {
    const at = byStep ? (line.steps[i] ?? NO_STEP) : (line.times[i] ?? 0n);
    if (byStep && at === NO_STEP) return;
    const finite = Number.isFinite(value);
    if (!finite) points.odd += 1;
    put(toX(at, line), finite ? value : null);
  });
  return points;
}

function usualDistance(xs: readonly number[]): number {
  const distances = xs.slice(1).map((x, i) => x - (xs[i] ?? x));
  distances.sort((a, b) => a - b);
  return distances[Math.floor(distances.length / 2)] ?? 0;
}

export interface DrawOptions {
  /** Where what the server counts along the axis lies on the chart; it never goes back. */
  toX: (at: bigint, line: SeriesLine) => number;
  /** That is numbers of steps. */
  byStep: boolean;
  /** How many parts were asked for. */
  buckets: number;
}

export function drawnOf(lines: readonly SeriesLine[], options: DrawOptions): Drawn {
  const all = lines.map((line) => pointsOf(line, options));
  const places = new Set<number>();
  const gaps = all.map(({ xs }) => {
    const usual = usualDistance(xs);
    const found: number[] = [];
    xs.forEach((x, i) => {
      places.add(x);
      const before = xs[i - 1];
      if (before === undefined || usual <= 0 || x - before <= GAP * usual) return;
      found.push((before + x) / 2);
      places.add((before + x) / 2);
    });
    return found;
  });
  const xs = [...places].sort((a, b) => a - b);
  const at = new Map(xs.map((x, i) => [x, i]));
  const spread = (points: Points, values: readonly (number | null)[], i: number): Values => {
    const row: Values = new Array<undefined>(xs.length).fill(undefined);
    points.xs.forEach((x, k) => {
      row[at.get(x) ?? 0] = values[k] ?? null;
    });
    for (const x of gaps[i] ?? []) row[at.get(x) ?? 0] = null;
    return row;
  };
  return {
    xs,
    lines: lines.map((line, i) => {
      const points = all[i] as Points;
      return {
        line,
        values: spread(points, points.mean, i),
        least: points.many ? spread(points, points.least, i) : undefined,
        most: points.many ? spread(points, points.most, i) : undefined,
        odd: points.odd,
      };
    }),
  };
}

/**
 * A mean of what came before that forgets: `weight` of 0 to 1 is kept from one point to the next.
 * The first points are not pulled to 0. A gap begins anew.
 */
export function smoothed(values: Values, weight: number): Values {
  let sum = 0;
  let norm = 0;
  return values.map((value) => {
    if (value === undefined) return undefined;
    if (value === null) {
      sum = norm = 0;
      return null;
    }
    sum = sum * weight + value * (1 - weight);
    norm = norm * weight + (1 - weight);
    return norm === 0 ? value : sum / norm;
  });
}

/** How much productive time there had been at instants: [points] of both, in order. */
export interface Progress {
  times: readonly number[];
  productive: readonly number[];
}

/** In between, in proportion. */
export function productiveAt(progress: Progress, time: number): number {
  const { times, productive } = progress;
  let low = 0;
  let high = times.length - 1;
  if (high < 0 || time <= (times[0] ?? 0)) return productive[0] ?? 0;
  if (time >= (times[high] ?? 0)) return productive[high] ?? 0;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= time) low = middle;
    else high = middle;
  }
  const [a, b] = [times[low] ?? 0, times[high] ?? 0];
  const [from, to] = [productive[low] ?? 0, productive[high] ?? 0];
  return b === a ? from : from + ((to - from) * (time - a)) / (b - a);
}
