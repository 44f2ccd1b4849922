// What a timeline shows, one lane an attempt: exact intervals where there is room for each, else
// columns of equal length with what they are made of. Pure.

/** Kinds of time are places in LOOKS (categories.ts). */
export interface Exact {
  kind: "exact";
  /** [n] in order, as nanoseconds from the beginning of the run. */
  begins: Float64Array;
  ends: Float64Array;
  looks: Uint8Array;
}
export interface Mixed {
  kind: "mixed";
  begin: number;
  columnNs: number;
  /** [columns * LOOKS] nanoseconds of each kind of time in each column. */
  parts: Float64Array;
  columns: number;
}
export interface Lane {
  attempt: bigint | undefined;
  begin: number;
  end: number;
  time: Exact | Mixed;
}

/** How finely a column shows what it is made of. */
export const LEVELS = 16;

/**
 * A picture of mixed columns, [LEVELS * columns] colours from the top: each column is filled from
 * the bottom by its kinds of time in the order of LOOKS, as far as they fill it. What fills less
 * than a level is seen if it is half of one, or nothing else is there. 0 where nothing is.
 */
export function pictureOf(mixed: Mixed, colors: Uint32Array): Uint32Array {
  const { columns, parts, columnNs } = mixed;
  const kinds = colors.length;
  const pixels = new Uint32Array(LEVELS * columns);
  for (let column = 0; column < columns; ++column) {
    let sum = 0;
    let filled = 0;
    for (let kind = 0; kind < kinds; ++kind) {
      const ns = parts[column * kinds + kind] ?? 0;
      if (ns <= 0) continue;
      sum += ns;
      const top = Math.max(filled, Math.min(LEVELS, Math.round((sum / columnNs) * LEVELS)));
      const color = colors[kind] ?? 0;
      for (let level = filled; level < top; ++level) {
        pixels[(LEVELS - 1 - level) * columns + column] = color;
      }
      filled = top;
    }
  }
  return pixels;
}

/** All lanes in one; they are in order, and of one answer: all exact, or cut into equal columns. */
export function together(lanes: readonly Lane[], kinds: number): Lane | undefined {
  const [first, last] = [lanes[0], lanes.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const kept = { attempt: undefined, begin: first.begin, end: last.end };
  if (first.time.kind === "exact") {
    const exact = lanes.flatMap(({ time }) => (time.kind === "exact" ? [time] : []));
    const time: Exact = {
      kind: "exact",
      begins: Float64Array.from(exact.flatMap((one) => [...one.begins])),
      ends: Float64Array.from(exact.flatMap((one) => [...one.ends])),
      looks: Uint8Array.from(exact.flatMap((one) => [...one.looks])),
    };
    return { ...kept, time };
  }
  const mixed = lanes.flatMap(({ time }) => (time.kind === "mixed" ? [time] : []));
  const { begin, columnNs } = first.time;
  const placeOf = (one: Mixed): number => Math.round((one.begin - begin) / columnNs);
  const columns = Math.max(...mixed.map((one) => placeOf(one) + one.columns));
  const parts = new Float64Array(columns * kinds);
  for (const one of mixed) {
    const from = placeOf(one) * kinds;
    one.parts.forEach((ns, i) => {
      parts[from + i] = (parts[from + i] ?? 0) + ns;
    });
  }
  return { ...kept, time: { kind: "mixed", begin, columnNs, columns, parts } };
}

/** Where most of the time is of that kind: stretches in order, those that touch as one. */
export function stretchesOf(lane: Lane, look: number, kinds: number): [number, number][] {
  const found: [number, number][] = [];
  const add = (begin: number, end: number): void => {
    const last = found.at(-1);
    if (last !== undefined && last[1] >= begin) last[1] = Math.max(last[1], end);
    else found.push([begin, end]);
  };
  const { time } = lane;
  if (time.kind === "exact") {
    for (let i = 0; i < time.looks.length; ++i) {
      if (time.looks[i] === look) add(time.begins[i] ?? 0, time.ends[i] ?? 0);
    }
    return found;
  }
  for (let column = 0; column < time.columns; ++column) {
    const ns = time.parts[column * kinds + look] ?? 0;
    if (ns * 2 <= time.columnNs) continue;
    const begin = time.begin + column * time.columnNs;
    add(begin, begin + time.columnNs);
  }
  return found;
}

/** What a lane is made of at an instant: of the interval or the column there. */
export interface At {
  begin: number;
  end: number;
  /** Kinds of time and how long, the most first. */
  parts: [look: number, ns: number][];
  exact: boolean;
  /** Its place among the intervals of the lane. */
  index: number;
}
export function at(lane: Lane, instant: number, kinds: number): At | undefined {
  const { time } = lane;
  if (time.kind === "exact") {
    // The last that begins at or before it.
    let low = 0;
    let high = time.begins.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((time.begins[middle] ?? 0) <= instant) low = middle + 1;
      else high = middle;
    }
    const index = low - 1;
    const [begin, end] = [time.begins[index], time.ends[index]];
    if (begin === undefined || end === undefined || instant >= end) return undefined;
    return { begin, end, parts: [[time.looks[index] ?? 0, end - begin]], exact: true, index };
  }
  const index = Math.floor((instant - time.begin) / time.columnNs);
  if (index < 0 || index >= time.columns) return undefined;
  const parts: [number, number][] = [];
  for (let kind = 0; kind < kinds; ++kind) {
    const ns = time.parts[index * kinds + kind] ?? 0;
    if (ns > 0) parts.push([kind, ns]);
  }
  if (parts.length === 0) return undefined;
  parts.sort((a, b) => b[1] - a[1]);
  const begin = time.begin + index * time.columnNs;
  return { begin, end: begin + time.columnNs, parts, exact: false, index };
}
