// What the run's processes measured: a wall of charts, of which only those that can be seen are
// there.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { MetricClass, SeriesAxis } from "../gen/headway/v1/series_service_pb.js";
import { Category, type Report } from "../gen/headway/v1/report_pb.js";
import { go, type Look, runAddress, stepsIn, stepsText, type TimeQuery } from "./address.ts";
import { useAnswer } from "./answer.ts";
import { type Axis, ELAPSED, elapsedAxis, STEP, TIME, toNs } from "./axes.ts";
import { placeOf } from "./categories.ts";
import { count } from "./format.ts";
import { secondsSoFar } from "./history.ts";
import { type Metric, MetricCard, metricsOf } from "./metric_card.tsx";
import { productiveAt, type Progress } from "./metric_lines.ts";
import { Choice, Failure, isLive, Skeleton, useTitle } from "./parts.tsx";
import { mayMove, useReport } from "./report.ts";
import { RunFrame } from "./run_frame.tsx";
import { series as service, views } from "./session.ts";
import { historyOf } from "./views.ts";
import { useWindowRows } from "./virtual.ts";

const AGAIN_MS = 10_000;
const CARD_PX = 400; // as wide as a chart is at least
const ROW_PX = 292;
const HEADING_PX = 56;
const PRODUCTIVE = elapsedAxis("productive_seconds");

interface PageProps {
  project: string;
  run: string;
  time: TimeQuery;
  look: Look;
}

const SECTIONS: [MetricClass, string][] = [
  [MetricClass.MODEL_QUALITY, "Model quality"],
  [MetricClass.MODEL_PERFORMANCE, "Model performance"],
  [MetricClass.SYSTEM, "System"],
  [MetricClass.OTHER, "Others"],
];

const AXES: [name: string, label: string][] = [
  ["", "time"],
  ["step", "step"],
  ["elapsed", "since the start"],
  ["productive", "productive time"],
];
const SMOOTH: [name: string, label: string][] = [
  ["", "none"],
  ["0.6", "0.6"],
  ["0.9", "0.9"],
  ["0.99", "0.99"],
];
const SCALES: [name: string, label: string][] = [
  ["", "linear"],
  ["log", "log"],
];

export function MetricsPage(props: PageProps): JSX.Element {
  const { project, run, time, look } = props;
  const { value, error, stale, live } = useReport(project, run, time);
  const name = value?.run;
  useTitle(`${name ?? run} · metrics`);
  return (
    <RunFrame {...{ project, run, name, time, look, live }} part="metrics">
      <h1 class="unseen">Metrics of {name ?? run}</h1>
      {!stale && <Failure error={error} />}
      {value === undefined ? (
        error === undefined && <Skeleton rows={8} />
      ) : (
        <div class={stale ? "stale" : ""} aria-busy={stale}>
          <Wall {...props} report={value} />
        </div>
      )}
    </RunFrame>
  );
}

/** A row of the wall: a heading, or charts beside each other. */
type WallRow = { heading: string; count: number } | { metrics: Metric[] };

function rowsOf(metrics: readonly Metric[], columns: number): WallRow[] {
  const rows: WallRow[] = [];
  for (const [kind, heading] of SECTIONS) {
    const own = metrics.filter(
      (one) =>
        one.kind === kind || (kind === MetricClass.OTHER && one.kind === MetricClass.UNSPECIFIED),
    );
    if (own.length === 0) continue;
    rows.push({ heading, count: own.length });
    for (let i = 0; i < own.length; i += columns) rows.push({ metrics: own.slice(i, i + columns) });
  }
  return rows;
}

function Wall(props: PageProps & { report: Report }): JSX.Element {
  const { project, run, time, look, report } = props;
  const find = useRef<HTMLInputElement>(null);
  const { value, error } = useAnswer(
    JSON.stringify(["series", project, run]),
    (signal) => service.listSeries({ project, run }, { signal }),
    () => (isLive(report.state) ? AGAIN_MS : undefined),
  );
  const metrics = useMemo(() => (value === undefined ? [] : metricsOf(value)), [value]);
  const wanted = (look.find ?? "").toLowerCase();
  const shown = useMemo(
    () => metrics.filter((metric) => metric.name.toLowerCase().includes(wanted)),
    [metrics, wanted],
  );
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const typing = event.target instanceof HTMLInputElement;
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      find.current?.select();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const show = (more: Look): void => {
    const next = { ...look, ...more };
    for (const key of Object.keys(next) as (keyof Look)[]) if (next[key] === "") delete next[key];
    go(runAddress(project, run, time, "metrics", next), { replace: true });
  };
  const progress = useProgress(props);
  if (value === undefined) {
    return error === undefined ? <Skeleton rows={8} /> : <Failure error={error} />;
  }
  if (metrics.length === 0) {
    return (
      <section>
        <p class="empty">
          No metric is recorded of this run: programs log them with{" "}
          <code>
            run.log({"{"}"loss": loss{"}"}, step=i)
          </code>
          , and others send them by OpenTelemetry or Prometheus.
        </p>
      </section>
    );
  }
  const narrowed = time.from !== undefined || time.to !== undefined || time.last !== undefined;
  return (
    <>
      <div class="controls">
        <input
          ref={find}
          type="search"
          aria-label="Find metrics"
          aria-keyshortcuts="/"
          placeholder={`Find among ${count(metrics.length)} metrics`}
          defaultValue={look.find ?? ""}
          onInput={(event) => show({ find: event.currentTarget.value })}
        />
        <Choice
          label="Along"
          choices={AXES}
          chosen={look.axis ?? ""}
          onChoose={(axis) => show({ axis, steps: "" })}
        />
        <Choice
          label="Smoothed"
          choices={SMOOTH}
          chosen={look.smooth ?? ""}
          onChoose={(smooth) => show({ smooth })}
        />
        <Choice
          label="Scale"
          choices={SCALES}
          chosen={look.scale ?? ""}
          onChoose={(scale) => show({ scale })}
        />
        {(narrowed || look.steps !== undefined) && (
          <button
            type="button"
            class="quiet"
            onClick={() => {
              const { steps: _, ...rest } = look;
              const kept = time.asOf === undefined ? {} : { asOf: time.asOf };
              go(runAddress(project, run, kept, "metrics", rest));
            }}
          >
            Show all
          </button>
        )}
      </div>
      <Failure error={error} />
      {shown.length === 0 && <p class="empty">No metric has “{look.find}” in its name.</p>}
      <Charts {...props} metrics={shown} progress={progress} />
    </>
  );
}

/** How productive time grew, where that is what charts go along. */
function useProgress(props: PageProps & { report: Report }): Progress | undefined {
  const { project, run, time, look, report } = props;
  const wanted = look.axis === "productive";
  const asOf = time.asOf === undefined ? {} : { asOf: time.asOf };
  const { value } = useAnswer(
    JSON.stringify(["progress", project, run, wanted, asOf]),
    async (signal) => {
      if (!wanted) return undefined;
      return views.getHistory({ project, run, time: asOf, columns: 4_000 }, { signal });
    },
    () => (wanted && isLive(report.state) ? AGAIN_MS : undefined),
  );
  return useMemo(() => {
    const history = value === undefined ? undefined : historyOf(value);
    if (history === undefined) return undefined;
    const good = placeOf(Category.PRODUCTIVE);
    const sums = history.ends.map(() => 0);
    for (const part of history.parts) {
      if (part.look !== good) continue;
      secondsSoFar(part).forEach((seconds, i) => {
        sums[i] = (sums[i] ?? 0) + seconds;
      });
    }
    const begin = Number((value?.begin ?? 0n) / 1000n) / 1e6;
    return { times: [begin, ...history.ends], productive: [0, ...sums] };
  }, [value]);
}

function Charts(
  props: PageProps & { report: Report; metrics: Metric[]; progress: Progress | undefined },
): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [columns, setColumns] = useState(2);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() =>
      setColumns(Math.max(1, Math.floor(element.clientWidth / CARD_PX))),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const rows = useMemo(() => rowsOf(props.metrics, columns), [props.metrics, columns]);
  const heightOf = useMemo(
    () =>
      (index: number): number => {
        const row = rows[index];
        return row !== undefined && "heading" in row ? HEADING_PX : ROW_PX;
      },
    [rows],
  );
  const { items, height, top } = useWindowRows(rows.length, heightOf, box);
  const about = useAbout(props);
  return (
    <div ref={box} class="wall" style={{ height: `${height}px` }}>
      {items.map(({ index, start }) => {
        const row = rows[index];
        if (row === undefined) return null;
        const place = { transform: `translateY(${start - top}px)` };
        if ("heading" in row) {
          return (
            <h2 key={row.heading} class="wall-row" style={place}>
              {row.heading} <span class="muted">{count(row.count)}</span>
            </h2>
          );
        }
        return (
          <div
            key={row.metrics[0]?.name}
            class="wall-row cards"
            style={{ ...place, gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
          >
            {row.metrics.map((metric) => (
              <MetricCard key={metric.name} {...about} metric={metric} />
            ))}
          </div>
        );
      })}
    </div>
  );
}

const seconds = (ns: bigint): number => Number(ns / 1000n) / 1e6;

function axisOf(look: Look): Axis {
  switch (look.axis) {
    case "step":
      return STEP;
    case "elapsed":
      return ELAPSED;
    case "productive":
      return PRODUCTIVE;
    default:
      return TIME;
  }
}

/** What all charts of the wall have in common. */
function useAbout(
  props: PageProps & { report: Report; progress: Progress | undefined },
): Omit<Parameters<typeof MetricCard>[0], "metric"> {
  const { project, run, time, look, report, progress } = props;
  const axis = axisOf(look);
  const byStep = axis === STEP;
  const { window } = report;
  const start = seconds(report.start ?? 0n);
  const toX = useMemo(() => {
    if (byStep) return Number;
    if (axis === ELAPSED) return (at: bigint) => seconds(at) - start;
    if (axis !== PRODUCTIVE) return seconds;
    return (at: bigint) => (progress === undefined ? 0 : productiveAt(progress, seconds(at)));
  }, [axis, start, progress]);
  const [fromStep, toStep] = stepsIn(look.steps);
  const { steps: _, ...rest } = look;
  const kept = time.asOf === undefined ? {} : { asOf: time.asOf };
  const zoom = (from: number | undefined, to: number | undefined): void => {
    if (from === undefined || to === undefined) {
      go(runAddress(project, run, kept, "metrics", rest));
    } else if (byStep) {
      go(runAddress(project, run, time, "metrics", { ...rest, steps: stepsText(from, to) }));
    } else {
      const shift = axis === ELAPSED ? start : 0;
      const at = (x: number): string => `@${toNs(x + shift)}`;
      go(runAddress(project, run, { ...kept, from: at(from), to: at(to) }, "metrics", rest));
    }
  };
  return {
    project,
    runs: [run],
    along: axis,
    asked: byStep ? SeriesAxis.STEP : SeriesAxis.TIME,
    from: byStep ? fromStep : window?.begin,
    to: byStep ? toStep : window?.end,
    toX,
    smooth: Number(look.smooth ?? 0),
    log: look.scale === "log",
    again: mayMove(report, time) ? AGAIN_MS : undefined,
    ...(axis === PRODUCTIVE ? {} : { onZoom: zoom }),
  };
}
