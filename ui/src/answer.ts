// What the server answers to a question that a view asks, kept fresh while somebody looks.
import { useEffect, useRef, useState } from "preact/hooks";
import { isAway } from "./session.ts";

const RETRY_MS = 2_000;

export interface Answer<T> {
  value: T | undefined;
  /** What went wrong last; `value` is then that of before. */
  error: unknown;
  /** `value` is of another question, until the answer comes. */
  stale: boolean;
}

interface Kept<T> {
  key: string;
  value: T | undefined;
  error: unknown;
}

/**
 * Asks when `key` changes, and again `againMs(value)` after each answer while the page can be seen;
 * undefined: never again. A server that can't be reached is asked until it can.
 */
export function useAnswer<T>(
  key: string,
  ask: (signal: AbortSignal) => Promise<T>,
  againMs: (value: T | undefined) => number | undefined,
): Answer<T> {
  const [kept, setKept] = useState<Kept<T>>({ key, value: undefined, error: undefined });
  const latest = useRef({ ask, againMs });
  latest.current = { ask, againMs };

  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let value: T | undefined;
    const round = async (): Promise<void> => {
      let error: unknown;
      try {
        value = await latest.current.ask(ended.signal);
      } catch (thrown) {
        error = thrown;
      }
      if (ended.signal.aborted) return;
      setKept({ key, value, error });
      const ms = isAway(error) ? RETRY_MS : latest.current.againMs(value);
      if (ms !== undefined) timer = setTimeout(later, ms);
    };
    const later = (): void => {
      if (!document.hidden) void round();
      else
        document.addEventListener("visibilitychange", later, { once: true, signal: ended.signal });
    };
    void round();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [key]);

  return { value: kept.value, error: kept.error, stale: kept.key !== key };
}
