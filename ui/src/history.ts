// Goodput over time, out of what a run's time is made of column by column. Pure.

/** One kind of time: which look it has (a place in LOOKS), what its program called it. */
export interface Part {
  look: number;
  name: string;
  /** [columns] */
  ns: readonly number[];
  /** What there was of it before the first column. */
  before: number;
}
export interface History {
  /** [columns] when each column ends, in seconds since 1970. */
  ends: readonly number[];
  /** [columns] time that counts, and what there was of it before. */
  elapsed: readonly number[];
  elapsedBefore: number;
  parts: readonly Part[];
}

/** [columns] share of the time of each column that a kind takes; null where nothing elapsed. */
export function shareOf(history: History, of: (part: Part) => boolean): (number | null)[] {
  const parts = history.parts.filter(of);
  return history.elapsed.map((elapsed, i) => {
    if (elapsed <= 0) return null;
    return parts.reduce((sum, part) => sum + (part.ns[i] ?? 0), 0) / elapsed;
  });
}

/** [columns] the share of all that has elapsed up to the end of each column. */
export function shareSoFar(history: History, of: (part: Part) => boolean): (number | null)[] {
  const parts = history.parts.filter(of);
  let part = parts.reduce((sum, one) => sum + one.before, 0);
  let elapsed = history.elapsedBefore;
  return history.elapsed.map((ns, i) => {
    part += parts.reduce((sum, one) => sum + (one.ns[i] ?? 0), 0);
    elapsed += ns;
    return elapsed > 0 ? part / elapsed : null;
  });
}

/** [columns] seconds up to the end of each column. */
export function secondsSoFar(part: Part): number[] {
  let sum = part.before;
  return part.ns.map((ns) => (sum += ns) / 1e9);
}

/**
 * One upon the other, each with what lies below it added: the first one is the lowest. null where
 * the first one is not known.
 */
export function stacked(rows: readonly (readonly (number | null)[])[]): (number | null)[][] {
  const sums: (number | null)[][] = [];
  for (const row of rows) {
    const below = sums.at(-1);
    sums.push(
      row.map((value, i) => {
        const base = below === undefined ? 0 : (below[i] ?? null);
        return value === null || base === null ? null : base + value;
      }),
    );
  }
  return sums;
}

/** Kinds of time that are lost, those first of which there is most; the rest together. */
export function largest(parts: readonly Part[], most: number): Part[] {
  const total = (part: Part): number => part.ns.reduce((sum, ns) => sum + ns, part.before);
  const sorted = [...parts].sort((a, b) => total(b) - total(a)).filter((part) => total(part) > 0);
  if (sorted.length <= most) return sorted;
  const kept = sorted.slice(0, most - 1);
  const rest = sorted.slice(most - 1);
  const first = rest[0];
  if (first === undefined) return kept;
  return [
    ...kept,
    {
      look: -1,
      name: `${rest.length} others`,
      ns: first.ns.map((_, i) => rest.reduce((sum, part) => sum + (part.ns[i] ?? 0), 0)),
      before: rest.reduce((sum, part) => sum + part.before, 0),
    },
  ];
}
