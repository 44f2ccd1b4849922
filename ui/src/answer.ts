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
 * undefined: never again. A server that can't be reached is asked until it can. When `news` changes
 * the same is asked again, at once or after the answer that is on its way.
 */
export function useAnswer<T>(
  key: string,
  ask: (signal: AbortSignal) => Promise<T>,
  againMs: (value: T | undefined) => number | undefined,
  news = 0,
): Answer<T> {
  const [kept, setKept] = useState<Kept<T>>({ key, value: undefined, error: undefined });
  const latest = useRef({ ask, againMs });
  latest.current = { ask, againMs };
  const hurry = useRef<() => void>(() => undefined);
  useEffect(() => {
    if (news > 0) hurry.current();
  }, [news]);

  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let value: T | undefined;
    let asking = false;
    let hurried = false;
    const round = async (): Promise<void> => {
      let error: unknown;
      asking = true;
      hurried = false;
      try {
        value = await latest.current.ask(ended.signal);
      } catch (thrown) {
        error = thrown;
      }
      asking = false;
      if (ended.signal.aborted) return;
      setKept({ key, value, error });
      const usual = isAway(error) ? RETRY_MS : latest.current.againMs(value);
      const ms = hurried ? 0 : usual;
      if (ms !== undefined) timer = setTimeout(later, ms);
    };
    const later = (): void => {
      if (!document.hidden) void round();
      else
        document.addEventListener("visibilitychange", later, { once: true, signal: ended.signal });
    };
    hurry.current = (): void => {
      hurried = true;
      if (asking) return;
      clearTimeout(timer);
      later();
    };
    void round();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [key]);

  return { value: kept.value, error: kept.error, stale: kept.key !== key };
}
