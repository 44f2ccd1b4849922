// What happened to the run, and what analyzers make of it: when, how bad, on what evidence, and
// what to do.
import type { JSX } from "preact";
import {
  type AnalyzerReport,
  DetectionState,
  type Event,
  EventType,
  type Evidence,
  Severity,
} from "../gen/headway/v1/event_service_pb.js";
import type { Report } from "../gen/headway/v1/report_pb.js";
import { go, type Look, runAddress, type TimeQuery } from "./address.ts";
import { useAnswer } from "./answer.ts";
import { count, duration, measure, percent } from "./format.ts";
import { Failure, isLive, Scroll, Skeleton, Time, useTitle } from "./parts.tsx";
import { useReport } from "./report.ts";
import { RunFrame } from "./run_frame.tsx";
import { events as service } from "./session.ts";

const AGAIN_MS = 10_000;
const EVENTS_MOST = 1_000;

interface PageProps {
  project: string;
  run: string;
  time: TimeQuery;
  look: Look;
}

export function EventsPage(props: PageProps): JSX.Element {
  const { project, run, time, look } = props;
  const { value: report, live } = useReport(project, run, time);
  const name = report?.run;
  useTitle(`${name ?? run} · events`);
  const again = report !== undefined && isLive(report.state) ? AGAIN_MS : undefined;
  const { value, error } = useAnswer(
    JSON.stringify(["events", project, run]),
    (signal) => service.listEvents({ project, run, pageSize: EVENTS_MOST }, { signal }),
    () => again,
  );
  return (
    <RunFrame {...{ project, run, name, time, look, live }} part="events">
      <h1 class="unseen">Events of {name ?? run}</h1>
      <Failure error={error} />
      {value === undefined ? (
        error === undefined && <Skeleton rows={6} />
      ) : value.events.length === 0 ? (
        <section>
          <p class="empty">
            Nobody has said that anything happened to this run. Programs say it with{" "}
            <code>EventService.CreateEvent</code>.
          </p>
        </section>
      ) : (
        <Shown {...props} events={value.events} report={report} more={value.nextPageToken !== ""} />
      )}
    </RunFrame>
  );
}

const TYPES: Record<EventType, string> = {
  [EventType.UNSPECIFIED]: "event",
  [EventType.PERFORMANCE_DEGRADATION]: "performance degradation",
  [EventType.HANG]: "hang",
  [EventType.INTERRUPTION]: "interruption",
  [EventType.TERMINATION]: "termination",
  [EventType.OTHER]: "other",
};
const SEVERITIES: Record<Severity, [label: string, tone: string]> = {
  [Severity.UNSPECIFIED]: ["not said", "faint"],
  [Severity.INFO]: ["info", "faint"],
  [Severity.WARNING]: ["warning", "warn"],
  [Severity.ERROR]: ["error", "bad"],
  [Severity.CRITICAL]: ["critical", "bad"],
};
const STATES: Record<DetectionState, [label: string, tone: string, about: string]> = {
  [DetectionState.UNSPECIFIED]: ["unknown", "faint", ""],
  [DetectionState.DETECTED]: ["found a cause", "bad", "it looked, and found a cause"],
  [DetectionState.NOT_DETECTED]: ["found none", "done", "it looked, and found no cause"],
  [DetectionState.NO_DATA]: ["no data", "faint", "it could not look: what it needs is missing"],
  [DetectionState.ERROR]: ["failed", "warn", "it failed"],
};

export function nameOfEvent(event: Event): string {
  if (event.displayName !== "") return event.displayName;
  return event.type === EventType.OTHER ? event.customType : TYPES[event.type];
}

/** What analyzers came to, in a few words. */
function verdictOf(event: Event): string {
  const states = event.analyzerReports.map(({ state }) => state);
  if (states.length === 0) return "nobody has looked";
  const found = states.filter((state) => state === DetectionState.DETECTED).length;
  if (found > 0) return found === 1 ? "a cause was found" : `${count(found)} causes were found`;
  if (states.every((state) => state === DetectionState.NO_DATA)) return "no data to look at";
  return states.includes(DetectionState.NOT_DETECTED) ? "no cause was found" : "could not be told";
}

const lengthOf = (event: Event): bigint | undefined =>
  event.endTime === undefined ? undefined : event.endTime - event.startTime;

function Shown(
  props: PageProps & { events: Event[]; report: Report | undefined; more: boolean },
): JSX.Element {
  const { project, run, time, look, events, report, more } = props;
  const to = (event: Event | undefined): string =>
    runAddress(project, run, time, "events", event === undefined ? {} : { chosen: event.uid });
  const chosen = events.find((event) => event.uid === look.chosen);
  return (
    <>
      <section>
        <h2 id="events">What happened</h2>
        {report !== undefined && <Strip {...{ events, report, to }} chosen={chosen} />}
        <Scroll label="Events">
          <table aria-labelledby="events">
            <thead>
              <tr>
                <th scope="col">Event</th>
                <th scope="col">Severity</th>
                <th scope="col">Began</th>
                <th scope="col" class="number">
                  Lasted
                </th>
                <th scope="col" class="minor">
                  Where
                </th>
                <th scope="col">Analyzers</th>
              </tr>
            </thead>
            <tbody>
              {events.map((event) => (
                <tr key={event.uid} aria-selected={event === chosen}>
                  <th scope="row">
                    <a href={to(event)}>{nameOfEvent(event)}</a>
                  </th>
                  <td>
                    <Tone {...toneOf(event)} />
                  </td>
                  <td>
                    <Time ns={event.startTime} />
                  </td>
                  <td class="number">
                    {event.endTime === undefined ? "goes on" : duration(lengthOf(event))}
                  </td>
                  <td class="minor">{whereOf(event)}</td>
                  <td>{verdictOf(event)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
        {more && (
          <p class="muted small">
            The newest {count(events.length)}; <code>headway events list</code> has all.
          </p>
        )}
      </section>
      {chosen !== undefined && (
        <Details {...props} event={chosen} onClose={() => go(to(undefined))} />
      )}
    </>
  );
}

const toneOf = (event: Event): { label: string; tone: string } => {
  const [label, tone] = SEVERITIES[event.severity] ?? SEVERITIES[Severity.UNSPECIFIED];
  return { label, tone };
};

function Tone(props: { label: string; tone: string; about?: string }): JSX.Element {
  return (
    <span class={`state ${props.tone}`} title={props.about}>
      {props.label}
    </span>
  );
}

function whereOf(event: Event): string {
  const { scope } = event;
  if (scope === undefined) return "–";
  const parts = [scope.layer, ...scope.hosts.slice(0, 3), ...scope.devices.slice(0, 3)];
  const left = scope.hosts.length + scope.devices.length - (parts.length - 1);
  const named = parts.filter((part) => part !== "");
  return named.length === 0 ? "–" : `${named.join(", ")}${left > 0 ? ` and ${left} more` : ""}`;
}

/** The run from its beginning to its end, and its events on it. */
function Strip(props: {
  events: readonly Event[];
  report: Report;
  chosen: Event | undefined;
  to: (event: Event) => string;
}): JSX.Element | null {
  const { events, report, chosen, to } = props;
  const start = report.start;
  if (start === undefined) return null;
  const end = report.end ?? report.asOf;
  const length = Number(end - start);
  if (length <= 0) return null;
  const place = (ns: bigint): number =>
    Math.min(Math.max((Number(ns - start) / length) * 100, 0), 100);
  return (
    <div class="strip" role="group" aria-label="Events on the run's time">
      {events.map((event) => {
        const from = place(event.startTime);
        const width = place(event.endTime ?? end) - from;
        return (
          <a
            key={event.uid}
            href={to(event)}
            class={`${toneOf(event).tone} ${event === chosen ? "chosen" : ""}`}
            style={{ left: `${from}%`, width: `${width}%` }}
            aria-label={`${nameOfEvent(event)}, ${toneOf(event).label}`}
            title={`${nameOfEvent(event)}: ${duration(event.startTime - start)} after the start`}
          />
        );
      })}
    </div>
  );
}

function Details(props: PageProps & { event: Event; onClose: () => void }): JSX.Element {
  const { project, run, event, onClose } = props;
  const end = event.endTime ?? event.startTime + 1n;
  const margin = (end - event.startTime) / 2n + 1_000_000_000n;
  const around = { from: `@${event.startTime - margin}`, to: `@${end + margin}` };
  return (
    <section aria-label="The event">
      <div class="spread">
        <h2>{nameOfEvent(event)}</h2>
        <button type="button" class="quiet" onClick={onClose}>
          Close
        </button>
      </div>
      <dl class="facts">
        <div>
          <dt>Severity</dt>
          <dd>
            <Tone {...toneOf(event)} />
          </dd>
        </div>
        <div>
          <dt>Began</dt>
          <dd>
            <Time ns={event.startTime} />
          </dd>
        </div>
        <div>
          <dt>Lasted</dt>
          <dd>{event.endTime === undefined ? "goes on" : duration(lengthOf(event))}</dd>
        </div>
        <div>
          <dt>Where</dt>
          <dd>{whereOf(event)}</dd>
        </div>
        <div>
          <dt>Said by</dt>
          <dd>{event.creator}</dd>
        </div>
        <div>
          <dt>That time</dt>
          <dd>
            <a href={runAddress(project, run, around, "timeline")}>on the timeline</a>
          </dd>
        </div>
      </dl>
      <EvidenceTable label="Evidence" evidence={event.evidence} />
      {event.analyzerReports.map((report, i) => (
        <ReportOf key={i} report={report} />
      ))}
    </section>
  );
}

function ReportOf({ report }: { report: AnalyzerReport }): JSX.Element {
  const [label, tone, about] = STATES[report.state] ?? STATES[DetectionState.UNSPECIFIED];
  const analyzer = `${report.analyzer}${report.version === "" ? "" : ` ${report.version}`}`;
  return (
    <div class="analyzer">
      <h3>
        {analyzer} <Tone label={label} tone={tone} about={about} />
        {report.confidence !== undefined && (
          <span class="muted small"> {percent(report.confidence)} % sure</span>
        )}
      </h3>
      {report.details !== "" && <p class="text">{report.details}</p>}
      <EvidenceTable label={`Evidence of ${analyzer}`} evidence={report.evidence} />
      {report.recommendedActions.length > 0 && (
        <ol class="advice">
          {report.recommendedActions.map((action) => (
            <li key={action.description}>
              {action.description}{" "}
              {isWeb(action.documentationUrl) && (
                <a href={action.documentationUrl} target="_blank" rel="noreferrer noopener">
                  more about it
                </a>
              )}
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

/** Addresses come from whoever wrote the event. */
export const isWeb = (address: string): boolean => /^https?:\/\//i.test(address);

function EvidenceTable(props: {
  label: string;
  evidence: readonly Evidence[];
}): JSX.Element | null {
  const { label, evidence } = props;
  if (evidence.length === 0) return null;
  return (
    <Scroll label={label}>
      <table aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Evidence</th>
            <th scope="col" class="number">
              Value
            </th>
            <th scope="col">When</th>
            <th scope="col">Says</th>
          </tr>
        </thead>
        <tbody>
          {evidence.map((one, i) => (
            <tr key={i}>
              <th scope="row">
                {one.what}
                {one.metric !== "" && <code class="muted"> {one.metric}</code>}
              </th>
              <td class="number">{one.value === undefined ? "–" : measure(one.value, one.unit)}</td>
              <td>
                <Time ns={one.startTime} />
              </td>
              <td class="text">{one.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
