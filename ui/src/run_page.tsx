import type { JSX } from "preact";
import {
  type AttemptSummary,
  AttemptEnd,
  type CategoryTime,
  Category,
  Cause,
  type Disruption,
  type Report,
} from "../gen/headway/v1/report_pb.js";
import { type Look, runAddress, type TimeQuery } from "./address.ts";
import { useAnswer } from "./answer.ts";
import { colorOf, isCrossedOut, labelOf, labelOfName, lookOf } from "./categories.ts";
import { capital, count, duration, HOUR_NS, percent, UNKNOWN } from "./format.ts";
import { OverTime } from "./over_time.tsx";
import { Fact, Failure, isLive, Scroll, Skeleton, State, Time, useTitle, Value } from "./parts.tsx";
import { mayMove, selection, useReport } from "./report.ts";
import { RunFrame } from "./run_frame.tsx";
import { runs } from "./session.ts";

const ROWS_LIMIT = 200; // of attempts and disruptions; the last ones

const ADVICE_AGAIN_MS = 30_000;

const WINDOWS: [label: string, hours: bigint][] = [
  ["1 h", 1n],
  ["24 h", 24n],
  ["7 d", 168n],
];

export function RunPage(props: {
  project: string;
  run: string;
  time: TimeQuery;
  look: Look;
}): JSX.Element {
  const { project, run, time, look } = props;
  const { value, error, stale, live } = useReport(project, run, time);
  const name = value?.run;
  useTitle(name ?? run);
  return (
    <RunFrame {...{ project, run, name, time, look, live }} part="overview">
      {!stale && <Failure error={error} />}
      {value === undefined ? (
        error === undefined && <Skeleton rows={12} />
      ) : (
        <div class={stale ? "stale" : ""} aria-busy={stale}>
          <Headline report={value} />
          <Windows {...props} />
          <Breakdown report={value} />
          <Advice {...props} report={value} />
          <OverTime {...props} report={value} />
          <Disruptions report={value} />
          <Attempts report={value} />
          <Notes report={value} />
        </div>
      )}
    </RunFrame>
  );
}

function Headline({ report }: { report: Report }): JSX.Element {
  const { steps } = report;
  const elapsed = duration(report.elapsedNs);
  const excluded = report.excludedNs;
  return (
    <div class="headline">
      <div>
        <h1 class="goodput">
          <Value
            value={report.goodput}
            title="steps whose result was kept, and productive phases, of the elapsed time"
          >
            <span class="big">{percent(report.goodput)}</span> %
          </Value>{" "}
          <span class="muted">goodput</span>
        </h1>
        <p class="muted">
          of{" "}
          <Value value={report.elapsedNs} title={`${report.elapsedNs} ns`}>
            {elapsed}
          </Value>{" "}
          elapsed{excluded > 0n && ` and ${duration(excluded)} excluded`}
          {report.window !== undefined && " in this window"} · every second accounted for
        </p>
      </div>
      <dl class="facts">
        <Fact label="State">
          <State state={report.state} />
        </Fact>
        <Fact label="Last step" about="the last one that was started">
          {count(steps?.lastStep)}
        </Fact>
        <Fact label="Attempts" about="how often it was started">
          {count(report.attempts.length)}
        </Fact>
        <Fact label="Disruptions" about="attempts that ended before the run was done">
          {count(report.disruptions.length)}
        </Fact>
        <Fact label="MTBF" about="mean time between disruptions">
          {duration(report.mtbfNs)}
        </Fact>
        <Fact label="Ideal step" about="what a step takes when nothing holds it up">
          {duration(steps?.idealNs)}
        </Fact>
        {isLive(report.state) && (
          <Fact
            label="At risk now"
            about="what would be lost if the run died now: since the last checkpoint"
          >
            {duration(report.unsavedNs)}
          </Fact>
        )}
      </dl>
    </div>
  );
}

function Windows(props: { project: string; run: string; time: TimeQuery }): JSX.Element {
  const { project, run, time } = props;
  const { asOf, last, from, to } = time;
  const kept = asOf === undefined ? {} : { asOf };
  const all = last === undefined && from === undefined && to === undefined;
  return (
    <nav class="windows" aria-label="Which part of the run">
      <a href={runAddress(project, run, kept)} aria-current={all}>
        All
      </a>
      {WINDOWS.map(([label, hours]) => {
        const ns = String(hours * HOUR_NS);
        return (
          <a
            key={ns}
            href={runAddress(project, run, { ...kept, last: ns })}
            aria-current={last === ns}
          >
            Last {label}
          </a>
        );
      })}
      {(from !== undefined || to !== undefined) && (
        <span class="muted">
          {from ?? "start"} to {to ?? "end"}
        </span>
      )}
      {asOf !== undefined && (
        <span class="muted">
          as of {asOf} · <a href={runAddress(project, run)}>now</a>
        </span>
      )}
    </nav>
  );
}

function Breakdown({ report }: { report: Report }): JSX.Element {
  // What was productive first, then the rest, the most first as the server has them.
  const times = [
    ...report.categories.filter(isGood),
    ...report.categories.filter((time) => !isGood(time)),
  ];
  const sum = times.reduce((total, time) => total + time.ns, 0n);
  const lost = times.reduce((total, time) => total + (isGood(time) ? 0n : time.ns), 0n);
  const summary = times.map((time) => `${labelOf(time)} ${percent(time.share)} %`).join(", ");
  if (sum === 0n) {
    return (
      <section>
        <h2>Where the time went</h2>
        <p class="empty">
          No time has elapsed {report.window === undefined ? "yet" : "in this window"}.
        </p>
      </section>
    );
  }
  return (
    <section>
      <h2 id="breakdown">Where the time went</h2>
      <div class="bar" role="img" aria-label={summary}>
        {times.map((time) => (
          <span
            key={labelOf(time)}
            class={isCrossedOut(time.category) ? "crossed" : ""}
            style={{ flexGrow: Number(time.ns), "--color": colorOf(time.category) }}
            title={`${labelOf(time)}: ${duration(time.ns)}, ${percent(time.share)} %`}
          />
        ))}
      </div>
      <Scroll label="Where the time went">
        <table class="breakdown" aria-labelledby="breakdown">
          <thead>
            <tr>
              <th scope="col">Category</th>
              <th scope="col" class="number">
                Time
              </th>
              <th scope="col" class="number">
                Share
              </th>
              <th scope="col" class="minor" title="of all the time that was not productive">
                Of what was lost
              </th>
            </tr>
          </thead>
          <tbody>
            {times.map((time) => (
              <CategoryRow key={labelOf(time)} time={time} lost={lost} />
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">Elapsed</th>
              <td class="number">
                <Value value={sum} title={`${sum} ns: the sum of the above`}>
                  {duration(sum)}
                </Value>
              </td>
              <td class="number">100.0 %</td>
              <td class="minor" />
            </tr>
          </tfoot>
        </table>
      </Scroll>
      {report.dataLoadingOverlappedNs > 0n && (
        <p class="muted small">
          {duration(report.dataLoadingOverlappedNs)} of data loading overlapped steps
          {report.goodputIfLoadingBlocked !== undefined &&
            `: had it blocked them, goodput would be ${percent(report.goodputIfLoadingBlocked)} %`}
          .
        </p>
      )}
    </section>
  );
}

const isGood = (time: CategoryTime): boolean => time.category === Category.PRODUCTIVE;

function CategoryRow({ time, lost }: { time: CategoryTime; lost: bigint }): JSX.Element {
  const part = isGood(time) || lost === 0n ? 0 : Number(time.ns) / Number(lost);
  return (
    <tr title={lookOf(time.category).about}>
      <th scope="row">
        <span
          class={`swatch ${isCrossedOut(time.category) ? "crossed" : ""}`}
          style={{ "--color": colorOf(time.category) }}
          aria-hidden="true"
        />
        {labelOf(time)}
      </th>
      <td class="number">
        <Value value={time.ns} title={`${time.ns} ns`}>
          {duration(time.ns)}
        </Value>
      </td>
      <td class="number">
        <Value value={time.share}>{percent(time.share)} %</Value>
      </td>
      <td class="minor part">
        {!isGood(time) && (
          <span
            class={isCrossedOut(time.category) ? "crossed" : ""}
            style={{ width: `${part * 100}%`, "--color": colorOf(time.category) }}
            title={`${percent(part)} % of what was lost`}
          />
        )}
      </td>
    </tr>
  );
}

const CAUSES: Record<Cause, string> = {
  [Cause.UNSPECIFIED]: "",
  [Cause.NOTICE]: "told to stop",
  [Cause.HANG]: "hung",
  [Cause.SIGNAL]: "killed",
  [Cause.EXIT_STATUS]: "exit status",
  [Cause.FAILED]: "failed",
  [Cause.LOST]: "lost: nothing says why",
};

function causeOf(disruption: Disruption): string {
  const parts = [CAUSES[disruption.cause] ?? ""];
  if (disruption.signal !== undefined) parts.push(`signal ${disruption.signal}`);
  if (disruption.exitStatus !== undefined) parts.push(`exit ${disruption.exitStatus}`);
  return parts.filter((part) => part !== "").join(" · ");
}

function Disruptions({ report }: { report: Report }): JSX.Element | null {
  const all = report.disruptions;
  if (all.length === 0) return null;
  return (
    <section>
      <h2 id="disruptions">Disruptions</h2>
      <Scroll label="Disruptions">
        <table aria-labelledby="disruptions">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col" class="number">
                Reached
              </th>
              <th scope="col" class="number">
                Resumed from
              </th>
              <th scope="col" class="number">
                Repeated work
              </th>
              <th scope="col" class="number">
                Down
              </th>
              <th scope="col">Cause</th>
            </tr>
          </thead>
          <tbody>
            {all.slice(-ROWS_LIMIT).map((one) => (
              <tr key={String(one.time)}>
                <th scope="row">
                  <Time ns={one.time} />
                </th>
                <td class="number">{count(one.stepReached)}</td>
                <td class="number">{count(one.resumedFrom)}</td>
                <td class="number">{duration(one.wastedNs)}</td>
                <td class="number">{duration(one.downtimeNs)}</td>
                <td>{causeOf(one)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <Earlier total={all.length} />
    </section>
  );
}

const ENDS: Record<AttemptEnd, string> = {
  [AttemptEnd.UNSPECIFIED]: UNKNOWN,
  [AttemptEnd.OPEN]: "alive",
  [AttemptEnd.CLEAN]: "ended by itself",
  [AttemptEnd.FAILED]: "said that it failed",
  [AttemptEnd.EXIT]: "ended",
  [AttemptEnd.LOST]: "lost: nothing says how",
};

function endOf(attempt: AttemptSummary): string {
  if (attempt.signal !== undefined) return `killed by signal ${attempt.signal}`;
  if (attempt.exitStatus !== undefined) return `exit status ${attempt.exitStatus}`;
  return ENDS[attempt.endKind] ?? UNKNOWN;
}

function Attempts({ report }: { report: Report }): JSX.Element | null {
  const all = report.attempts;
  if (all.length === 0) return null;
  return (
    <section>
      <h2 id="attempts">Attempts</h2>
      <Scroll label="Attempts">
        <table aria-labelledby="attempts">
          <thead>
            <tr>
              <th scope="col">Attempt</th>
              <th scope="col">Started</th>
              <th scope="col" class="number">
                Lived
              </th>
              <th scope="col" class="number">
                Steps
              </th>
              <th scope="col">End</th>
            </tr>
          </thead>
          <tbody>
            {all.slice(-ROWS_LIMIT).map((one) => (
              <tr key={String(one.index)}>
                <th scope="row">{count(one.index)}</th>
                <td>
                  <Time ns={one.start} />
                </td>
                <td class="number">
                  {duration(one.end === undefined ? undefined : one.end - one.start)}
                </td>
                <td class="number">
                  {one.firstStep === undefined
                    ? UNKNOWN
                    : `${count(one.firstStep)} – ${count(one.lastStep)}`}
                </td>
                <td>{endOf(one)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <Earlier total={all.length} />
    </section>
  );
}

function Earlier({ total }: { total: number }): JSX.Element | null {
  if (total <= ROWS_LIMIT) return null;
  return (
    <p class="muted small">
      The last {ROWS_LIMIT} of {count(total)}; <code>headway goodput --json</code> has all.
    </p>
  );
}

/** What to do about the time that was lost. */
function Advice(props: {
  project: string;
  run: string;
  time: TimeQuery;
  report: Report;
}): JSX.Element | null {
  const { project, run, time, report } = props;
  const { value } = useAnswer(
    JSON.stringify(["advice", project, run, time]),
    (signal) => runs.getAdvice({ project, run, time: selection(time) }, { signal }),
    () => (mayMove(report, time) ? ADVICE_AGAIN_MS : undefined),
  );
  if (value === undefined || value.advice.length === 0) return null;
  return (
    <section>
      <h2>What to do</h2>
      <ol class="advice">
        {value.advice.map(({ code, text }) => (
          <li key={code}>{capital(text.replace(/^[a-z_]+/, labelOfName))}</li>
        ))}
      </ol>
    </section>
  );
}

function Notes({ report }: { report: Report }): JSX.Element | null {
  if (report.notes.length === 0) return null;
  return (
    <section>
      <h2>What had to be guessed, and other findings</h2>
      <ul class="notes">
        {report.notes.map((note) => (
          <li key={note.code}>
            {note.message} <code class="muted">{note.code}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
