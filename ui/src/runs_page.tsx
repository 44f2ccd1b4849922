import type { JSX } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ListRunsResponse, Run } from "../gen/headway/v1/run_service_pb.js";
import { Code, ConnectError } from "@connectrpc/connect";
import { compareAddress, COMPARED_MOST, go, runAddress, runsAddress } from "./address.ts";
import { useAnswer } from "./answer.ts";
import { count, duration, toFilter } from "./format.ts";
import {
  Failure,
  Goodput,
  isLive,
  Scroll,
  Skeleton,
  State,
  Time,
  useTitle,
  Value,
} from "./parts.tsx";
import { may, projects, runs, session } from "./session.ts";

const PAGE_SIZE = 50;
const AGAIN_MS = 10_000;

interface Query {
  project: string;
  filter: string;
  order: string;
  mark: string;
}

interface Column {
  label: string;
  field?: string; // what the server orders by
  number?: boolean;
  about: string;
  minor?: boolean; // left out where there is little room
}

const COLUMNS: Column[] = [
  { label: "Run", field: "name", about: "its name, and the group it belongs to" },
  { label: "State", field: "state", about: "what its records say" },
  {
    label: "Goodput",
    field: "goodput",
    number: true,
    about: "productive share of the elapsed time",
  },
  {
    label: "Elapsed",
    field: "elapsed",
    number: true,
    about: "from its first start to its end, or to now",
  },
  {
    label: "Attempts",
    field: "attempts",
    number: true,
    about: "how often it was started",
    minor: true,
  },
  {
    label: "Last step",
    field: "last_step",
    number: true,
    about: "the last one that was started",
    minor: true,
  },
  {
    label: "Started",
    field: "start",
    number: true,
    about: "when its first process began",
    minor: true,
  },
  {
    label: "Last update",
    field: "end",
    number: true,
    about: "its end, or how far its records are looked at",
  },
];

/** The runs that are to be compared, as addresses have them, of one project. */
const chosen = signal<{ project: string; runs: readonly string[] }>({ project: "", runs: [] });

const chosenOf = (project: string): readonly string[] =>
  chosen.value.project === project ? chosen.value.runs : [];

function choose(project: string, run: string, wanted: boolean): void {
  const others = chosenOf(project).filter((one) => one !== run);
  chosen.value = { project, runs: wanted ? [...others, run] : others };
}

/** What is done with those that are chosen. */
function Chosen({ project }: { project: string }): JSX.Element | null {
  const names = chosenOf(project);
  if (names.length === 0) return null;
  return (
    <p class="chosen-runs" role="status">
      {names.length < 2 ? (
        "1 run chosen: choose another one to compare it with. "
      ) : (
        <a href={compareAddress(project, names)}>Compare {names.length} runs</a>
      )}{" "}
      <button
        type="button"
        class="quiet"
        onClick={() => {
          chosen.value = { project, runs: [] };
        }}
      >
        Choose none
      </button>
    </p>
  );
}

export function RunsPage(query: Query): JSX.Element {
  const { project, filter, order, mark } = query;
  useTitle(project === "default" ? "Runs" : `Runs of ${project}`);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current !== null) box.current.value = filter;
  }, [filter]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const typing = event.target instanceof HTMLInputElement;
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      box.current?.select();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  const answer = useAnswer(
    JSON.stringify([project, filter, order, mark]),
    (signal) =>
      runs.listRuns(
        {
          project,
          filter: toFilter(filter),
          orderBy: order,
          pageToken: mark,
          pageSize: PAGE_SIZE,
        },
        { signal },
      ),
    () => AGAIN_MS,
  );
  const { value, error, stale } = answer;
  const wrongFilter =
    !stale &&
    filter !== "" &&
    error !== undefined &&
    ConnectError.from(error).code === Code.InvalidArgument;

  return (
    <main tabIndex={-1}>
      <div class="heading">
        <h1>Runs</h1>
        <ProjectChoice project={project} />
        <form
          role="search"
          class="filter"
          onSubmit={(event) => {
            event.preventDefault();
            go(runsAddress(project, { filter: box.current?.value.trim() ?? "", order }));
          }}
        >
          <input
            ref={box}
            type="search"
            aria-label="Filter runs"
            aria-describedby="filter-help"
            aria-invalid={wrongFilter}
            aria-keyshortcuts="/"
            placeholder="A name, or: goodput < 90% AND labels.team = vision"
            autocomplete="off"
            spellcheck={false}
            defaultValue={filter}
          />
        </form>
      </div>
      <p id="filter-help" class="muted small">
        <kbd>/</kbd> filters by <code>name</code>, <code>state</code>, <code>goodput</code>,{" "}
        <code>elapsed</code>, <code>start</code>, <code>attempts</code>, <code>group</code>,{" "}
        <code>labels.KEY</code> and more, with <code>AND</code>, <code>OR</code>, <code>NOT</code>.
      </p>
      {!stale && <Failure error={error} />}
      {value === undefined ? (
        error === undefined && <Skeleton rows={8} />
      ) : (
        <div class={stale ? "stale" : ""} aria-busy={stale}>
          <Chosen project={project} />
          <Table query={query} runs={value.runs} />
          {value.runs.length === 0 && error === undefined && <Nothing {...query} />}
          <Pages query={query} value={value} />
        </div>
      )}
    </main>
  );
}

function Table({ query, runs: rows }: { query: Query; runs: Run[] }): JSX.Element | null {
  if (rows.length === 0) return null;
  return (
    <Scroll label="Runs">
      <table class="runs">
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">Compare</span>
            </th>
            {COLUMNS.map((column) => (
              <Heading key={column.label} column={column} query={query} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((run) => (
            <Row key={run.uid} run={run} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Heading({ column, query }: { column: Column; query: Query }): JSX.Element {
  const { label, field, about } = column;
  const classes = [column.number === true && "number", column.minor === true && "minor"];
  const down = query.order === `${field} desc`;
  const up = query.order === field;
  // What is read first is the best, the longest and the newest; names go from A on.
  const next = field === "name" || down ? field : `${field} desc`;
  const order = up ? (field === "name" ? `${field} desc` : "") : (next ?? "");
  return (
    <th
      scope="col"
      class={classes.filter(Boolean).join(" ")}
      title={about}
      aria-sort={up ? "ascending" : down ? "descending" : undefined}
    >
      {field === undefined ? (
        label
      ) : (
        <a href={runsAddress(query.project, { filter: query.filter, order })}>
          {label}
          <span aria-hidden="true">{up ? " ↑" : down ? " ↓" : ""}</span>
        </a>
      )}
    </th>
  );
}

// Of which a browser makes another address.
const isDots = (name: string): boolean => name === "." || name === "..";

function Row({ run }: { run: Run }): JSX.Element {
  const share = run.goodput;
  const named = isDots(run.label) ? run.uid : run.label;
  const names = chosenOf(run.project);
  const isChosen = names.includes(named);
  return (
    <tr>
      <td>
        <input
          type="checkbox"
          aria-label={`Compare ${run.label}`}
          checked={isChosen}
          disabled={!isChosen && names.length >= COMPARED_MOST}
          onChange={(event) => choose(run.project, named, event.currentTarget.checked)}
        />
      </td>
      <th scope="row">
        <a href={runAddress(run.project, named)}>{run.label}</a>
        {run.group !== "" && <span class="muted small"> {run.group}</span>}
      </th>
      <td>
        <State state={run.state} />
      </td>
      <td class="number goodput">
        <span class="meter" aria-hidden="true">
          <span style={{ width: `${(share ?? 0) * 100}%` }} />
        </span>
        <Goodput share={share} />
      </td>
      <td class="number">
        <Value value={run.elapsedNs}>{duration(run.elapsedNs)}</Value>
      </td>
      <td class="number minor">{count(run.attempts)}</td>
      <td class="number minor">
        <Value value={run.lastStep}>{count(run.lastStep)}</Value>
      </td>
      <td class="number minor">
        <Time ns={run.start} />
      </td>
      <td class="number">
        <Time
          ns={isLive(run.state) ? known(run.summaryTime) : (run.end ?? known(run.summaryTime))}
          relative
        />
      </td>
    </tr>
  );
}

const known = (ns: bigint): bigint | undefined => (ns === 0n ? undefined : ns);

function Pages({ query, value }: { query: Query; value: ListRunsResponse }): JSX.Element | null {
  const { project, filter, order, mark } = query;
  const next = value.nextPageToken;
  if (mark === "" && next === "") return null;
  return (
    <nav class="pages" aria-label="Pages">
      {mark !== "" && <a href={runsAddress(project, { filter, order })}>First page</a>}
      {next !== "" && (
        <a href={runsAddress(project, { filter, order, mark: next })} rel="next">
          Next {PAGE_SIZE}
        </a>
      )}
    </nav>
  );
}

function Nothing({ project, filter, mark }: Query): JSX.Element {
  if (filter !== "" || mark !== "") {
    return (
      <p class="empty">
        No run of project {project} is like that. <a href={runsAddress(project)}>All runs</a>
      </p>
    );
  }
  const option = project === "default" ? "" : ` --project ${project}`;
  return (
    <div class="empty">
      <p>No run of project {project} has arrived here yet. To send those of a machine:</p>
      <pre>
        export HEADWAY_SERVER={location.origin} HEADWAY_TOKEN=…{"\n"}
        headway ship{option}
      </pre>
    </div>
  );
}

/** Those that there are, where one may know. */
function ProjectChoice({ project }: { project: string }): JSX.Element | null {
  const now = session.value;
  const only = now.state === "in" ? now.caller.project : "";
  const allowed = only === "" && may("projects.list");
  const { value } = useAnswer(
    `projects ${allowed}`,
    async (signal) => (allowed ? (await projects.listProjects({}, { signal })).projects : []),
    () => undefined,
  );
  const names = [...new Set([...(value ?? []).map((one) => one.name), project])].sort();
  return (
    <label class="project">
      <span class="muted">Project</span>
      <select
        value={project}
        disabled={names.length < 2}
        onChange={(event) => go(runsAddress(event.currentTarget.value))}
      >
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
