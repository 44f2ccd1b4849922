// What all pages of a run have around them: where one is, and where else one can go.
import type { ComponentChildren, JSX } from "preact";
import { RUN_PARTS, runAddress, runsAddress, type RunPart, type TimeQuery } from "./address.ts";
import { type Live, LiveBadge } from "./live.tsx";
import { Share } from "./share.tsx";

const NAMES: Record<RunPart, string> = { overview: "Overview", timeline: "Timeline" };

export function RunFrame(props: {
  project: string;
  run: string;
  part: RunPart;
  /** What the other pages show as well. */
  time: TimeQuery;
  live: Live;
  children: ComponentChildren;
}): JSX.Element {
  const { project, run, part, time, live, children } = props;
  return (
    <main tabIndex={-1}>
      <div class="place">
        <nav class="crumbs" aria-label="Where this is">
          <a href={runsAddress(project)}>{project}</a> <span aria-hidden="true">/</span>{" "}
          <span aria-current={part === "overview" ? "page" : undefined}>{run}</span>
        </nav>
        <nav class="tabs" aria-label="Pages of this run">
          {RUN_PARTS.map((one) => (
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
        <Share project={project} run={run} />
      </div>
      {children}
    </main>
  );
}
