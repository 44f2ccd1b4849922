// How goodput went: over all so far and over each hour or day, what was lost to what, how the steps
// went meanwhile.
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { Report } from "../gen/headway/v1/report_pb.js";
import { StepAxis } from "../gen/headway/v1/view_service_pb.js";
import { go, type Look, runAddress, type TimeQuery } from "./address.ts";
import { useAnswer } from "./answer.ts";
import { toNs } from "./axes.ts";
import { LOOKS } from "./categories.ts";
import { Chart, type ChartMark, type Line } from "./chart.tsx";
import { count, duration, HOUR_NS, percent, shortDuration, toDuration } from "./format.ts";
import {
  type History,
  largest,
  type Part,
  secondsSoFar,
  shareOf,
  shareSoFar,
  stacked,
} from "./history.ts";
import { Choice, Failure, Skeleton } from "./parts.tsx";
import { mayMove, selection } from "./report.ts";
import { views } from "./session.ts";
import { historyOf, stepColumnsOf } from "./views.ts";

const AGAIN_MS = 10_000;
const COLUMNS = 300;
const KINDS_MOST = 8;
const TOGETHER = "over time";
const PRODUCTIVE = LOOKS.findIndex((look) => look.name === "productive");

const isGood = (part: Part): boolean => part.look === PRODUCTIVE;

/** How long to look back, where the run is long enough for it to differ from the whole. */
const ROLLING: [label: string, ns: bigint][] = [
  ["each column", 0n],
  ["1 h", HOUR_NS],
  ["24 h", 24n * HOUR_NS],
];
const SHOW: [name: string, label: string][] = [
  ["", "percent"],
  ["time", "time so far"],
];

interface Props {
  project: string;
  run: string;
  time: TimeQuery;
  look: Look;
  report: Report;
}

export function OverTime(props: Props): JSX.Element | null {
  const { project, run, time, look, report } = props;
  const elapsed = report.elapsedNs;
  const summed = look.show === "time";
  const asked = toDuration(look.rolling ?? "") ?? 0n;
  const rolling = summed || asked > elapsed ? 0n : asked;
  const { value, error, stale } = useAnswer(
    JSON.stringify(["history", project, run, time, String(rolling)]),
    (signal) =>
      views.getHistory(
        { project, run, time: selection(time), columns: COLUMNS, rollingNs: rolling },
        { signal },
      ),
    () => (mayMove(report, time) ? AGAIN_MS : undefined),
  );
  const history = useMemo(() => (value === undefined ? undefined : historyOf(value)), [value]);
  const zoom = (from: number | undefined, to: number | undefined): void => {
    const kept = time.asOf === undefined ? {} : { asOf: time.asOf };
    const all = from === undefined || to === undefined;
    const part = all ? {} : { from: `@${toNs(from)}`, to: `@${toNs(to)}` };
    go(runAddress(project, run, { ...kept, ...part }, "overview", look));
  };
  const marks = useMemo(
    () =>
      report.disruptions.map(
        (one): ChartMark => ({ at: Number(one.time / 1000n) / 1e6, label: "disruption" }),
      ),
    [report],
  );
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
  const Charts = summed ? Sums : Shares;
  return (
    <section class={stale ? "stale" : ""}>
      <div class="spread">
        <h2>Over time</h2>
        <Controls {...props} used={rolling} />
      </div>
      <Failure error={error} />
      <div class="pair">
        <Charts {...{ history, zoom, marks, rolling }} />
        <Steps {...{ ...props, zoom, marks }} />
      </div>
    </section>
  );
}

function Controls(props: Props & { used: bigint }): JSX.Element {
  const { project, run, time, look, report, used } = props;
  const custom = useRef<HTMLInputElement>(null);
  const show = (more: Look): void => {
    const next = { ...look, ...more };
    for (const key of ["rolling", "show"] as const) if (next[key] === "") delete next[key];
    go(runAddress(project, run, time, "overview", next), { replace: true });
  };
  const offered = ROLLING.filter(([, ns]) => ns * 2n <= report.elapsedNs);
  const seconds = (ns: bigint): string => (ns === 0n ? "" : `${ns / 1_000_000_000n}s`);
  const isCustom = !offered.some(([, ns]) => ns === used);
  return (
    <span class="windows">
      <Choice
        label="As"
        choices={SHOW}
        chosen={look.show ?? ""}
        onChoose={(chosen) => show({ show: chosen })}
      />
      {look.show === undefined && (
        <form
          class="custom"
          onSubmit={(event) => {
            event.preventDefault();
            const ns = toDuration(custom.current?.value ?? "");
            custom.current?.setCustomValidity(
              ns === undefined ? "A duration such as 90s, 30min, 6h or 2d" : "",
            );
            if (custom.current?.reportValidity() === true && ns !== undefined) {
              show({ rolling: seconds(ns) });
            }
          }}
        >
          <Choice
            label="Over"
            choices={offered.map(([label, ns]) => [seconds(ns), label])}
            chosen={isCustom ? "?" : seconds(used)}
            onChoose={(chosen) => show({ rolling: chosen })}
          />
          <input
            ref={custom}
            class="short"
            aria-label="Each value looks back so long"
            placeholder="6h"
            defaultValue={isCustom ? (look.rolling ?? "") : ""}
            onInput={(event) => event.currentTarget.setCustomValidity("")}
          />
        </form>
      )}
    </span>
  );
}

interface ChartsProps {
  history: History;
  rolling: bigint;
  marks: readonly ChartMark[];
  zoom: (from: number | undefined, to: number | undefined) => void;
}

const lostOf = (history: History): Part[] =>
  largest(
    history.parts.filter((part) => !isGood(part)),
    KINDS_MOST,
  );

function lineOf(part: Part, values: (number | null)[], shown: (number | null)[]): Line {
  const look = LOOKS[part.look];
  const label = look === undefined ? part.name : look.label;
  return {
    label: look !== undefined && part.name !== "" ? `${label}: ${part.name}` : label,
    color: look === undefined ? "var(--muted)" : `var(--category-${look.name})`,
    values,
    shown,
    filled: true,
  };
}

function areas(parts: readonly Part[], rows: readonly (number | null)[][]): Line[] {
  const sums = stacked(rows);
  return parts.map((part, i) => lineOf(part, sums[i] ?? [], rows[i] ?? []));
}

/** What of each column was productive, and what was lost to what. */
function Shares({ history, rolling, marks, zoom }: ChartsProps): JSX.Element {
  const column = (history.ends[1] ?? 0) - (history.ends[0] ?? 0);
  const span = rolling === 0n ? duration(BigInt(Math.round(column * 1e9))) : duration(rolling);
  const goodput: Line[] = [
    {
      label: `Goodput, ${span}`,
      color: "var(--category-productive)",
      values: shareOf(history, isGood),
    },
  ];
  // What looks back counts the same time in many columns.
  if (rolling === 0n) {
    const values = shareSoFar(history, isGood);
    goodput.push({ label: "since the start", color: "var(--muted)", values, dashed: true });
  }
  const lost = lostOf(history);
  const losses = areas(
    lost,
    lost.map((part) => shareOf({ ...history, parts: [part] }, () => true)),
  );
  const format = (share: number): string => `${percent(share)} %`;
  const axis = (share: number): string => `${Number((share * 100).toFixed(2))} %`;
  const more = { xs: history.ends, format, axis, marks, together: TOGETHER, onZoom: zoom };
  return (
    <>
      <Chart {...more} label="Goodput over time, in percent" lines={goodput} range={[0, 1]} />
      {losses.length > 0 && (
        <Chart
          {...more}
          label="Time that was lost, by its cause, in percent of the elapsed time"
          lines={losses}
        />
      )}
    </>
  );
}

/** How much time had been productive, and lost to what, by the end of each column. */
function Sums({ history, marks, zoom }: ChartsProps): JSX.Element {
  const nsOf = (part: Part): number[] => secondsSoFar(part).map((seconds) => seconds * 1e9);
  const good = history.parts.filter(isGood);
  let elapsed = history.elapsedBefore;
  const lines: Line[] = [
    ...areas(good, good.map(nsOf)),
    {
      label: "Elapsed",
      color: "var(--muted)",
      values: history.elapsed.map((ns) => (elapsed += ns)),
      dashed: true,
    },
  ];
  const lost = lostOf(history);
  const format = (ns: number): string => duration(BigInt(Math.round(ns)));
  const axis = shortDuration;
  const more = { xs: history.ends, format, axis, marks, together: TOGETHER, onZoom: zoom };
  return (
    <>
      <Chart {...more} label="Productive time so far, and what has elapsed" lines={lines} />
      {lost.length > 0 && (
        <Chart
          {...more}
          label="Time lost so far, by its cause"
          lines={areas(lost, lost.map(nsOf))}
        />
      )}
    </>
  );
}

/** How long steps took, how far they deviate, how far the run had come, what interrupted it. */
function Steps(props: Props & Pick<ChartsProps, "marks" | "zoom">): JSX.Element | null {
  const { project, run, time, report, marks, zoom } = props;
  const { value } = useAnswer(
    JSON.stringify(["steps", project, run, time]),
    (signal) =>
      views.getStepHistory(
        { project, run, time: selection(time), axis: StepAxis.TIME, columns: COLUMNS },
        { signal },
      ),
    () => (mayMove(report, time) ? AGAIN_MS : undefined),
  );
  const steps = useMemo(() => (value === undefined ? undefined : stepColumnsOf(value)), [value]);
  if (steps === undefined) return null;
  const ideal = value?.idealNs;
  const times: Line[] = [{ label: "Step time, median", color: "var(--accent)", values: steps.p50 }];
  if (ideal !== undefined) {
    times.push(
      {
        label: "deviation from the ideal",
        color: "var(--category-step_stall)",
        values: steps.p50.map((ns) => (ns == null ? ns : Math.abs(ns - Number(ideal)))),
      },
      {
        label: "ideal",
        color: "var(--category-productive)",
        values: steps.p50.map(() => Number(ideal)),
        dashed: true,
      },
    );
  }
  const disrupted = report.disruptions.map((one) => Number(one.time / 1000n) / 1e6);
  const progress: Line[] = [
    {
      label: "Last step that counts",
      color: "var(--category-productive)",
      values: steps.productive,
    },
    { label: "last step begun", color: "var(--accent)", values: steps.last, dashed: true },
  ];
  const disruptions: Line = {
    label: "Disruptions so far",
    color: "var(--bad)",
    values: steps.xs.map((x) => disrupted.filter((at) => at <= x).length),
  };
  const whole = (value: number): string => count(Math.round(value));
  const step = (value: number): string => (Number.isInteger(value) ? count(value) : "");
  const more = { xs: steps.xs, marks, together: TOGETHER, onZoom: zoom };
  return (
    <>
      <Chart
        {...more}
        label="Step time, and how far it is from the ideal"
        lines={times}
        format={(ns) => duration(BigInt(Math.round(ns)))}
        axis={shortDuration}
      />
      <Chart
        {...more}
        label="How far the run had come, in steps"
        lines={progress}
        format={whole}
        axis={step}
      />
      {disrupted.length > 0 && (
        <Chart
          {...more}
          label="Disruptions so far"
          lines={[disruptions]}
          format={whole}
          axis={step}
        />
      )}
    </>
  );
}
