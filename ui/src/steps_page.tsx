// How long steps take: over time and by their number, how evenly, and which took longest.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Report, StepSummary } from "../gen/headway/v1/report_pb.js";
import { StepAxis, type StepHistory } from "../gen/headway/v1/view_service_pb.js";
import { go, type Look, runAddress, stepsIn, stepsText, type TimeQuery } from "./address.ts";
import { useAnswer } from "./answer.ts";
import { type Axis, STEP, TIME, toNs } from "./axes.ts";
import { Chart, type Line } from "./chart.tsx";
import { count, duration, percent, shortDuration } from "./format.ts";
import { Choice, Fact, Failure, Scroll, Skeleton, Time, useTitle, Value } from "./parts.tsx";
import { mayMove, selection, useReport } from "./report.ts";
import { RunFrame } from "./run_frame.tsx";
import { views } from "./session.ts";
import { type StepColumns, stepColumnsOf } from "./views.ts";

const AGAIN_MS = 10_000;
const COLUMNS = 300;
const SLOWEST = 20;

interface PageProps {
  project: string;
  run: string;
  time: TimeQuery;
  look: Look;
}

export function StepsPage(props: PageProps): JSX.Element {
  const { project, run, time, look } = props;
  const { value, error, stale, live } = useReport(project, run, time);
  const name = value?.run;
  useTitle(`${name ?? run} · steps`);
  return (
    <RunFrame {...{ project, run, name, time, look, live }} part="steps">
      {!stale && <Failure error={error} />}
      {value === undefined ? (
        error === undefined && <Skeleton rows={8} />
      ) : (
        <div class={stale ? "stale" : ""} aria-busy={stale}>
          <Headline report={value} />
          <Charts {...props} report={value} />
        </div>
      )}
    </RunFrame>
  );
}

function Headline({ report }: { report: Report }): JSX.Element {
  const steps = report.steps;
  const ideal = steps?.idealNs;
  const p50 = steps?.p50Ns;
  const above =
    ideal === undefined || p50 === undefined || ideal === 0n
      ? undefined
      : Number(p50 - ideal) / Number(ideal);
  return (
    <div class="headline">
      <div>
        <h1 class="goodput">
          <Value value={p50} title="half of all steps took no longer">
            <span class="big">{duration(p50)}</span>
          </Value>{" "}
          <span class="muted">a step</span>
        </h1>
        <p class="muted">
          the median of {count(steps?.count)} steps that count
          {above !== undefined &&
            (above < 0.0005
              ? "; as fast as it can be"
              : `; ${percent(above)} % above what it takes when nothing holds it up`)}
        </p>
      </div>
      <dl class="facts">
        <Fact label="Ideal" about="what a step takes when nothing holds it up">
          {duration(ideal)}
        </Fact>
        <Fact label="90 %" about="nine of ten steps took no longer">
          {duration(steps?.p90Ns)}
        </Fact>
        <Fact label="99 %" about="99 of 100 steps took no longer">
          {duration(steps?.p99Ns)}
        </Fact>
        <Fact label="Longest">{duration(steps?.maxNs)}</Fact>
        <Fact
          label="Deviation lately"
          about="how far nine of ten of the last steps are from the ideal, beyond what was usual"
        >
          {duration(steps?.deviationNs)}
        </Fact>
        <Fact label="Last step" about="the last one that was started">
          {count(steps?.lastStep)}
        </Fact>
      </dl>
    </div>
  );
}

const AXES: [name: string, label: string][] = [
  ["", "time"],
  ["step", "step"],
];

const ns = (value: number): string => duration(BigInt(Math.round(value)));

function Charts(props: PageProps & { report: Report }): JSX.Element {
  const { project, run, time, look, report } = props;
  const byStep = look.axis === "step";
  const [fromStep, toStep] = stepsIn(look.steps);
  const { value, error, stale } = useAnswer(
    JSON.stringify(["steps", project, run, time, look]),
    (signal) =>
      views.getStepHistory(
        {
          project,
          run,
          time: selection(time),
          axis: byStep ? StepAxis.STEP : StepAxis.TIME,
          columns: COLUMNS,
          slowest: SLOWEST,
          ...(byStep && fromStep !== undefined ? { fromStep } : {}),
          ...(byStep && toStep !== undefined ? { toStep } : {}),
        },
        { signal },
      ),
    () => (mayMove(report, time) ? AGAIN_MS : undefined),
  );
  const to = (more: Look, when = time): string => runAddress(project, run, when, "steps", more);
  const zoom = (from: number | undefined, end: number | undefined): void => {
    const all = from === undefined || end === undefined;
    if (byStep) {
      go(to({ axis: "step", ...(all ? {} : { steps: stepsText(from, end) }) }));
      return;
    }
    const kept = time.asOf === undefined ? {} : { asOf: time.asOf };
    go(to({}, all ? kept : { ...kept, from: `@${toNs(from)}`, to: `@${toNs(end)}` }));
  };
  const history = useMemo(() => (value === undefined ? undefined : stepColumnsOf(value)), [value]);
  if (value === undefined || history === undefined) {
    return (
      <section>
        <h2>How long steps took</h2>
        <Failure error={error} />
        {value !== undefined && (
          <p class="empty">
            No step is recorded: programs say where each begins with <code>run.step(i)</code>.
          </p>
        )}
        {value === undefined && error === undefined && <Skeleton rows={6} />}
      </section>
    );
  }
  const axis = byStep ? STEP : TIME;
  return (
    <>
      <section class={stale ? "stale" : ""}>
        <div class="spread">
          <h2>How long steps took</h2>
          <span class="windows">
            {(byStep ? look.steps !== undefined : time.from !== undefined) && (
              <button type="button" class="quiet" onClick={() => zoom(undefined, undefined)}>
                Show all
              </button>
            )}
            <Choice
              label="Along"
              choices={AXES}
              chosen={look.axis ?? ""}
              onChoose={(chosen) =>
                go(to(chosen === "" ? {} : { axis: chosen }), { replace: true })
              }
            />
          </span>
        </div>
        <Failure error={error} />
        <StepChart {...{ history, axis, zoom }} ideal={value.idealNs} />
        {!byStep && <Progress {...{ history, zoom }} />}
      </section>
      <Slowest {...props} history={value} />
    </>
  );
}

type Zoom = (from: number | undefined, to: number | undefined) => void;

function StepChart(props: {
  history: StepColumns;
  axis: Axis;
  ideal: bigint | undefined;
  zoom: Zoom;
}): JSX.Element {
  const { history, axis, ideal, zoom } = props;
  const lines: Line[] = [
    { label: "10 %", color: "var(--accent)", values: history.p10, faint: true, unnamed: true },
    { label: "10 to 90 %", color: "var(--accent)", values: history.p90, filled: true, faint: true },
    { label: "longest", color: "var(--category-step_stall)", values: history.max },
    { label: "median", color: "var(--accent)", values: history.p50 },
  ];
  if (ideal !== undefined) {
    const values = history.p50.map(() => Number(ideal));
    lines.push({ label: "ideal", color: "var(--category-productive)", values, dashed: true });
  }
  return (
    <Chart
      label="Time of a step: its median, and what nine of ten lie above and below of"
      xs={history.xs}
      along={axis}
      lines={lines}
      format={ns}
      axis={shortDuration}
      height={240}
      together="steps"
      onZoom={zoom}
    />
  );
}

function Progress({ history, zoom }: { history: StepColumns; zoom: Zoom }): JSX.Element {
  const lines: Line[] = [
    { label: "last step begun", color: "var(--accent)", values: history.last },
    {
      label: "last step that counts",
      color: "var(--category-productive)",
      values: history.productive,
      dashed: true,
    },
  ];
  const round = (value: number): string => count(Math.round(value));
  return (
    <Chart
      label="Steps over time: what falls was lost and done again"
      xs={history.xs}
      lines={lines}
      format={round}
      axis={round}
      together="steps"
      onZoom={zoom}
    />
  );
}

function Slowest(props: PageProps & { history: StepHistory }): JSX.Element | null {
  const { project, run, history } = props;
  const ideal = history.idealNs;
  if (history.slowest.length === 0) return null;
  const ratio = (step: StepSummary): string =>
    ideal === undefined || ideal === 0n
      ? "–"
      : `${(Number(step.workNs) / Number(ideal)).toFixed(2)} ×`;
  return (
    <section>
      <h2 id="slowest">The slowest steps</h2>
      <Scroll label="The slowest steps">
        <table aria-labelledby="slowest">
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col" class="number">
                Work
              </th>
              <th scope="col" class="number" title="of what a step takes when nothing holds it up">
                Of the ideal
              </th>
              <th scope="col" class="number minor">
                Data loading
              </th>
              <th scope="col" class="number minor">
                Stall
              </th>
              <th scope="col" class="number minor">
                Attempt
              </th>
              <th scope="col">Began</th>
              <th scope="col">Counts</th>
            </tr>
          </thead>
          <tbody>
            {history.slowest.map((step) => (
              <tr key={`${step.attempt} ${step.start}`}>
                <th scope="row">
                  <a href={runAddress(project, run, windowAround(step), "timeline")}>
                    {count(step.step)}
                  </a>
                </th>
                <td class="number">
                  <Value value={step.workNs} title={`${step.workNs} ns`}>
                    {duration(step.workNs)}
                  </Value>
                </td>
                <td class="number">{ratio(step)}</td>
                <td class="number minor">{duration(step.dataLoadingNs)}</td>
                <td class="number minor">{duration(step.stepStallNs)}</td>
                <td class="number minor">{count(step.attempt)}</td>
                <td>
                  <Time ns={step.start} />
                </td>
                <td>{step.retained ? "yes" : "no: it was lost again"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

/** The step, and a little of what is around it. */
function windowAround(step: StepSummary): TimeQuery {
  const margin = (step.end - step.start) / 4n + 1n;
  return { from: `@${step.start - margin}`, to: `@${step.end + margin}` };
}
