// What all pages of a run have around them: where one is, and where else one can go.
import type { ComponentChildren, JSX } from "preact";
import {
  fragmentOf,
  type Look,
  RUN_PARTS,
  runAddress,
  runsAddress,
  type RunPart,
  type TimeQuery,
} from "./address.ts";
import { type Live, LiveBadge } from "./live.tsx";
import { sharedRun } from "./session.ts";
import { Share } from "./share.tsx";

const NAMES: Record<RunPart, string> = {
  overview: "Overview",
  timeline: "Timeline",
  steps: "Steps",
  metrics: "Metrics",
  configs: "Configs",
  events: "Events",
  profiles: "Profiles",
};
/** What a link does not show. */
const PRIVATE: ReadonlySet<RunPart> = new Set(["configs", "events", "profiles"]);

export function RunFrame(props: {
  project: string;
  run: string;
  part: RunPart;
  /** What the other pages show as well. */
  time: TimeQuery;
  /** Of this page alone. */
  look?: Look;
  live: Live;
  /** Of the run, once it is known: an address may have its uid. */
  name?: string | undefined;
  children: ComponentChildren;
}): JSX.Element {
  const { project, run, part, time, live, children } = props;
  const guest = sharedRun() !== undefined;
  const name = props.name ?? run;
  return (
    <main tabIndex={-1}>
      <div class="place">
        <nav class="crumbs" aria-label="Where this is">
          {guest ? project : <a href={runsAddress(project)}>{project}</a>}{" "}
          <span aria-hidden="true">/</span>{" "}
          <span aria-current={part === "overview" ? "page" : undefined}>{name}</span>
        </nav>
        <nav class="tabs" aria-label="Pages of this run">
          {RUN_PARTS.filter((one) => !guest || !PRIVATE.has(one)).map((one) => (
            <a
              key={one}
              href={runAddress(project, run, time, one)}
              aria-current={one === part ? "page" : undefined}
            >
              {NAMES[one]}
            </a>
          ))}
        </nav>
        <span class="grow" />
        <LiveBadge live={live} />
        <Share project={project} run={run} view={fragmentOf(time, part, props.look)} />
      </div>
      {children}
    </main>
  );
}
