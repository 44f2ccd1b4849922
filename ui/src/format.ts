// Values as people read them: the same as the command line writes them. Pure.

const US = 1_000n;
const MS = 1_000_000n;
const SECOND = 1_000_000_000n;
export const HOUR_NS = 3_600_000_000_000n;
const DAY_SECONDS = 86_400n;

/** What stands for a value that is not known. */
export const UNKNOWN = "–";

const two = (value: bigint): string => String(value).padStart(2, "0");

/** Nanoseconds as `12 d 04:31:07`, `4:31:07`, `2.871 s`, `0.250 ms` or `17 ns`. */
export function duration(ns: bigint | undefined): string {
  if (ns === undefined) return UNKNOWN;
  if (ns < 0n) return `-${duration(-ns)}`;
  if (ns === 0n) return "0 s";
  if (ns < US) return `${ns} ns`;
  if (ns < MS) return `${(Number(ns) / 1e6).toFixed(3)} ms`;
  // Whether it is a minute is decided by what would be shown: 59.9996 s are 0:01:00.
  const millis = (ns + MS / 2n) / MS;
  if (millis < 60_000n) return `${millis / 1000n}.${String(millis % 1000n).padStart(3, "0")} s`;
  const seconds = (ns + SECOND / 2n) / SECOND;
  const days = seconds / DAY_SECONDS;
  const hours = (seconds % DAY_SECONDS) / 3600n;
  const rest = `${two((seconds % 3600n) / 60n)}:${two(seconds % 60n)}`;
  return days === 0n ? `${hours}:${rest}` : `${days} d ${two(hours)}:${rest}`;
}

/**
 * A share of 0 to 1 in percent with one digit, without the sign. What is not all is never 100.0,
 * and what is not nothing never 0.0.
 */
export function percent(share: number | undefined): string {
  if (share === undefined || Number.isNaN(share)) return UNKNOWN;
  const text = (share * 100).toFixed(1);
  if (text === "100.0" && share < 1) return "> 99.9";
  if (text === "0.0" && share > 0) return "< 0.1";
  return text;
}

/** A whole number with separators: `318,204`. */
export function count(value: bigint | number | undefined): string {
  return value === undefined ? UNKNOWN : value.toLocaleString("en-US");
}

/** Milliseconds since 1970 of a time in nanoseconds. */
export const toMillis = (ns: bigint): number => Number(ns / MS);

/** A time on the reader's clock: `2026-11-18 02:14:55`. */
export function localTime(ns: bigint | undefined): string {
  if (ns === undefined) return UNKNOWN;
  const date = new Date(toMillis(ns));
  const pad = (value: number): string => String(value).padStart(2, "0");
  return (
    `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ` +
    `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`
  );
}

/** The same in RFC 3339, in UTC, to the nanosecond. */
export function exactTime(ns: bigint): string {
  const seconds = ns >= 0n ? ns / SECOND : (ns - SECOND + 1n) / SECOND;
  const fraction = String(ns - seconds * SECOND).padStart(9, "0");
  return new Date(Number(seconds) * 1000).toISOString().replace(".000Z", `.${fraction}Z`);
}

const STEPS: [number, string][] = [
  [60, "s"],
  [60, "min"],
  [24, "h"],
  [Number.POSITIVE_INFINITY, "d"],
];

/** How long ago a time was: `now`, `12 s ago`, `3 d ago`; in the future: `now`. */
export function ago(ns: bigint, nowMillis: number): string {
  let value = Math.floor((nowMillis - toMillis(ns)) / 1000);
  if (value < 2) return "now";
  for (const [size, unit] of STEPS) {
    if (value < size) return `${value} ${unit} ago`;
    value = Math.floor(value / size);
  }
  return UNKNOWN;
}

/** What is in the filter box as a filter of the server: one word is looked for in names. */
export function toFilter(text: string): string {
  const word = text.trim();
  return /^[\p{L}\p{N}_.@/-]+$/u.test(word) ? `name:"${word}"` : word;
}

/** A sentence, or the beginning of one. */
export const capital = (text: string): string =>
  text.replace(/^./u, (first) => first.toUpperCase());

const UNITS: Record<string, bigint> = {
  s: SECOND,
  m: 60n * SECOND,
  min: 60n * SECOND,
  h: HOUR_NS,
  d: DAY_SECONDS * SECOND,
};

/** `90s`, `15 min`, `6h`, `2d` in nanoseconds; undefined: it is none, or more than ten years. */
export function toDuration(text: string): bigint | undefined {
  const [, digits = "", unit = ""] = /^\s*(\d{1,9})\s*(s|m|min|h|d)\s*$/i.exec(text) ?? [];
  const size = UNITS[unit.toLowerCase()];
  if (size === undefined) return undefined;
  const ns = BigInt(digits) * size;
  return ns > 0n && ns <= 3653n * DAY_SECONDS * SECOND ? ns : undefined;
}

/** Durations at an axis, as short as they can be told: `1.5 s`. */
export function shortDuration(ns: number): string {
  const of = (size: number, unit: string): string =>
    `${Number((ns / size).toPrecision(4))} ${unit}`;
  const value = Math.abs(ns);
  if (value === 0) return "0";
  if (value < 1e3) return of(1, "ns");
  if (value < 1e6) return of(1e3, "µs");
  if (value < 1e9) return of(1e6, "ms");
  if (value < 120e9) return of(1e9, "s");
  if (value < 7200e9) return of(60e9, "min");
  if (value < 172_800e9) return of(3600e9, "h");
  return of(86_400e9, "d");
}

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** A number of a metric with four digits, and its unit (UCUM) as people write it. */
export function measure(value: number, unit: string): string {
  if (!Number.isFinite(value)) return String(value);
  if (unit === "s") return shortDuration(value * 1e9);
  if (unit === "ms") return shortDuration(value * 1e6);
  if (unit === "By") {
    const size = Math.min(
      Math.max(Math.floor(Math.log2(Math.max(Math.abs(value), 1)) / 10), 0),
      BYTES.length - 1,
    );
    return `${Number((value / 1024 ** size).toPrecision(4))} ${BYTES[size]}`;
  }
  const size = Math.abs(value);
  const text =
    size !== 0 && (size < 1e-3 || size >= 1e9)
      ? value.toExponential(3).replace(/\.?0*e\+?/, "e")
      : Number(value.toPrecision(size >= 1e4 ? 6 : 4)).toLocaleString("en-US", {
          maximumFractionDigits: 8,
        });
  return unit === "" || unit === "1" || unit.startsWith("{") ? text : `${text} ${unit}`;
}
