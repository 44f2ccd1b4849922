// What processes of a run said of their software, system and settings, put side by side. Pure.
import type {
  ConfigProcess,
  Configuration,
  GetConfigResponse,
} from "../gen/headway/v1/config_service_pb.js";

/** A value, as JSON, and who has it; undefined: those that spoke of the class but not of this. */
export interface Said {
  value: string | undefined;
  who: string;
}
/** By path, what was said; those that agree are one. */
export type Side = ReadonlyMap<string, readonly Said[]>;

/** Classes in the order in which people ask for them. */
const CLASSES = ["user", "software", "system"];

export function classesOf(answer: GetConfigResponse): string[] {
  const found = new Set(Object.keys(answer.registered));
  for (const one of answer.processes) Object.keys(one.configurations).forEach((k) => found.add(k));
  const place = (name: string): number =>
    CLASSES.includes(name) ? CLASSES.indexOf(name) : CLASSES.length;
  return [...found].sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
}

/** The attempts in which something of a class was said; undefined: it is not known in which. */
export function attemptsOf(answer: GetConfigResponse, kind: string): (bigint | undefined)[] {
  const found = answer.processes
    .filter((one) => one.configurations[kind] !== undefined)
    .map((one) => one.attempt);
  return [...new Set(found)];
}

function nameOf(one: ConfigProcess): string {
  if (one.supervisor) return "supervisor";
  if (one.rank !== undefined) return `rank ${one.rank}`;
  return one.name !== "" ? one.name : `process ${one.pid}`;
}

/** `rank 0, rank 1, rank 5` as `ranks 0–1, 5`. */
export function together(names: readonly string[]): string {
  const ranks = names.flatMap((name) => (/^rank \d+$/.test(name) ? [Number(name.slice(5))] : []));
  const others = names.filter((name) => !/^rank \d+$/.test(name));
  ranks.sort((a, b) => a - b);
  const spans: string[] = [];
  for (let i = 0; i < ranks.length; ) {
    let k = i;
    while (ranks[k + 1] === (ranks[k] ?? 0) + 1) ++k;
    spans.push(k === i ? `${ranks[i]}` : `${ranks[i]}–${ranks[k]}`);
    i = k + 1;
  }
  const first =
    spans.length === 0 ? [] : [`${ranks.length > 1 ? "ranks" : "rank"} ${spans.join(", ")}`];
  return [...first, ...new Set(others)].join(", ");
}

/** What was said of a class in an attempt, and on the server where no process said anything. */
export function sideOf(answer: GetConfigResponse, kind: string, attempt: bigint | undefined): Side {
  const sayers: [who: string, configuration: Configuration][] = [];
  for (const one of answer.processes) {
    const place = one.configurations[kind];
    const configuration = place === undefined ? undefined : answer.configurations[place];
    if (configuration === undefined || one.attempt !== attempt) continue;
    sayers.push([nameOf(one), configuration]);
  }
  const registered = answer.registered[kind];
  const there = registered === undefined ? undefined : answer.configurations[registered];
  if (there !== undefined) sayers.push(["said on the server", there]);
  const paths = new Map<string, Map<string | undefined, string[]>>();
  sayers.forEach(([who, configuration]) => {
    for (const { path, value } of configuration.entries) {
      const values = paths.get(path) ?? new Map<string | undefined, string[]>();
      paths.set(path, values);
      values.set(value, [...(values.get(value) ?? []), who]);
    }
  });
  const side = new Map<string, Said[]>();
  for (const [path, values] of paths) {
    const spoke = new Set([...values.values()].flat());
    const silent = sayers
      .filter(([who]) => !spoke.has(who) && who !== "said on the server")
      .map(([who]) => who);
    const said = [...values].map(([value, who]): Said => ({ value, who: together(who) }));
    if (silent.length > 0 && !spoke.has("said on the server")) {
      said.push({ value: undefined, who: together(silent) });
    }
    side.set(path, said);
  }
  return side;
}

export type Change = "same" | "changed" | "added" | "removed";
export interface Compared {
  path: string;
  change: Change;
  left: readonly Said[];
  right: readonly Said[];
}

const valuesOf = (said: readonly Said[]): string =>
  JSON.stringify([...new Set(said.map(({ value }) => value ?? null))].sort());

/** The same if the same values occur, however many processes have each. By path. */
export function compare(left: Side, right: Side): Compared[] {
  const paths = [...new Set([...left.keys(), ...right.keys()])].sort();
  return paths.map((path): Compared => {
    const [a, b] = [left.get(path) ?? [], right.get(path) ?? []];
    const change =
      a.length === 0
        ? "added"
        : b.length === 0
          ? "removed"
          : valuesOf(a) === valuesOf(b)
            ? "same"
            : "changed";
    return { path, change, left: a, right: b };
  });
}
