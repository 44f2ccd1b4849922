// One metric as a chart: of one run, or of several that are compared.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type {
  ListSeriesResponse,
  MetricClass,
  Series,
  SeriesAxis,
  SeriesLine,
} from "../gen/headway/v1/series_service_pb.js";
import { useAnswer } from "./answer.ts";
import { type Axis, STEP } from "./axes.ts";
import { Chart, type Line } from "./chart.tsx";
import { count, measure } from "./format.ts";
import { drawnOf, smoothed } from "./metric_lines.ts";
import { Failure } from "./parts.tsx";
import { series as service } from "./session.ts";

const BUCKETS = 400;
const LINES_MOST = 12; // where a metric of a run has more, they are taken together
const BANDS_MOST = 3;
const HEIGHT_PX = 190;
const PALETTE = 8;
const SHORT = new Set(["s", "ms", "By", "%"]); // units

/** A metric, whoever recorded it. */
export interface Metric {
  name: string;
  unit: string;
  kind: MetricClass;
  /** Who recorded it. */
  lines: Series[];
  last: number | undefined;
  points: bigint;
}

export function metricsOf(answer: ListSeriesResponse): Metric[] {
  const found = new Map<string, Metric>();
  for (const average of answer.averages) {
    found.set(average.name, {
      name: average.name,
      unit: average.unit,
      kind: average.class,
      lines: [],
      last: average.summary?.last,
      points: average.summary?.count ?? 0n,
    });
  }
  for (const one of answer.series) found.get(one.name)?.lines.push(one);
  return [...found.values()];
}

/** What tells a line apart from others of its metric and run. */
function labelOf(one: Series, all: readonly Series[]): string {
  const parts: string[] = [];
  const differ = (of: (series: Series) => unknown): boolean => new Set(all.map(of)).size > 1;
  if (differ(({ attempt }) => attempt)) parts.push(`attempt ${one.attempt ?? "–"}`);
  if (differ(({ rank }) => rank)) parts.push(`rank ${one.rank ?? "–"}`);
  if (differ(({ host }) => host)) parts.push(one.host);
  for (const [key, value] of Object.entries(one.labels)) {
    if (differ(({ labels }) => labels[key])) parts.push(`${key}=${value}`);
  }
  return parts.join(" ");
}

/** By attempt and rank, run after run; what was lost again behind what was not. */
function inOrder(lines: readonly SeriesLine[]): SeriesLine[] {
  const key = ({ series, wasted }: SeriesLine): number =>
    (Number(series?.attempt ?? -1) * 1e6 + Number(series?.rank ?? -1)) * 2 + (wasted ? 1 : 0);
  const runs = [...new Set(lines.map(({ runUid }) => runUid))];
  return [...lines].sort(
    (a, b) => runs.indexOf(a.runUid) - runs.indexOf(b.runUid) || key(a) - key(b),
  );
}

export function MetricCard(props: {
  project: string;
  /** Labels or uids. */
  runs: readonly string[];
  metric: Metric;
  along: Axis;
  asked: SeriesAxis;
  /** Of what the server counts. */
  from: bigint | undefined;
  to: bigint | undefined;
  toX: (at: bigint, line: SeriesLine) => number;
  /** 0: not at all, towards 1: more and more. */
  smooth: number;
  log: boolean;
  /** Asks anew after so many ms; undefined: never. */
  again: number | undefined;
  onZoom?: (from: number | undefined, to: number | undefined) => void;
}): JSX.Element {
  const { project, runs, metric, along, asked, from, to, toX, smooth, log, onZoom } = props;
  const byStep = along === STEP;
  const several = runs.length > 1;
  const merged = several || metric.lines.length > LINES_MOST;
  const { value, error, stale } = useAnswer(
    JSON.stringify(["metric", project, runs, metric.name, asked, String(from), String(to), merged]),
    (signal) =>
      service.querySeries(
        {
          project,
          runs: [...runs],
          names: [metric.name],
          axis: asked,
          buckets: BUCKETS,
          mergeSources: merged,
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
        },
        { signal },
      ),
    () => props.again,
  );
  const drawn = useMemo(
    () => value && drawnOf(inOrder(value.lines), { toX, byStep, buckets: BUCKETS }),
    [value, toX, byStep],
  );
  const lines = useMemo((): Line[] => {
    if (drawn === undefined) return [];
    const all = drawn.lines.map(({ line }) => line.series).filter((one) => one !== undefined);
    const names = [...new Set(drawn.lines.map(({ line }) => line.runUid))];
    return drawn.lines.flatMap(({ line, values, least, most }, i): Line[] => {
      const parts = several ? [line.run] : [];
      const own = line.series === undefined ? "" : labelOf(line.series, all);
      if (own !== "") parts.push(own);
      if (parts.length === 0) parts.push(metric.name);
      if (line.wasted) parts.push("lost again");
      const label = parts.join(", ");
      const place = (several ? names.indexOf(line.runUid) : i) % PALETTE;
      const color =
        line.wasted && !several ? "var(--category-wasted_progress)" : `var(--line-${place})`;
      const dashed = line.wasted;
      const found: Line[] = [];
      if (drawn.lines.length <= BANDS_MOST && least !== undefined && most !== undefined) {
        const band = { color, faint: true, unnamed: true };
        found.push({ ...band, label: `${label}, least`, values: least });
        found.push({ ...band, label: `${label}, most`, values: most, filled: true });
      }
      if (smooth > 0 && smooth < 1) {
        found.push({ label: `${label}, raw`, color, values, faint: true, unnamed: true });
        found.push({ label, color, values: smoothed(values, smooth), shown: values, dashed });
      } else {
        found.push({ label, color, values, dashed });
      }
      return found;
    });
  }, [drawn, smooth, several, metric.name]);
  const odd = drawn?.lines.reduce((sum, one) => sum + one.odd, 0) ?? 0;
  const format = (number: number): string => measure(number, metric.unit);
  // There is little room at the axis: the heading has the unit.
  const axis = (number: number): string =>
    measure(number, SHORT.has(metric.unit) ? metric.unit : "1");
  return (
    <article class={`card ${stale ? "stale" : ""}`} aria-label={metric.name}>
      <h3 title={`${count(metric.points)} points`}>
        {metric.name}
        {metric.last !== undefined && (
          <span class="muted" title="the last value">
            {" "}
            {format(metric.last)}
          </span>
        )}
      </h3>
      {error !== undefined && <Failure error={error} />}
      {drawn !== undefined && drawn.xs.length === 0 && (
        <p class="empty">
          {byStep ? "None of its points has a step here." : "It has no point in this window."}
        </p>
      )}
      {drawn !== undefined && drawn.xs.length > 0 && (
        <Chart
          label={metric.name}
          xs={drawn.xs}
          along={along}
          lines={lines}
          format={format}
          axis={axis}
          height={HEIGHT_PX}
          log={log}
          together="metrics"
          {...(onZoom === undefined ? {} : { onZoom })}
        />
      )}
      {(odd > 0 || (merged && metric.lines.length > 1)) && (
        <p class="small muted">
          {odd > 0 &&
            `${count(odd)} ${odd === 1 ? "point is" : "points are"} NaN or infinite: gaps. `}
          {merged && metric.lines.length > 1 && `${count(metric.lines.length)} lines as one.`}
        </p>
      )}
    </article>
  );
}
