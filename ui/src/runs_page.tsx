import type { JSX } from "preact";
import { signal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { RunState } from "../gen/headway/v1/report_pb.js";
import type { Fleet, Run } from "../gen/headway/v1/run_service_pb.js";
import { Code, ConnectError } from "@connectrpc/connect";
import { compareAddress, COMPARED_MOST, go, runAddress, runsAddress } from "./address.ts";
import { useAnswer } from "./answer.ts";
import type { Cell } from "./csv.ts";
import { FilterBox } from "./filter_box.tsx";
import { costOf, Costliest, lostOf, money, Parts, Sparkline, Totals } from "./fleet.tsx";
import { count, duration, exactTime, toFilter } from "./format.ts";
import { LiveBadge, useLive } from "./live.tsx";
import {
  Choice,
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
import { useRunList } from "./run_list.ts";
import { may, projects, runs, session } from "./session.ts";
import { useWindowRows } from "./virtual.ts";

const AGAIN_MS = 10_000;
const ROW_PX = 38;
const COSTLIEST = 5;

interface Query {
  project: string;
  filter: string;
  order: string;
  group: string;
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
  { label: "Over time", about: "goodput from its start to its end, or to now", minor: true },
  {
    label: "Elapsed",
    field: "elapsed",
    number: true,
    about: "from its first start to its end, or to now",
  },
  { label: "Lost", number: true, about: "what was not productive of that, and what it cost" },
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
    label: "Accelerators",
    field: "accelerators",
    number: true,
    about: "how many it holds while it runs, as somebody said",
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
  const { project, filter, order, group } = query;
  useTitle(project === "default" ? "Runs" : `Runs of ${project}`);
  const live = useLive(project, undefined, true);
  const list = useRunList(project, filter, order, live.changes);
  const { error, stale } = list;
  const wrongFilter =
    !stale &&
    filter !== "" &&
    error !== undefined &&
    ConnectError.from(error).code === Code.InvalidArgument;
  const fleet = useAnswer(
    JSON.stringify(["fleet", project, filter, group]),
    (signal) =>
      runs.getFleet(
        { project, filter: toFilter(filter), groupBy: group, top: COSTLIEST },
        { signal },
      ),
    () => AGAIN_MS,
  );
  const labels = useMemo(() => {
    const found = new Map<string, Set<string>>();
    for (const run of list.runs) {
      for (const [key, value] of Object.entries(run.labels)) {
        found.set(key, (found.get(key) ?? new Set()).add(value));
      }
    }
    return found;
  }, [list.runs.length, project]);
  const to = (more: Partial<Query>): string =>
    runsAddress(project, { filter, order, group, ...more });

  return (
    <main tabIndex={-1} class="wide">
      <div class="heading">
        <h1>Runs</h1>
        <ProjectChoice project={project} />
        <FilterBox
          filter={filter}
          labels={labels}
          wrong={wrongFilter}
          onFilter={(text) => go(to({ filter: text }))}
        />
        <LiveBadge live={live} />
      </div>
      <p id="filter-help" class="muted small">
        <kbd>/</kbd> filters by <code>name</code>, <code>state</code>, <code>goodput</code>,{" "}
        <code>elapsed</code>, <code>start</code>, <code>attempts</code>, <code>group</code>,{" "}
        <code>labels.KEY</code> and more, with <code>AND</code>, <code>OR</code>, <code>NOT</code>.
      </p>
      {!stale && <Failure error={error} />}
      {list.fresh ? (
        error === undefined && <Skeleton rows={8} />
      ) : (
        <div class={stale ? "stale" : ""} aria-busy={stale}>
          {fleet.value !== undefined && list.runs.length > 0 && (
            <Overall fleet={fleet.value} query={query} labels={labels} to={to} />
          )}
          <Chosen project={project} />
          <Table {...{ query, list }} fleet={fleet.value} />
          {list.runs.length === 0 && error === undefined && <Nothing {...query} />}
        </div>
      )}
    </main>
  );
}

const GROUPS: [name: string, label: string][] = [
  ["", "none"],
  ["group", "group"],
  ["state", "state"],
];

/** All runs together, by what they have in common, and which lost most. */
function Overall(props: {
  fleet: Fleet;
  query: Query;
  labels: ReadonlyMap<string, ReadonlySet<string>>;
  to: (more: Partial<Query>) => string;
}): JSX.Element {
  const { fleet, query, labels, to } = props;
  const { group, filter } = query;
  const keys = [...labels.keys()].sort().map((key): [string, string] => {
    const name = /^[\w./-]+$/u.test(key) ? key : JSON.stringify(key);
    return [`labels.${name}`, key];
  });
  const only = (name: string): string => {
    const own = `${group} = ${JSON.stringify(name)}`;
    return to({ filter: filter === "" ? own : `(${toFilter(filter)}) AND ${own}`, group: "" });
  };
  return (
    <>
      <Totals fleet={fleet} />
      <div class="windows">
        <Choice
          label="By"
          choices={[...GROUPS, ...keys.slice(0, 8)]}
          chosen={group}
          onChoose={(chosen) => go(to({ group: chosen }), { replace: true })}
        />
      </div>
      <div class="pair">
        {group !== "" && fleet.parts.length > 0 && (
          <Parts fleet={fleet} by={group.replace(/^labels\./, "")} to={only} />
        )}
        {fleet.all !== undefined && fleet.all.runs > 1n && <Costliest fleet={fleet} />}
      </div>
    </>
  );
}

const heightOf = (): number => ROW_PX;

const HEAD = [
  ..."run uid group state goodput elapsed_ns lost_ns attempts last_step".split(" "),
  ..."accelerators start end".split(" "),
];
const time = (ns: bigint | undefined): Cell => (ns === undefined ? "" : exactTime(ns));

/** All runs of the list, as many as there are. */
async function allRows({ project, filter, order }: Query): Promise<Cell[][]> {
  const rows: Cell[][] = [HEAD];
  let pageToken = "";
  do {
    const page = await runs.listRuns({
      project,
      filter: toFilter(filter),
      orderBy: order,
      pageToken,
      pageSize: 1_000,
      withDigest: true,
    });
    for (const run of page.runs) {
      rows.push([
        ...[run.label, run.uid, run.group, (RunState[run.state] ?? "").toLowerCase()],
        ...[run.goodput ?? null, String(run.elapsedNs), String(lostOf(run) ?? "")],
        ...[run.attempts, String(run.lastStep ?? "")],
        run.accelerators === 0n ? "" : String(run.accelerators),
        ...[time(run.start), time(run.end)],
      ]);
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return rows;
}

function Table(props: {
  query: Query;
  list: ReturnType<typeof useRunList>;
  fleet: Fleet | undefined;
}): JSX.Element | null {
  const { query, list, fleet } = props;
  const box = useRef<HTMLTableSectionElement>(null);
  const known = list.runs.length;
  // Before the rest has come it is known how many there will be.
  const total = list.whole ? known : Math.max(known, Number(fleet?.all?.runs ?? 0n));
  const { items, height, top } = useWindowRows(total, heightOf, box);
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  list.want(last + 1, first, last);
  if (total === 0) return null;
  const before = (items[0]?.start ?? top) - top;
  const after = height - ((items.at(-1)?.end ?? top) - top);
  const space = (px: number): JSX.Element | null =>
    px < 1 ? null : (
      <tr class="space" aria-hidden="true">
        <td colSpan={COLUMNS.length + 1} style={{ height: `${px}px` }} />
      </tr>
    );
  return (
    <Scroll label="Runs" rows={() => allRows(query)}>
      <table class="runs" aria-rowcount={total + 1}>
        <thead>
          <tr>
            <th scope="col" class="tick">
              <span class="unseen">Compare</span>
            </th>
            {COLUMNS.map((column) => (
              <Heading key={column.label} column={column} query={query} />
            ))}
          </tr>
        </thead>
        <tbody ref={box}>
          {space(before)}
          {items.map(({ index }) => {
            const run = list.runs[index];
            return run === undefined ? (
              <tr key={index} class="coming" aria-hidden="true">
                <td colSpan={COLUMNS.length + 1} />
              </tr>
            ) : (
              <Row key={run.uid} run={run} row={index + 2} fleet={fleet} />
            );
          })}
          {space(after)}
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
        <a href={runsAddress(query.project, { ...query, order })}>
          {label}
          <span aria-hidden="true">{up ? " ↑" : down ? " ↓" : ""}</span>
        </a>
      )}
    </th>
  );
}

// Of which a browser makes another address.
const isDots = (name: string): boolean => name === "." || name === "..";

function Row(props: { run: Run; row: number; fleet: Fleet | undefined }): JSX.Element {
  const { run, row, fleet } = props;
  const share = run.goodput;
  const named = isDots(run.label) ? run.uid : run.label;
  const names = chosenOf(run.project);
  const isChosen = names.includes(named);
  const lost = lostOf(run);
  const cost = costOf(run, fleet?.price);
  return (
    <tr aria-rowindex={row}>
      <td class="tick">
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
      <td class="minor">
        <Sparkline run={run} />
      </td>
      <td class="number">
        <Value value={run.elapsedNs}>{duration(run.elapsedNs)}</Value>
      </td>
      <td class="number">
        <Value value={lost} title={cost === undefined ? undefined : money(cost, fleet?.price)}>
          {duration(lost)}
        </Value>
      </td>
      <td class="number minor">{count(run.attempts)}</td>
      <td class="number minor">
        <Value value={run.lastStep}>{count(run.lastStep)}</Value>
      </td>
      <td class="number minor">{run.accelerators === 0n ? "–" : count(run.accelerators)}</td>
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

function Nothing({ project, filter }: Query): JSX.Element {
  if (filter !== "") {
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
