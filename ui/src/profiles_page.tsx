// Profiles of the run: what was captured, where it lies and can be looked at; what can be profiled.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import {
  CapturePhase,
  ProfileKind,
  type ProfilerTarget,
  type ProfileSession,
} from "../gen/headway/v1/profile_service_pb.js";
import { type Look, runAddress, type TimeQuery } from "./address.ts";
import { useAnswer } from "./answer.ts";
import { isWeb } from "./events_page.tsx";
import { count, duration, measure } from "./format.ts";
import { Failure, isLive, Scroll, Skeleton, Time, useTitle } from "./parts.tsx";
import { useReport } from "./report.ts";
import { RunFrame } from "./run_frame.tsx";
import { profiles as service } from "./session.ts";

const AGAIN_MS = 10_000;
const MOST = 1_000;

interface PageProps {
  project: string;
  run: string;
  time: TimeQuery;
  look: Look;
}

export function ProfilesPage(props: PageProps): JSX.Element {
  const { project, run, time, look } = props;
  const { value: report, live } = useReport(project, run, time);
  const name = report?.run;
  useTitle(`${name ?? run} · profiles`);
  const { value, error } = useAnswer(
    JSON.stringify(["profiles", project, run]),
    async (signal) => {
      const [sessions, targets] = await Promise.all([
        service.listProfileSessions({ project, run, pageSize: MOST }, { signal }),
        service.listProfilerTargets({ project, run, pageSize: MOST }, { signal }),
      ]);
      return { sessions, targets };
    },
    () => (report !== undefined && isLive(report.state) ? AGAIN_MS : undefined),
  );
  return (
    <RunFrame {...{ project, run, name, time, look, live }} part="profiles">
      <h1 class="unseen">Profiles of {name ?? run}</h1>
      <Failure error={error} />
      {value === undefined ? (
        error === undefined && <Skeleton rows={6} />
      ) : (
        <>
          <Sessions {...props} sessions={value.sessions.sessions} />
          <Targets targets={value.targets.targets} />
        </>
      )}
    </RunFrame>
  );
}

const KINDS: Record<ProfileKind, string> = {
  [ProfileKind.UNSPECIFIED]: "–",
  [ProfileKind.ON_DEMAND]: "asked for",
  [ProfileKind.PROGRAMMATIC]: "made by the program",
  [ProfileKind.SCANNED]: "found in storage",
  [ProfileKind.SNAPSHOT]: "from memory",
};

function captured(session: ProfileSession): string {
  const of = (phase: CapturePhase): number =>
    session.targets.filter((target) => target.phase === phase).length;
  const [active, failed] = [of(CapturePhase.ACTIVE), of(CapturePhase.FAILED)];
  const parts = [`${count(of(CapturePhase.SUCCEEDED))} of ${count(session.targets.length)}`];
  if (active > 0) parts.push(`${count(active)} going on`);
  if (failed > 0) parts.push(`${count(failed)} failed`);
  return session.targets.length === 0 ? "–" : parts.join(", ");
}

const bytesOf = (session: ProfileSession): number =>
  session.targets
    .flatMap((target) => target.files)
    .reduce((sum, file) => sum + Number(file.bytes), 0);

function Sessions(props: PageProps & { sessions: ProfileSession[] }): JSX.Element {
  const { project, run, sessions } = props;
  return (
    <section>
      <div class="spread">
        <h2 id="sessions">Profiles</h2>
        <Capture />
      </div>
      {sessions.length === 0 ? (
        <p class="empty">
          No profile of this run is known: programs note theirs with{" "}
          <code>ProfileService.CreateProfileSession</code>.
        </p>
      ) : (
        <Scroll label="Profiles">
          <table aria-labelledby="sessions">
            <thead>
              <tr>
                <th scope="col">Profile</th>
                <th scope="col">How</th>
                <th scope="col">Began</th>
                <th scope="col" class="number">
                  Lasted
                </th>
                <th scope="col" class="number">
                  Captured
                </th>
                <th scope="col" class="number minor">
                  Size
                </th>
                <th scope="col">Files</th>
                <th scope="col">Look at it</th>
              </tr>
            </thead>
            <tbody>
              {sessions.map((session) => (
                <tr key={session.uid}>
                  <th scope="row">
                    {session.name === "" ? session.uid.slice(0, 8) : session.name}
                  </th>
                  <td>
                    {KINDS[session.kind]}
                    {session.trigger !== "" && <span class="muted small"> {session.trigger}</span>}
                  </td>
                  <td>
                    <a
                      href={runAddress(project, run, around(session), "timeline")}
                      title="on the timeline"
                    >
                      <Time ns={session.startTime} />
                    </a>
                  </td>
                  <td class="number">{duration(session.durationNs)}</td>
                  <td class="number" title={errorsOf(session)}>
                    {captured(session)}
                  </td>
                  <td class="number minor">
                    {bytesOf(session) === 0 ? "–" : measure(bytesOf(session), "By")}
                  </td>
                  <td>{session.storageUri === "" ? "–" : <code>{session.storageUri}</code>}</td>
                  <td>
                    {isWeb(session.dashboardUri) ? (
                      <a href={session.dashboardUri} target="_blank" rel="noreferrer noopener">
                        Open
                      </a>
                    ) : (
                      "–"
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </section>
  );
}

const errorsOf = (session: ProfileSession): string =>
  session.targets
    .filter(({ error }) => error !== "")
    .map(({ target, error }) => `${target}: ${error}`)
    .join("\n");

function around(session: ProfileSession): TimeQuery {
  const end = session.startTime + (session.durationNs ?? 1_000_000_000n);
  const margin = (end - session.startTime) / 2n + 1_000_000n;
  return { from: `@${session.startTime - margin}`, to: `@${end + margin}` };
}

/** This server notes profiles and captures none; which way there is, it says. */
function Capture(): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  return (
    <>
      <button type="button" class="quiet" onClick={() => box.current?.showModal()}>
        Capture a profile
      </button>
      <dialog ref={box} aria-labelledby="capture">
        <div class="spread">
          <h2 id="capture">Capture a profile</h2>
          <button type="button" class="quiet" onClick={() => box.current?.close()}>
            Close
          </button>
        </div>
        <p>
          This server captures no profile by itself yet. Until it does, let the program capture:
        </p>
        <pre>
          jax.profiler.start_trace("/profiles/run"){"\n"}
          ...{"\n"}
          jax.profiler.stop_trace()
        </pre>
        <p>and note where it lies, so that it is found here:</p>
        <pre>
          curl $HEADWAY_SERVER/headway.v1.ProfileService/CreateProfileSession \{"\n"}
          {"  "}-H "Authorization: Bearer $HEADWAY_TOKEN" -H "Content-Type: application/json" \
          {"\n"}
          {"  "}-d '{"{"}"run": "RUN", "session": {"{"}"kind": "PROFILE_KIND_PROGRAMMATIC",{"\n"}
          {"      "}"storageUri": "gs://bucket/profiles"{"}}"}'
        </pre>
      </dialog>
    </>
  );
}

function Targets({ targets }: { targets: ProfilerTarget[] }): JSX.Element | null {
  if (targets.length === 0) return null;
  return (
    <section>
      <h2 id="targets">What can be profiled</h2>
      <Scroll label="What can be profiled">
        <table aria-labelledby="targets">
          <thead>
            <tr>
              <th scope="col">Process</th>
              <th scope="col">Host</th>
              <th scope="col" class="number">
                Rank
              </th>
              <th scope="col">Address</th>
              <th scope="col">Told</th>
            </tr>
          </thead>
          <tbody>
            {targets.map((target) => (
              <tr key={target.id}>
                <th scope="row">
                  {target.id}
                  {target.isMaster && <span class="muted small"> speaks for all</span>}
                </th>
                <td>{target.host}</td>
                <td class="number">{count(target.rank)}</td>
                <td>
                  <code>{target.address}</code>
                </td>
                <td>
                  <Time ns={target.updateTime} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
