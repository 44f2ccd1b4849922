// The stretch of time that a timeline shows, and how it moves. In nanoseconds from the beginning of
// the run: as numbers they are exact up to 104 days, and to a few nanoseconds beyond. Pure.

export interface Window {
  begin: number;
  end: number;
}

/** As much as can be looked at, and as little: a microsecond. */
export interface Bounds {
  begin: number;
  end: number;
}
export const LEAST_NS = 1_000;

export const lengthOf = (window: Window): number => window.end - window.begin;

/** The same length, or as much of it as there is, within the bounds. */
export function clamp(window: Window, bounds: Bounds): Window {
  const room = Math.max(bounds.end - bounds.begin, LEAST_NS);
  const length = Math.min(Math.max(lengthOf(window), LEAST_NS), room);
  const begin = Math.min(Math.max(window.begin, bounds.begin), bounds.begin + room - length);
  return { begin, end: begin + length };
}

/** `factor` below 1 shows less; what lies at `share` (0 to 1) of the window stays there. */
export function zoom(window: Window, factor: number, share: number, bounds: Bounds): Window {
  const room = Math.max(bounds.end - bounds.begin, LEAST_NS);
  const length = Math.min(Math.max(lengthOf(window) * factor, LEAST_NS), room);
  const fixed = window.begin + lengthOf(window) * share;
  const begin = fixed - length * share;
  return clamp({ begin, end: begin + length }, bounds);
}

/** Later by that share of its length. */
export function pan(window: Window, share: number, bounds: Bounds): Window {
  const by = lengthOf(window) * share;
  return clamp({ begin: window.begin + by, end: window.end + by }, bounds);
}

/** So that an instant is seen, in the middle if it was not. */
export function reveal(window: Window, at: number, bounds: Bounds): Window {
  if (at >= window.begin && at <= window.end) return window;
  const half = lengthOf(window) / 2;
  return clamp({ begin: at - half, end: at + half }, bounds);
}

/** What to ask for so that a window can be moved without asking again: as much on both sides. */
export function withMargin(window: Window, bounds: Bounds): Window {
  const length = lengthOf(window);
  return {
    begin: Math.max(bounds.begin, window.begin - length),
    end: Math.min(bounds.end, window.end + length),
  };
}

/** Of instants in order: the first behind `at`, or the last before it; undefined: there is none. */
export function neighbour(
  instants: readonly number[],
  at: number,
  step: 1 | -1,
): number | undefined {
  return step === 1 ? instants.find((one) => one > at) : instants.findLast((one) => one < at);
}
