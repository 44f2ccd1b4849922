// How goodput went: over all so far and over each hour or day, and what was lost to what.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Report } from "../gen/headway/v1/report_pb.js";
import { go, runAddress, type TimeQuery } from "./address.ts";
import { useAnswer } from "./answer.ts";
import { LOOKS } from "./categories.ts";
import { Chart, type Line } from "./chart.tsx";
import { duration, HOUR_NS, percent } from "./format.ts";
import { largest, type Part, shareOf, shareSoFar, stacked } from "./history.ts";
import { Failure, Skeleton } from "./parts.tsx";
import { mayMove, selection } from "./report.ts";
import { views } from "./session.ts";
import { historyOf } from "./views.ts";

const AGAIN_MS = 10_000;
const COLUMNS = 300;
const KINDS_MOST = 8;
const PRODUCTIVE = LOOKS.findIndex((look) => look.name === "productive");

const isGood = (part: Part): boolean => part.look === PRODUCTIVE;

/** How long to look back, where the run is long enough for it to differ from the whole. */
const ROLLING: [label: string, ns: bigint][] = [
  ["each column", 0n],
  ["1 h", HOUR_NS],
  ["24 h", 24n * HOUR_NS],
];

export function OverTime(props: {
  project: string;
  run: string;
  time: TimeQuery;
  report: Report;
}): JSX.Element | null {
  const { project, run, time, report } = props;
  const elapsed = report.elapsedNs;
  const offered = ROLLING.filter(([, ns]) => ns * 2n <= elapsed);
  const [rolling, setRolling] = useState(0n);
  const used = offered.some(([, ns]) => ns === rolling) ? rolling : 0n;
  const { value, error, stale } = useAnswer(
    JSON.stringify(["history", project, run, time, String(used)]),
    (signal) =>
      views.getHistory(
        { project, run, time: selection(time), columns: COLUMNS, rollingNs: used },
        { signal },
      ),
    () => (mayMove(report, time) ? AGAIN_MS : undefined),
  );
  const history = useMemo(() => (value === undefined ? undefined : historyOf(value)), [value]);
  const zoom = (from: number | undefined, to: number | undefined): void => {
    const at = (seconds: number): string => `@${BigInt(Math.round(seconds * 1e6)) * 1000n}`;
    const kept = time.asOf === undefined ? {} : { asOf: time.asOf };
    const part = from === undefined || to === undefined ? {} : { from: at(from), to: at(to) };
    go(runAddress(project, run, { ...kept, ...part }));
  };
  if (elapsed === 0n) return null;
  if (history === undefined) {
    return (
      <section>
        <h2>Over time</h2>
        <Failure error={error} />
        {error === undefined && <Skeleton rows={6} />}
      </section>
    );
  }
  const column = (history.ends[1] ?? 0) - (history.ends[0] ?? 0);
  const span = used === 0n ? duration(BigInt(Math.round(column * 1e9))) : duration(used);
  const goodput: Line[] = [
    {
      label: `Goodput, ${span}`,
      color: "var(--category-productive)",
      values: shareOf(history, isGood),
    },
  ];
  // What looks back counts the same time in many columns.
  if (used === 0n) {
    const values = shareSoFar(history, isGood);
    goodput.push({ label: "since the start", color: "var(--muted)", values, dashed: true });
  }
  const lost = largest(
    history.parts.filter((part) => !isGood(part)),
    KINDS_MOST,
  );
  const shares = lost.map((part) => shareOf({ ...history, parts: [part] }, () => true));
  const sums = stacked(shares);
  const losses = lost.map((part, i): Line => {
    const look = LOOKS[part.look];
    const label = look === undefined ? part.name : look.label;
    return {
      label: look !== undefined && part.name !== "" ? `${label}: ${part.name}` : label,
      color: look === undefined ? "var(--muted)" : `var(--category-${look.name})`,
      values: sums[i] ?? [],
      shown: shares[i] ?? [],
      filled: true,
    };
  });
  const format = (share: number): string => `${percent(share)} %`;
  const axis = (share: number): string => `${Number((share * 100).toFixed(2))} %`;
  return (
    <section class={stale ? "stale" : ""}>
      <div class="spread">
        <h2>Over time</h2>
        {offered.length > 1 && (
          <div class="windows" role="group" aria-label="How long each value looks back">
            {offered.map(([label, ns]) => (
              <button
                key={label}
                type="button"
                class="quiet"
                aria-pressed={ns === used}
                onClick={() => setRolling(ns)}
              >
                {label}
              </button>
            ))}
          </div>
        )}
      </div>
      <Failure error={error} />
      <div class="pair">
        <Chart
          label="Goodput over time, in percent"
          times={history.ends}
          lines={goodput}
          range={[0, 1]}
          format={format}
          axis={axis}
          onZoom={zoom}
        />
        {losses.length > 0 && (
          <Chart
            label="Time that was lost, by its cause, in percent of the elapsed time"
            times={history.ends}
            lines={losses}
            format={format}
            axis={axis}
            onZoom={zoom}
          />
        )}
      </div>
    </section>
  );
}
