// Runs side by side: which made better use of its time, what their metrics look like over each
// other, and what they were told differently.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { GetConfigResponse } from "../gen/headway/v1/config_service_pb.js";
import { Category, type CategoryTime, type Report } from "../gen/headway/v1/report_pb.js";
import { type ListSeriesResponse, SeriesAxis } from "../gen/headway/v1/series_service_pb.js";
import { compareAddress, go, type Look, runAddress, runsAddress } from "./address.ts";
import { useAnswer } from "./answer.ts";
import { ELAPSED, STEP } from "./axes.ts";
import { colorOf, isCrossedOut, labelOf } from "./categories.ts";
import { attemptsOf, classesOf, compare, type Side, sideOf } from "./configs.ts";
import { count, duration, percent } from "./format.ts";
import { type Metric, MetricCard, metricsOf } from "./metric_card.tsx";
import { Choice, Failure, isLive, Scroll, Skeleton, State, useTitle, Value } from "./parts.tsx";
import { configs, runs as service, series } from "./session.ts";

const AGAIN_MS = 10_000;
const CHARTS_MOST = 60;
const PATHS_MOST = 500;

interface PageProps {
  project: string;
  runs: string[];
  look: Look;
}

export function ComparePage(props: PageProps): JSX.Element {
  const { project, runs } = props;
  useTitle(`${runs.join(", ")} · compare`);
  const { value, error } = useAnswer(
    JSON.stringify(["reports", project, runs]),
    (signal) => Promise.all(runs.map((run) => service.getReport({ project, run }, { signal }))),
    (reports) => (reports?.some(({ state }) => isLive(state)) === true ? AGAIN_MS : undefined),
  );
  return (
    <main tabIndex={-1}>
      <nav class="crumbs" aria-label="Where this is">
        <a href={runsAddress(project)}>{project}</a> <span aria-hidden="true">/</span> compared
      </nav>
      <h1>{runs.length < 2 ? "Compare runs" : `${count(runs.length)} runs compared`}</h1>
      {runs.length < 2 && (
        <p class="empty">
          Choose two runs or more in <a href={runsAddress(project)}>the list</a>.
        </p>
      )}
      <Failure error={error} />
      {value === undefined && error === undefined && <Skeleton rows={8} />}
      {value !== undefined && value.length > 0 && (
        <>
          <Goodputs {...props} reports={value} />
          <Metrics {...props} />
          <Configs {...props} />
        </>
      )}
    </main>
  );
}

function Heads(props: PageProps): JSX.Element {
  const { project, runs, look } = props;
  return (
    <>
      {runs.map((run, i) => (
        <th key={run} scope="col" class="number">
          <span class="stroke" style={{ "--color": `var(--line-${i})` }} aria-hidden="true" />
          <a href={runAddress(project, run)}>{run}</a>{" "}
          <button
            type="button"
            class="save"
            aria-label={`Leave ${run} out`}
            onClick={() =>
              go(
                compareAddress(
                  project,
                  runs.filter((one) => one !== run),
                  look,
                ),
              )
            }
          >
            ×
          </button>
        </th>
      ))}
    </>
  );
}

function Goodputs(props: PageProps & { reports: Report[] }): JSX.Element {
  const { reports } = props;
  const best = Math.max(...reports.map(({ goodput }) => goodput ?? -1));
  // Every kind of time that one of them has, in the order of the first that has most.
  const kinds = new Map<string, { time: CategoryTime; most: number }>();
  for (const report of reports) {
    for (const time of report.categories) {
      const label = labelOf(time);
      const most = Math.max(kinds.get(label)?.most ?? 0, time.share);
      kinds.set(label, { time, most });
    }
  }
  const sorted = [...kinds].sort(([, a], [, b]) => {
    const good = (one: { time: CategoryTime }): number =>
      one.time.category === Category.PRODUCTIVE ? 1 : 0;
    return good(b) - good(a) || b.most - a.most;
  });
  const rows: [label: string, about: string, of: (report: Report) => JSX.Element | string][] = [
    ["Elapsed", "", ({ elapsedNs }) => duration(elapsedNs)],
    ["Attempts", "how often it was started", ({ attempts }) => count(attempts.length)],
    ["Disruptions", "", ({ disruptions }) => count(disruptions.length)],
    ["MTBF", "mean time between disruptions", ({ mtbfNs }) => duration(mtbfNs)],
    ["Last step that counts", "", ({ steps }) => count(steps?.maxProductiveStep)],
    ["Ideal step", "when nothing holds it up", ({ steps }) => duration(steps?.idealNs)],
    ["Step, median", "", ({ steps }) => duration(steps?.p50Ns)],
    ["Step, 99 %", "99 of 100 steps took no longer", ({ steps }) => duration(steps?.p99Ns)],
  ];
  return (
    <section>
      <h2 id="goodputs">Where the time went</h2>
      <div class="bars">
        {reports.map((report, i) => (
          <div key={props.runs[i]}>
            <span class="small">{props.runs[i]}</span>
            <div
              class="bar"
              role="img"
              aria-label={`${props.runs[i]}: ${percent(report.goodput)} % goodput`}
            >
              {sorted.map(([label, { time }]) => {
                const own = report.categories.find((one) => labelOf(one) === label);
                return (
                  own !== undefined && (
                    <span
                      key={label}
                      class={isCrossedOut(time.category) ? "crossed" : ""}
                      style={{ flexGrow: own.share, "--color": colorOf(time.category) }}
                      title={`${label}: ${duration(own.ns)}, ${percent(own.share)} %`}
                    />
                  )
                );
              })}
            </div>
          </div>
        ))}
      </div>
      <Scroll label="Where the time went">
        <table aria-labelledby="goodputs">
          <thead>
            <tr>
              <td />
              <Heads {...props} />
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">State</th>
              {reports.map((report, i) => (
                <td key={i} class="number">
                  <State state={report.state} />
                </td>
              ))}
            </tr>
            <tr>
              <th scope="row">Goodput</th>
              {reports.map(({ goodput }, i) => (
                <td key={i} class={`number ${goodput === best ? "best" : ""}`}>
                  <Value value={goodput}>{percent(goodput)} %</Value>
                </td>
              ))}
            </tr>
            {sorted.map(([label, { time }]) => (
              <tr key={label}>
                <th scope="row">
                  <span
                    class={`swatch ${isCrossedOut(time.category) ? "crossed" : ""}`}
                    style={{ "--color": colorOf(time.category) }}
                    aria-hidden="true"
                  />
                  {label}
                </th>
                {reports.map((report, i) => {
                  const own = report.categories.find((one) => labelOf(one) === label);
                  return (
                    <td key={i} class="number">
                      {own === undefined ? (
                        "–"
                      ) : (
                        <Value value={own.share} title={duration(own.ns)}>
                          {percent(own.share)} %
                        </Value>
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
            {rows.map(([label, about, of]) => (
              <tr key={label} title={about}>
                <th scope="row">{label}</th>
                {reports.map((report, i) => (
                  <td key={i} class="number">
                    {of(report)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

const AXES: [name: string, label: string][] = [
  ["", "step"],
  ["elapsed", "since the start"],
];
const SCALES: [name: string, label: string][] = [
  ["", "linear"],
  ["log", "log"],
];
const SMOOTH: [name: string, label: string][] = [
  ["", "none"],
  ["0.6", "0.6"],
  ["0.9", "0.9"],
  ["0.99", "0.99"],
];
const asStep = (at: bigint): number => Number(at);
const asSeconds = (at: bigint): number => Number(at / 1000n) / 1e6;

/** The metrics that two of them have, or more. */
function common(answers: readonly ListSeriesResponse[]): Metric[] {
  const found = new Map<string, Metric>();
  const times = new Map<string, number>();
  for (const answer of answers) {
    for (const metric of metricsOf(answer)) {
      times.set(metric.name, (times.get(metric.name) ?? 0) + 1);
      const before = found.get(metric.name);
      found.set(metric.name, {
        ...metric,
        lines: [],
        last: undefined,
        points: metric.points + (before?.points ?? 0n),
      });
    }
  }
  return [...found.values()].filter(({ name }) => (times.get(name) ?? 0) > 1);
}

function Metrics(props: PageProps): JSX.Element | null {
  const { project, runs, look } = props;
  const { value, error } = useAnswer(
    JSON.stringify(["series of", project, runs]),
    (signal) => Promise.all(runs.map((run) => series.listSeries({ project, run }, { signal }))),
    () => undefined,
  );
  const metrics = useMemo(() => (value === undefined ? [] : common(value)), [value]);
  const show = (more: Look): void => {
    const next = { ...look, ...more };
    for (const key of Object.keys(next) as (keyof Look)[]) if (next[key] === "") delete next[key];
    go(compareAddress(project, runs, next), { replace: true });
  };
  const wanted = (look.find ?? "").toLowerCase();
  const shown = metrics.filter(({ name }) => name.toLowerCase().includes(wanted));
  const byStep = look.axis !== "elapsed";
  if (value === undefined) return <Failure error={error} />;
  if (metrics.length === 0) {
    return (
      <section>
        <h2>Metrics</h2>
        <p class="empty">No two of them have a metric in common.</p>
      </section>
    );
  }
  return (
    <section>
      <h2>Metrics</h2>
      <div class="controls">
        <input
          type="search"
          aria-label="Find metrics"
          placeholder={`Find among ${count(metrics.length)} metrics`}
          defaultValue={look.find ?? ""}
          onInput={(event) => show({ find: event.currentTarget.value })}
        />
        <Choice
          label="Along"
          choices={AXES}
          chosen={look.axis ?? ""}
          onChoose={(axis) => show({ axis })}
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
      </div>
      <div class="cards pair">
        {shown.slice(0, CHARTS_MOST).map((metric) => (
          <MetricCard
            key={metric.name}
            project={project}
            runs={runs}
            metric={metric}
            along={byStep ? STEP : ELAPSED}
            asked={byStep ? SeriesAxis.STEP : SeriesAxis.ELAPSED}
            from={undefined}
            to={undefined}
            toX={byStep ? asStep : asSeconds}
            smooth={Number(look.smooth ?? 0)}
            log={look.scale === "log"}
            again={undefined}
          />
        ))}
      </div>
      {shown.length > CHARTS_MOST && (
        <p class="muted small">
          The first {count(CHARTS_MOST)} of {count(shown.length)}: find others by their names.
        </p>
      )}
    </section>
  );
}

/** All classes of a run as of its last attempt, each path behind its class. */
function wholeOf(answer: GetConfigResponse): Side {
  const whole = new Map<string, Side extends ReadonlyMap<string, infer V> ? V : never>();
  for (const kind of classesOf(answer)) {
    const side = sideOf(answer, kind, attemptsOf(answer, kind).at(-1));
    for (const [path, said] of side) whole.set(`${kind}: ${path}`, said);
  }
  return whole;
}

function Configs(props: PageProps): JSX.Element | null {
  const { project, runs } = props;
  const { value, error } = useAnswer(
    JSON.stringify(["configs of", project, runs]),
    (signal) => Promise.all(runs.map((run) => configs.getConfig({ project, run }, { signal }))),
    () => undefined,
  );
  const sides = useMemo(() => value?.map(wholeOf), [value]);
  const [first, ...others] = sides ?? [];
  if (sides === undefined || first === undefined) return <Failure error={error} />;
  const differing = new Set(
    others.flatMap((side) =>
      compare(first, side)
        .filter(({ change }) => change !== "same")
        .map(({ path }) => path),
    ),
  );
  const paths = [...differing].sort();
  return (
    <section>
      <h2 id="configs">What they were told differently</h2>
      {paths.length === 0 ? (
        <p class="empty">
          {sides.every((side) => side.size === 0)
            ? "None of them has a configuration."
            : "Nothing: their configurations are the same."}
        </p>
      ) : (
        <Scroll label="Configurations that differ">
          <table class="configs" aria-labelledby="configs">
            <thead>
              <tr>
                <th scope="col">Path</th>
                <Heads {...props} />
              </tr>
            </thead>
            <tbody>
              {paths.slice(0, PATHS_MOST).map((path) => (
                <tr key={path}>
                  <th scope="row">
                    <code>{path}</code>
                  </th>
                  {sides.map((side, i) => (
                    <td key={i} class="number">
                      {(side.get(path) ?? []).map(({ value: said, who }) => (
                        <div key={`${said} ${who}`}>
                          {said === undefined ? (
                            <span class="muted">not set</span>
                          ) : (
                            <code>{said}</code>
                          )}
                          {(side.get(path)?.length ?? 0) > 1 && (
                            <span class="muted small"> {who}</span>
                          )}
                        </div>
                      ))}
                      {!side.has(path) && <span class="muted">–</span>}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </section>
  );
}
