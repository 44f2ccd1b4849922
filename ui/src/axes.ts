// What the horizontal axis of a chart counts: time, steps, or time since a beginning. Pure.
import { count, duration, localTime } from "./format.ts";
import { roundValues } from "./figure.ts";
import { ticksOf } from "./time_scale.ts";

export interface AxisTick {
  at: number;
  label: string;
}
export interface Axis {
  /** The head of its column in a file. */
  name: string;
  /** Some that lie at least `gapPx` apart on `widthPx`. */
  ticks(least: number, most: number, widthPx: number, gapPx: number): AxisTick[];
  /** A place on it, for people and in a file. */
  text(at: number): string;
  exact(at: number): string;
}

export const toNs = (seconds: number): bigint => BigInt(Math.round(seconds * 1e6)) * 1000n;
const toSeconds = (ns: bigint): number => Number(ns / 1000n) / 1e6;

/** In seconds since 1970, on the reader's clock. */
export const TIME: Axis = {
  name: "time",
  ticks: (least, most, widthPx, gapPx) =>
    ticksOf(toNs(least), toNs(most), widthPx, gapPx).map(({ ns, label }) => ({
      at: toSeconds(ns),
      label,
    })),
  text: (at) => localTime(toNs(at)),
  exact: (at) => new Date(at * 1000).toISOString(),
};

const whole = (least: number, most: number, widthPx: number, gapPx: number): number[] =>
  roundValues(least, most, Math.max(1, Math.floor(widthPx / gapPx)));

export const STEP: Axis = {
  name: "step",
  ticks: (least, most, widthPx, gapPx) =>
    whole(least, most, widthPx, gapPx)
      .filter(Number.isInteger)
      .map((at) => ({ at, label: count(at) })),
  text: (at) => `step ${count(Math.round(at))}`,
  exact: (at) => String(Math.round(at)),
};

// Steps that clocks have.
const CLOCK = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];
const DAY = 86_400;

function clockLabel(seconds: number, step: number): string {
  if (seconds === 0) return "0";
  if (step < 1) return `${Number(seconds.toPrecision(6))} s`;
  const sign = seconds < 0 ? "-" : "";
  const rest = Math.abs(seconds);
  const [days, hours] = [Math.floor(rest / DAY), Math.floor((rest % DAY) / 3600)];
  const [minutes, left] = [Math.floor((rest % 3600) / 60), Math.round(rest % 60)];
  const parts = [
    days > 0 ? `${days} d` : "",
    hours > 0 ? `${hours} h` : "",
    minutes > 0 ? `${minutes} min` : "",
    left > 0 ? `${left} s` : "",
  ];
  return sign + parts.filter((part) => part !== "").join(" ");
}

/** In seconds since a run's start, or of its productive time. */
export function elapsedAxis(name: string): Axis {
  return {
    name,
    ticks: (least, most, widthPx, gapPx) => {
      const rough = (most - least) / Math.max(1, Math.floor(widthPx / gapPx));
      if (rough <= 1) {
        const places = whole(least, most, widthPx, gapPx);
        return places.map((at) => ({ at, label: clockLabel(at, 0.1) }));
      }
      const days = roundValues(0, Math.max(rough / DAY, 1), 1).at(-1) ?? 1;
      const step = CLOCK.find((one) => one >= rough) ?? Math.max(1, Math.ceil(days)) * DAY;
      const ticks: AxisTick[] = [];
      for (let at = Math.ceil(least / step) * step; at <= most; at += step) {
        ticks.push({ at, label: clockLabel(at, step) });
      }
      return ticks;
    },
    text: (at) => duration(toNs(at)),
    exact: (at) => String(at),
  };
}
export const ELAPSED = elapsedAxis("elapsed_seconds");
