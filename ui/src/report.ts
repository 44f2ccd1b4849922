// The report of a run, kept fresh: by what the server tells while it lives, else by asking again.
import { useEffect, useState } from "preact/hooks";
import type { Report } from "../gen/headway/v1/report_pb.js";
import type { TimeQuery } from "./address.ts";
import { type Answer, useAnswer } from "./answer.ts";
import { type Live, useLive } from "./live.tsx";
import { isLive } from "./parts.tsx";
import { runs } from "./session.ts";

const AGAIN_MS = 2_000;

/** As the server takes it; it also says what is wrong with it. */
export function selection(time: TimeQuery): Record<string, unknown> {
  const { from, to, last, asOf } = time;
  const lastNs = last !== undefined && /^\d{1,18}$/.test(last) ? BigInt(last) : undefined;
  return { from, to, lastNs: last === undefined ? undefined : (lastNs ?? -1n), asOf };
}

/** Whether what is shown of a run changes by itself. */
export function mayMove(report: Report | undefined, time: TimeQuery): boolean {
  const moves = time.asOf === undefined && time.to === undefined;
  return report !== undefined && isLive(report.state) && moves;
}

export function useReport(
  project: string,
  run: string,
  time: TimeQuery,
): Answer<Report> & { live: Live } {
  const [moving, setMoving] = useState(false);
  const live = useLive(project, run, moving);
  const answer = useAnswer(
    JSON.stringify([project, run, time]),
    (signal) => runs.getReport({ project, run, time: selection(time) }, { signal }),
    (report) => (mayMove(report, time) && live.state !== "on" ? AGAIN_MS : undefined),
    live.changes,
  );
  useEffect(() => setMoving(mayMove(answer.value, time)), [answer.value, time]);
  return { ...answer, live };
}
