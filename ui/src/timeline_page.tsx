// What was when: the timeline of a run, and what is behind an interval of it.
import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Cause, type Report } from "../gen/headway/v1/report_pb.js";
import { go, runAddress, type TimeQuery } from "./address.ts";
import { useAnswer } from "./answer.ts";
import { colorOf, isCrossedOut, LOOKS, lookOf } from "./categories.ts";
import { count, duration, exactTime, percent } from "./format.ts";
import { type Row, rowsOf } from "./records.ts";
import { Failure, isLive, Scroll, Skeleton, State, Time, useTitle, Value } from "./parts.tsx";
import { useReport } from "./report.ts";
import { RunFrame } from "./run_frame.tsx";
import { records, sharedRun, views } from "./session.ts";
import type { Lane } from "./timeline/lanes.ts";
import type { Mark } from "./timeline/painter.ts";
import { type Attempt, type Chosen, Timeline } from "./timeline/timeline.tsx";
import { clamp, lengthOf, type Window } from "./timeline/window.ts";
import { type Intervals, lanesOf } from "./views.ts";

const ADDRESS_MS = 250; // of no movement, after which the address has the window
const COLUMNS_MOST = 4_000;

interface PageProps {
  project: string;
  run: string;
  time: TimeQuery;
}

export function TimelinePage(props: PageProps): JSX.Element {
  const { project, run, time } = props;
  // All of it: which part is looked at is a matter of the window.
  const { asOf } = time;
  const all = useMemo(() => (asOf === undefined ? {} : { asOf }), [asOf]);
  const { value, error, stale, live } = useReport(project, run, all);
  const name = value?.run;
  useTitle(`${name ?? run} · timeline`);
  return (
    <RunFrame {...{ project, run, name, time, live }} part="timeline">
      {!stale && <Failure error={error} />}
      {value === undefined ? (
        error === undefined && <Skeleton rows={8} />
      ) : (
        <div class={stale ? "stale" : ""} aria-busy={stale}>
          <Shown {...props} report={value} />
        </div>
      )}
    </RunFrame>
  );
}

/** The window of an address, in nanoseconds from the beginning; undefined: all. */
function windowOf(time: TimeQuery, report: Report, all: Window): Window | undefined {
  const { start } = report;
  if (start === undefined) return undefined;
  const instant = (text: string | undefined): number | undefined => {
    const absolute = /^@(-?\d{1,19})$/.exec(text ?? "")?.[1];
    if (absolute !== undefined) return Number(BigInt(absolute) - start);
    const ms = text === undefined ? Number.NaN : Date.parse(text);
    return Number.isNaN(ms) ? undefined : Number(BigInt(Math.round(ms)) * 1_000_000n - start);
  };
  if (time.last !== undefined && /^\d{1,18}$/.test(time.last)) {
    return clamp({ begin: all.end - Number(time.last), end: all.end }, all);
  }
  const [begin, end] = [instant(time.from), instant(time.to)];
  if (begin === undefined && end === undefined) return undefined;
  return clamp({ begin: begin ?? all.begin, end: end ?? all.end }, all);
}

function Shown(props: PageProps & { report: Report }): JSX.Element {
  const { project, run, time, report } = props;
  const { start, asOf } = report;
  if (start === undefined) {
    return (
      <section>
        <p class="empty">
          Nothing is recorded of this run yet: its processes say what they do with{" "}
          <code>headway.init()</code>, and <code>headway doctor</code> says what is missing.
        </p>
      </section>
    );
  }
  return <Lanes {...{ project, run, time, report, origin: start, asOf }} />;
}

function Lanes(props: PageProps & { report: Report; origin: bigint; asOf: bigint }): JSX.Element {
  const { project, run, time, report, origin, asOf } = props;
  const live = isLive(report.state);
  const end = Number((report.end ?? asOf) - origin);
  const bounds = useMemo(() => ({ begin: 0, end: Math.max(end, 1_000) }), [end]);
  const asked = windowOf(time, report, bounds);
  const [chosenWindow, setWindow] = useState<Window | undefined>(asked);
  const [chosen, setChosen] = useState<Chosen>();
  const [error, setError] = useState<unknown>();
  const intervals = useRef<Intervals>(new Map());
  const window = chosenWindow ?? bounds;

  const at = useCallback((ns: number): string => `@${origin + BigInt(Math.round(ns))}`, [origin]);

  // The address has the window, so that a link shows it; and what the address says is shown.
  const address = `${time.from ?? ""} ${time.to ?? ""} ${time.last ?? ""}`;
  const written = useRef(address);
  useEffect(() => {
    if (written.current === address) return;
    written.current = address;
    setWindow(windowOf(time, report, bounds));
  }, [address]);
  const move = useCallback(
    (to: Window): void => setWindow(lengthOf(to) >= lengthOf(bounds) ? undefined : to),
    [bounds],
  );
  useEffect(() => {
    const timer = setTimeout(() => {
      const kept: TimeQuery = time.asOf === undefined ? {} : { asOf: time.asOf };
      const now: TimeQuery =
        chosenWindow === undefined
          ? kept
          : { ...kept, from: at(chosenWindow.begin), to: at(chosenWindow.end) };
      const before = asked === undefined ? undefined : [asked.begin, asked.end].join();
      const after =
        chosenWindow === undefined ? undefined : [chosenWindow.begin, chosenWindow.end].join();
      if (before === after) return;
      written.current = `${now.from ?? ""} ${now.to ?? ""} `;
      go(runAddress(project, run, now, "timeline"), { replace: true });
    }, ADDRESS_MS);
    return () => clearTimeout(timer);
  }, [chosenWindow]);

  const ask = useCallback(
    async (part: Window, columns: number, signal: AbortSignal): Promise<Lane[]> => {
      const timeline = await views.getTimeline(
        {
          project,
          run,
          time: { from: at(part.begin), to: at(part.end), asOf: `@${asOf}` },
          columns: Math.min(Math.max(Math.ceil(columns), 1), COLUMNS_MOST),
        },
        { signal },
      );
      const [lanes, behind] = lanesOf(timeline, origin);
      if (timeline.columns === 0) intervals.current = behind;
      setError(undefined);
      return lanes;
    },
    [project, run, origin, asOf],
  );

  // To where the next one begins: what comes after an attempt is in its lane.
  const attempts = useMemo(
    () =>
      report.attempts.map(({ index, start: begin }, i): Attempt => {
        const next = report.attempts[i + 1]?.start;
        return {
          index,
          begin: Number(begin - origin),
          end: next === undefined ? bounds.end : Number(next - origin),
        };
      }),
    [report, origin, bounds],
  );
  const marks = useMemo(() => marksOf(report, origin), [report, origin]);
  const stops = useMemo(() => marks.map((mark) => mark.at), [marks]);
  const from = origin + BigInt(Math.round(window.begin));
  const length = BigInt(Math.round(lengthOf(window)));
  return (
    <>
      <section>
        <div class="spread">
          <h1 class="what" id="timeline">
            <Time ns={from} />, <Value value={length}>{duration(length)}</Value>
            {chosenWindow !== undefined && (
              <span class="muted"> of {duration(BigInt(Math.round(end)))}</span>
            )}
          </h1>
          <State state={report.state} />
        </div>
        <Timeline
          origin={origin}
          bounds={bounds}
          attempts={attempts}
          window={window}
          onWindow={move}
          ask={ask}
          version={live ? String(asOf) : ""}
          marks={marks}
          stops={stops}
          chosen={chosen}
          onChoose={setChosen}
          onError={setError}
        />
        <Failure error={error} />
        <Key report={report} />
      </section>
      {chosen !== undefined && (
        <Details
          {...{ project, run, chosen, origin }}
          interval={intervalOf(chosen, intervals.current)}
          onClose={() => setChosen(undefined)}
          onShow={() => {
            const margin = (chosen.end - chosen.begin) * 0.25;
            move(clamp({ begin: chosen.begin - margin, end: chosen.end + margin }, bounds));
          }}
        />
      )}
    </>
  );
}

function marksOf(report: Report, origin: bigint): Mark[] {
  const of = (ns: bigint): bigint | undefined =>
    report.attempts.findLast((attempt) => attempt.start <= ns)?.index;
  const disruptions = report.disruptions.map(
    (one): Mark => ({
      at: Number(one.time - origin),
      attempt: of(one.time),
      label: `disruption: ${(Cause[one.cause] ?? "").toLowerCase().replace("_", " ")}`,
      tone: "alarm",
    }),
  );
  const rollbacks = report.rollbacks.map(
    (one): Mark => ({
      at: Number(one.time - origin),
      attempt: of(one.time),
      label: `rollback from step ${one.from} to ${one.to}`,
      tone: "accent",
    }),
  );
  return [...disruptions, ...rollbacks].sort((a, b) => a.at - b.at);
}

/** The colours of what there is in this run. */
function Key({ report }: { report: Report }): JSX.Element {
  const looks = LOOKS.filter((look) =>
    report.categories.some((one) => lookOf(one.category) === look && one.ns > 0n),
  );
  return (
    <ul class="keys small" aria-label="Colours">
      {looks.map((look) => (
        <li key={look.name} title={look.about}>
          <span
            class={`swatch ${look.name === "wasted_progress" ? "crossed" : ""}`}
            style={{ "--color": `var(--category-${look.name})` }}
            aria-hidden="true"
          />
          {look.label}
        </li>
      ))}
    </ul>
  );
}

type Interval = NonNullable<ReturnType<Intervals["get"]>>[number];

function intervalOf(chosen: Chosen, intervals: Intervals): Interval | undefined {
  if (!chosen.exact) return undefined;
  return intervals.get(chosen.attempt)?.[chosen.index];
}

function Details(props: {
  project: string;
  run: string;
  chosen: Chosen;
  origin: bigint;
  interval: Interval | undefined;
  onClose: () => void;
  onShow: () => void;
}): JSX.Element {
  const { project, run, chosen, origin, interval, onClose, onShow } = props;
  const begin = interval?.begin ?? origin + BigInt(Math.round(chosen.begin));
  const end = interval?.end ?? origin + BigInt(Math.round(chosen.end));
  const time = { from: `@${begin}`, to: `@${end}` };
  return (
    <section aria-label="What was chosen">
      <div class="spread">
        <h2>
          {interval?.attempt === undefined && chosen.attempt === undefined
            ? "All attempts"
            : `Attempt ${count(interval?.attempt ?? chosen.attempt)}`}
          {interval?.step !== undefined && `, step ${count(interval.step)}`}
        </h2>
        <span>
          <button type="button" class="quiet" onClick={onShow}>
            Show it alone
          </button>
          <button type="button" class="quiet" onClick={onClose}>
            Close
          </button>
        </span>
      </div>
      <dl class="facts">
        <div>
          <dt>From</dt>
          <dd title={exactTime(begin)}>
            <Time ns={begin} />
          </dd>
        </div>
        <div>
          <dt>Lasted</dt>
          <dd title={`${end - begin} ns`}>{duration(end - begin)}</dd>
        </div>
        {interval !== undefined && (
          <div>
            <dt>It was</dt>
            <dd title={lookOf(interval.category).about}>
              <span
                class={`swatch ${isCrossedOut(interval.category) ? "crossed" : ""}`}
                style={{ "--color": colorOf(interval.category) }}
                aria-hidden="true"
              />
              {lookOf(interval.category).label}
              {interval.name !== "" && `: ${interval.name}`}
            </dd>
          </div>
        )}
        <div>
          <dt>This part</dt>
          <dd>
            <a href={runAddress(project, run, time)}>its report</a>
          </dd>
        </div>
      </dl>
      {interval !== undefined && sharedRun() === undefined && (
        <Records {...{ project, run, begin, end }} />
      )}
      {interval === undefined && (
        <Scroll label="What it is made of">
          <table>
            <thead>
              <tr>
                <th scope="col">Category</th>
                <th scope="col" class="number">
                  Time
                </th>
                <th scope="col" class="number">
                  Share
                </th>
              </tr>
            </thead>
            <tbody>
              {chosen.parts.map(([place, ns]) => (
                <tr key={place}>
                  <th scope="row">{LOOKS[place]?.label}</th>
                  <td class="number">{duration(BigInt(Math.round(ns)))}</td>
                  <td class="number">{percent(ns / (chosen.end - chosen.begin))} %</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </section>
  );
}

const RECORDS_MOST = 200;
const PAGES_MOST = 50; // which may be empty: the records of other times are passed over

/** What processes recorded in that time: what the interval was made from. */
function Records(props: { project: string; run: string; begin: bigint; end: bigint }): JSX.Element {
  const { project, run, begin, end } = props;
  const { value, error, stale } = useAnswer(
    JSON.stringify(["records", project, run, String(begin), String(end)]),
    async (signal): Promise<{ rows: Row[]; more: boolean }> => {
      const rows: Row[] = [];
      let pageToken = "";
      for (let page = 0; page < PAGES_MOST; ++page) {
        // The one that ends it, too.
        const range = { fromTime: begin, toTime: end + 1n };
        const pageSize = RECORDS_MOST - rows.length;
        const answer = await records.listRecords(
          { project, run, pageSize, pageToken, ...range },
          { signal },
        );
        rows.push(...rowsOf(answer.names, answer.journals));
        pageToken = answer.nextPageToken;
        if (pageToken === "" || rows.length >= RECORDS_MOST) break;
      }
      return { rows, more: pageToken !== "" };
    },
    () => undefined,
  );
  if (value === undefined) {
    return error === undefined ? <Skeleton rows={3} /> : <Failure error={error} />;
  }
  return (
    <Scroll label="Records">
      <table class={stale ? "stale" : ""} aria-label="Records of that time">
        <thead>
          <tr>
            <th scope="col">Record</th>
            <th scope="col">Says</th>
            <th scope="col" class="number">
              Rank
            </th>
            <th scope="col" class="number">
              After
            </th>
          </tr>
        </thead>
        <tbody>
          {value.rows.map((row, i) => (
            <tr key={i}>
              <th scope="row">{row.kind}</th>
              <td>{row.what}</td>
              <td class="number">{count(row.rank)}</td>
              <td class="number" title={exactTime(row.time)}>
                {duration(row.time - begin)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {value.rows.length === 0 && (
        <p class="empty">Nothing was recorded in that time: what is around it says what it was.</p>
      )}
      {value.more && (
        <p class="muted small">
          The first {count(value.rows.length)}; <code>headway export</code> writes all.
        </p>
      )}
    </Scroll>
  );
}
