// The runs of a project, as many as somebody scrolls to: page after page, and those that can be
// seen asked for again as they change.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Run } from "../gen/headway/v1/run_service_pb.js";
import { toFilter } from "./format.ts";
import { isAway, runs as service } from "./session.ts";

const PAGE = 200;
const AGAIN_MS = 10_000;
const RETRY_MS = 2_000;

export interface RunList {
  runs: readonly Run[];
  /** That was all. */
  whole: boolean;
  error: unknown;
  /** The runs are those of another question, until the answer comes. */
  stale: boolean;
  /** Nothing has been answered yet. */
  fresh: boolean;
  /** So many are wanted, and those in [first, last] can be seen. */
  want(count: number, first: number, last: number): void;
}

interface Kept {
  key: string;
  pages: readonly (readonly Run[])[];
  /** [pages + 1] what each page is asked for by; the last one: undefined where that was all. */
  tokens: readonly (string | undefined)[];
  error: unknown;
}

/** When `news` changes what can be seen is asked for again. */
export function useRunList(project: string, filter: string, order: string, news: number): RunList {
  const key = JSON.stringify([project, filter, order]);
  const [kept, setKept] = useState<Kept>();
  const wanted = useRef({ count: PAGE, first: 0, last: 0 });
  const wake = useRef<(again: boolean) => void>(() => undefined);

  useEffect(() => {
    const ended = new AbortController();
    let now: Kept = { key, pages: [], tokens: [""], error: undefined };
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking = false;
    let again = false;
    wanted.current = { count: PAGE, first: 0, last: 0 };
    const ask = (pageToken: string): ReturnType<typeof service.listRuns> =>
      service.listRuns(
        {
          project,
          filter: toFilter(filter),
          orderBy: order,
          pageToken,
          pageSize: PAGE,
          withDigest: true,
        },
        { signal: ended.signal },
      );
    const put = (page: number, rows: readonly Run[], next: string): void => {
      const pages = [...now.pages];
      pages[page] = rows;
      const tokens = [...now.tokens];
      // What is behind a page is as it was: only the last one says whether there is more.
      if (page + 1 === pages.length) tokens[page + 1] = next === "" ? undefined : next;
      now = { key, pages, tokens, error: undefined };
      setKept(now);
    };
    // The pages that are missing, then those that can be seen once more.
    const round = async (): Promise<void> => {
      const { count } = wanted.current;
      while (now.pages.length * PAGE < count || now.pages.length === 0) {
        const token = now.tokens[now.pages.length];
        if (token === undefined) break;
        const { runs, nextPageToken } = await ask(token);
        put(now.pages.length, runs, nextPageToken);
      }
      if (!again) return;
      again = false;
      const { first, last } = wanted.current;
      for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); ++page) {
        const token = now.tokens[page];
        if (token === undefined || page >= now.pages.length) break;
        const { runs, nextPageToken } = await ask(token);
        put(page, runs, nextPageToken);
      }
    };
    const run = async (): Promise<void> => {
      if (asking) return;
      asking = true;
      clearTimeout(timer);
      let error: unknown;
      try {
        await round();
      } catch (thrown) {
        error = thrown;
      }
      asking = false;
      if (ended.signal.aborted) return;
      if (error !== undefined) {
        now = { ...now, error };
        setKept(now);
      }
      timer = setTimeout(() => wake.current(true), isAway(error) ? RETRY_MS : AGAIN_MS);
    };
    wake.current = (more: boolean): void => {
      again ||= more;
      if (document.hidden) {
        const seen = (): void => wake.current(true);
        const { signal } = ended;
        document.addEventListener("visibilitychange", seen, { once: true, signal });
        return;
      }
      void run();
    };
    void run();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [key]);

  useEffect(() => {
    if (news > 0) wake.current(true);
  }, [news]);

  const pages = kept?.pages ?? [];
  const seen = new Set<string>();
  // One that moved from page to page between two answers is there once.
  const all = pages.flat().filter(({ uid }) => !seen.has(uid) && seen.add(uid));
  return {
    runs: all,
    whole: kept !== undefined && kept.tokens[pages.length] === undefined,
    error: kept?.error,
    stale: kept !== undefined && kept.key !== key,
    fresh: kept === undefined || (pages.length === 0 && kept.error === undefined),
    want: (count, first, last) => {
      const more = count > wanted.current.count;
      wanted.current = { count: Math.max(count, PAGE), first, last };
      if (more) wake.current(false);
    },
  };
}
