// Where a time axis has its ticks, and what stands at them: on the reader's clock. Pure.
import { toMillis } from "./format.ts";

export interface Tick {
  ns: bigint;
  label: string;
  /** A day, or whatever else is larger than the step, begins here. */
  major: boolean;
}

const US = 1_000n;
const MS = 1_000_000n;
const SECOND = 1_000_000_000n;

// Steps that divide the next larger unit.
const SMALL: readonly bigint[] = [1n, US, MS].flatMap((unit) =>
  [1n, 2n, 5n, 10n, 20n, 50n, 100n, 200n, 500n].map((count) => count * unit),
);
const CLOCK: readonly number[] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600].concat(
  [2, 3, 6, 12].map((hours) => hours * 3600),
); // seconds
const DAYS: readonly number[] = [1, 2, 5, 10];
const MONTHS: readonly number[] = [1, 3, 6, 12, 60, 120];
const DAY_MS = 86_400_000;
const MONTH_MS = 30 * DAY_MS;

const two = (value: number): string => String(value).padStart(2, "0");
const MONTH_NAMES = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

const monthOf = (date: Date): string => MONTH_NAMES[date.getMonth()] ?? "";
const dayLabel = (date: Date): string => `${monthOf(date)} ${date.getDate()}`;
const minuteLabel = (date: Date): string => `${two(date.getHours())}:${two(date.getMinutes())}`;
const secondLabel = (date: Date): string => `${minuteLabel(date)}:${two(date.getSeconds())}`;

const fromMillis = (ms: number): bigint => BigInt(ms) * MS;

/** Ticks of [begin, end] that lie at least `gapPx` apart on `widthPx`. */
export function ticksOf(begin: bigint, end: bigint, widthPx: number, gapPx: number): Tick[] {
  const most = Math.max(1, Math.floor(widthPx / gapPx));
  if (end <= begin) return [];
  const least = Number(end - begin) / most; // ns a step has at least
  const small = SMALL.find((step) => Number(step) >= least);
  if (small !== undefined && small < SECOND) return smallTicks(begin, end, small);
  const seconds = CLOCK.find((step) => step * 1e9 >= least);
  if (seconds !== undefined) return clockTicks(begin, end, seconds);
  const days = DAYS.find((step) => step * DAY_MS * 1e6 >= least);
  if (days !== undefined) return dayTicks(begin, end, days);
  const months = MONTHS.find((step) => step * MONTH_MS * 1e6 >= least) ?? 1200;
  return monthTicks(begin, end, months);
}

// Parts of a second: the second itself is written where one begins.
function smallTicks(begin: bigint, end: bigint, step: bigint): Tick[] {
  const ticks: Tick[] = [];
  for (let ns = ((begin + step - 1n) / step) * step; ns <= end; ns += step) {
    const rest = ns % SECOND;
    const date = new Date(toMillis(ns - rest));
    if (rest === 0n) ticks.push({ ns, label: secondLabel(date), major: true });
    else if (step >= MS) ticks.push({ ns, label: `+${rest / MS} ms`, major: false });
    else if (step >= US) ticks.push({ ns, label: `+${Number(rest / US) / 1e3} ms`, major: false });
    else ticks.push({ ns, label: `+${Number(rest) / 1e3} µs`, major: false });
  }
  return ticks;
}

// Times of a day, as clocks there have them: where they are put back or forward, too.
function clockTicks(begin: bigint, end: bigint, seconds: number): Tick[] {
  const ticks: Tick[] = [];
  const first = new Date(toMillis(begin));
  first.setMilliseconds(0);
  if (seconds >= 3600) first.setHours(0, 0, 0);
  else first.setMinutes(0, 0);
  const endMs = toMillis(end);
  let ms = first.getTime();
  while (ms <= endMs) {
    const date = new Date(ms);
    const ns = fromMillis(ms);
    if (ns >= begin && ns <= end) {
      const midnight = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
      const label = seconds < 60 ? secondLabel(date) : minuteLabel(date);
      ticks.push({ ns, label: midnight ? dayLabel(date) : label, major: midnight });
    }
    if (seconds <= 3600) {
      ms += seconds * 1000;
      continue;
    }
    // The next whole hour that the step divides, however many hours this day has.
    const hours = seconds / 3600;
    const next = new Date(ms);
    next.setHours((Math.floor(next.getHours() / hours) + 1) * hours, 0, 0, 0);
    ms = next.getTime() > ms ? next.getTime() : ms + 3_600_000;
  }
  return ticks;
}

function dayTicks(begin: bigint, end: bigint, days: number): Tick[] {
  const ticks: Tick[] = [];
  const date = new Date(toMillis(begin));
  date.setHours(0, 0, 0, 0);
  for (; date.getTime() <= toMillis(end); date.setDate(date.getDate() + 1)) {
    const day = date.getDate();
    const wanted = day === 1 || (days === 1 ? true : day % days === 1 && day <= 31 - days + 1);
    const ns = fromMillis(date.getTime());
    if (!wanted || ns < begin || ns > end) continue;
    ticks.push({ ns, label: dayLabel(date), major: day === 1 });
  }
  return ticks;
}

function monthTicks(begin: bigint, end: bigint, months: number): Tick[] {
  const ticks: Tick[] = [];
  const date = new Date(toMillis(begin));
  date.setHours(0, 0, 0, 0);
  date.setDate(1);
  date.setMonth(0);
  if (months > 12) date.setFullYear(Math.floor(date.getFullYear() / (months / 12)) * (months / 12));
  for (; date.getTime() <= toMillis(end); date.setMonth(date.getMonth() + months)) {
    const ns = fromMillis(date.getTime());
    if (ns < begin || ns > end) continue;
    const year = date.getMonth() === 0;
    const name = String(date.getFullYear());
    const label = months >= 12 ? name : `${monthOf(date)} ${name}`;
    ticks.push({ ns, label, major: year });
  }
  return ticks;
}
