// The address bar, which holds the whole view: what is shown follows from it and nothing else.
import { computed, signal } from "@preact/signals";

const address = signal(new URL(location.href));

export type View =
  | { page: "start" }
  | { page: "runs"; project: string; filter: string; order: string; group: string }
  | { page: "run"; project: string; run: string; part: RunPart; time: TimeQuery; look: Look }
  | { page: "compare"; project: string; runs: string[]; look: Look }
  | { page: "nowhere" };

/** What is shown of a run: the first one has no name in the address. */
export const RUN_PARTS = [
  "overview",
  "timeline",
  "steps",
  "metrics",
  "configs",
  "events",
  "profiles",
] as const;
export type RunPart = (typeof RUN_PARTS)[number];

/** How a page shows what it shows; what is usual is not named. */
const LOOK_KEYS = [
  "axis",
  "steps",
  "find",
  "smooth",
  "scale",
  "rolling",
  "show",
  "kind",
  "attempt",
  "against",
  "chosen",
] as const;
export type Look = Partial<Record<(typeof LOOK_KEYS)[number], string>>;

/** Which part of a run's time, as the server takes it. */
export interface TimeQuery {
  from?: string;
  to?: string;
  last?: string; // nanoseconds
  asOf?: string;
}

const RUNS = "/runs";
const COMPARE = "/compare";
export const COMPARED_MOST = 8;
const DEFAULT_PROJECT = "default";

export function parse(url: URL): View {
  const path = url.pathname.replace(/\/+$/, "");
  const query = (name: string): string => url.searchParams.get(name) ?? "";
  const project = query("project") || DEFAULT_PROJECT;
  if (path === "") return { page: "start" };
  if (path === RUNS) {
    const [filter, order, group] = [query("filter"), query("order"), query("group")];
    return { page: "runs", project, filter, order, group };
  }
  const look: Look = {};
  for (const key of LOOK_KEYS) if (query(key) !== "") look[key] = query(key);
  if (path === COMPARE) {
    const runs = [...new Set(url.searchParams.getAll("run"))].slice(0, COMPARED_MOST);
    return { page: "compare", project, runs, look };
  }
  const names = path.startsWith(`${RUNS}/`) ? path.slice(RUNS.length + 1).split("/") : [];
  const [name = "", named = "overview"] = names;
  const part = RUN_PARTS.find((one) => one === named && names[1] !== "overview");
  if (name === "" || names.length > 2 || part === undefined) return { page: "nowhere" };
  const time: TimeQuery = {};
  if (query("from") !== "") time.from = query("from");
  if (query("to") !== "") time.to = query("to");
  if (query("last") !== "") time.last = query("last");
  if (query("as_of") !== "") time.asOf = query("as_of");
  try {
    return { page: "run", project, run: decodeURIComponent(name), part, time, look };
  } catch {
    return { page: "nowhere" };
  }
}

export const view = computed(() => parse(address.value));

function withQuery(path: string, values: Record<string, string | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

const named = (project: string): string => (project === DEFAULT_PROJECT ? "" : project);

export function runsAddress(
  project: string,
  more: { filter?: string; order?: string; group?: string } = {},
): string {
  const { filter, order, group } = more;
  return withQuery(RUNS, { project: named(project), filter, order, group });
}

export function runAddress(
  project: string,
  run: string,
  time: TimeQuery = {},
  part: RunPart = "overview",
  look: Look = {},
): string {
  const { from, to, last, asOf } = time;
  const path = `${RUNS}/${encodeURIComponent(run)}${part === "overview" ? "" : `/${part}`}`;
  return withQuery(path, { project: named(project), from, to, last, as_of: asOf, ...look });
}

/** Runs side by side, by their labels or uids. */
export function compareAddress(project: string, runs: readonly string[], look: Look = {}): string {
  const query = new URLSearchParams(named(project) === "" ? [] : [["project", project]]);
  for (const run of runs) query.append("run", run);
  for (const [key, value] of Object.entries(look)) if (value !== "") query.set(key, value);
  return `${COMPARE}?${query.toString()}`;
}

/** What stands behind the # of a link that shows that first. */
export function fragmentOf(time: TimeQuery, part: RunPart, look: Look = {}): string {
  const address = runAddress(DEFAULT_PROJECT, "r", time, part, look);
  return address.slice(`${RUNS}/r`.length).replace(/^\//, "");
}

/** The address of the run that a link leads to, as `fragment` has it. */
export function sharedAddress(project: string, run: string, fragment: string): string {
  const more = fragment === "" || fragment.startsWith("?") ? fragment : `/${fragment}`;
  const view = parse(new URL(`${RUNS}/${encodeURIComponent(run)}${more}`, location.origin));
  return view.page === "run"
    ? runAddress(project, run, view.time, view.part, view.look)
    : runAddress(project, run);
}

/** The token in the address, where that is a link's. */
export const linkInAddress = (): string | undefined =>
  /^\/share\/(hw_link_[0-9a-f]+)$/.exec(address.value.pathname)?.[1];

/** Shows the view of that address. */
export function go(to: string, options: { replace?: boolean } = {}): void {
  const url = new URL(to, location.href);
  if (url.href === address.value.href) return;
  history[options.replace === true ? "replaceState" : "pushState"](null, "", url);
  address.value = url;
  if (options.replace !== true) scrollTo(0, 0);
}

/** Links of the page change the address without loading it anew. */
export function followLinks(): void {
  addEventListener("popstate", () => {
    address.value = new URL(location.href);
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.origin !== location.origin || link.target !== "") return;
    if (parse(new URL(link.href)).page === "nowhere") return;
    event.preventDefault();
    go(link.href);
  });
}

/** `100..200`, as `steps` of a look has it. */
export function stepsIn(
  text: string | undefined,
): [from: bigint | undefined, to: bigint | undefined] {
  const [, from, to] = /^(\d{1,18})\.\.(\d{1,18})$/.exec(text ?? "") ?? [];
  return [from === undefined ? undefined : BigInt(from), to === undefined ? undefined : BigInt(to)];
}
export const stepsText = (from: number, to: number): string =>
  `${Math.max(0, Math.floor(from))}..${Math.max(1, Math.ceil(to))}`;
