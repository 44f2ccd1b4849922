// What the server tells of a run as it happens.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { EventParser } from "./event_stream.ts";
import { authorization } from "./session.ts";

const RETRY_MS = 1_000;
const RETRY_MOST_MS = 15_000;
const CHANGES = new Set(["run", "report", "problem", "gone", "reset"]);

export interface Live {
  /** `off`: nothing is told, and whoever wants to know asks. */
  state: "off" | "on" | "lost";
  /** How often something was told that changes what is shown. */
  changes: number;
  /** When something was told last, and since when the connection is lost: ms since 1970. */
  heard: number;
  since: number;
}
const OFF: Live = { state: "off", changes: 0, heard: 0, since: 0 };

/**
 * Follows a run, or all runs of a project, as long as that is wanted. A connection that is lost is
 * made again.
 */
export function useLive(project: string, run: string | undefined, wanted: boolean): Live {
  const [live, setLive] = useState<Live>(OFF);
  useEffect(() => {
    if (!wanted) {
      setLive(OFF);
      return;
    }
    const ended = new AbortController();
    const { signal } = ended;
    let last = "";
    let wait = RETRY_MS;
    const told = (event: string): void =>
      setLive((before) => ({
        state: "on",
        changes: before.changes + (CHANGES.has(event) ? 1 : 0),
        heard: Date.now(),
        since: 0,
      }));
    // Whether it is worth another try.
    const follow = async (): Promise<boolean> => {
      const query = new URLSearchParams({ project, ...(run === undefined ? {} : { run }) });
      const headers = { ...authorization(), ...(last === "" ? {} : { "Last-Event-ID": last }) };
      const answer = await fetch(`/live?${query.toString()}`, { headers, signal });
      if (!answer.ok || answer.body === null) return answer.status >= 500 || answer.status === 429;
      const parser = new EventParser();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      while (true) {
        const { done, value } = await reader.read();
        if (done) return true;
        for (const { event, id } of parser.feed(value)) {
          last = id;
          wait = RETRY_MS;
          if (event === "end") return false;
          told(event);
        }
        wait = Math.max(RETRY_MS, Math.min(parser.retryMs ?? wait, RETRY_MOST_MS));
      }
    };
    const loop = async (): Promise<void> => {
      while (!signal.aborted) {
        let again = true;
        try {
          again = await follow();
        } catch {
          // The server can't be reached, or the connection broke.
        }
        if (signal.aborted) return;
        if (!again) {
          setLive(OFF);
          return;
        }
        setLive((before) => ({ ...before, state: "lost", since: before.since || Date.now() }));
        await new Promise((resolve) => setTimeout(resolve, wait));
        wait = Math.min(wait * 2, RETRY_MOST_MS);
      }
    };
    void loop();
    return () => ended.abort();
  }, [project, run, wanted]);
  return live;
}

/** How fresh what is shown is. */
export function LiveBadge({ live }: { live: Live }): JSX.Element | null {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (live.state === "off") return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [live.state]);
  if (live.state === "off") return null;
  const since = (at: number): string => {
    const seconds = Math.max(0, Math.floor((Math.max(now, Date.now()) - at) / 1000));
    return seconds < 1 ? "just now" : `${seconds} s ago`;
  };
  return live.state === "on" ? (
    <span class="live small" title="The server tells what changes">
      live · updated {since(live.heard)}
    </span>
  ) : (
    <span class="live lost small" role="status">
      connection lost {since(live.since)}, trying again
    </span>
  );
}
