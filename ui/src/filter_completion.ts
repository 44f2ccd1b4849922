// What could stand next in a filter of runs (docs/server.md). Pure.

export interface Completion {
  /** Which part of the text an option takes the place of. */
  from: number;
  to: number;
  options: Option[];
}
export interface Option {
  text: string;
  /** What it is, for people. */
  about: string;
}
/** What labels the runs have that were seen: values by key. */
export type Labels = ReadonlyMap<string, ReadonlySet<string>>;

const STATES = "not_started running restarting completed failed interrupted".split(" ");
const PHASES = "queued suspended active completed failed interrupted stopped".split(" ");
const FIELDS: [name: string, about: string, example: string][] = [
  ["name", "what the run is called", "llama"],
  ["state", "what its records say", ""],
  ["goodput", "productive share of the elapsed time", "90%"],
  ["elapsed", "how long it took", "1h"],
  ["start", "when it began", "2026-11-30T12:00:00Z"],
  ["end", "when it ended", "2026-11-30T12:00:00Z"],
  ["attempts", "how often it was started", "1"],
  ["last_step", "the last step that was started", "1000"],
  ["group", "what it is compared with", ""],
  ["phase", "what people and programs say it does", ""],
  ["accelerators", "how many it holds", "8"],
  ["orchestrator", "what runs it", "kubernetes"],
  ["workload", "what the orchestrator runs", ""],
  ["creator", "who made it", ""],
  ["create_time", "when it was made", "2026-11-30T12:00:00Z"],
  ["update_time", "when it was changed", "2026-11-30T12:00:00Z"],
];
const TEXTS = new Set(["name", "group", "phase", "orchestrator", "workload", "creator", "state"]);
const NUMBERS: [string, string][] = [
  ["<", "less than"],
  [">", "more than"],
  ["<=", "at most"],
  [">=", "at least"],
  ["=", "is"],
  ["!=", "is not"],
];
const WORDS: [string, string][] = [
  ["=", "is"],
  ["!=", "is not"],
  [":", "contains"],
  [":*", "is known"],
];
const MOST = 10;

const quoted = (text: string): string =>
  /^[\w./:%+@-]+$/u.test(text) ? text : JSON.stringify(text);

function starting(options: readonly Option[], typed: string): Option[] {
  const low = typed.toLowerCase();
  return options
    .filter(({ text }) => text.toLowerCase().startsWith(low) && text !== typed)
    .slice(0, MOST);
}

function fields(labels: Labels): Option[] {
  const known = FIELDS.map(([text, about]): Option => ({ text, about }));
  const keys = [...labels.keys()].sort().map((key): Option => {
    const name = /^[\w./-]+$/u.test(key) ? key : JSON.stringify(key);
    return { text: `labels.${name}`, about: "a label" };
  });
  return [...known, ...keys];
}

function valuesOf(field: string, labels: Labels): Option[] {
  const of = (all: Iterable<string>, about: string): Option[] =>
    [...all].map((text) => ({ text: quoted(text), about }));
  if (field === "state") return of(STATES, "a state");
  if (field === "phase") return of(PHASES, "a phase");
  if (field.startsWith("labels.")) {
    const key = field.slice("labels.".length).replace(/^"(.*)"$/, "$1");
    return of([...(labels.get(key) ?? [])].sort(), "of a run in the list");
  }
  const example = FIELDS.find(([name]) => name === field)?.[2] ?? "";
  return example === "" ? [] : [{ text: quoted(example), about: "for example" }];
}

/** What could stand where the cursor is. */
export function complete(text: string, cursor: number, labels: Labels): Completion {
  const before = text.slice(0, cursor);
  // Within a text in quotes nothing is known.
  const open = before.replace(/\\./g, "").match(/"/g)?.length ?? 0;
  const none = { from: cursor, to: cursor, options: [] };
  if (open % 2 === 1 && !/labels\."[^"]*$/.test(before)) return none;
  const [, field = "", sign = "", value = ""] =
    /(?:^|[\s(])([A-Za-z_]\w*(?:\.(?:"[^"]*"|[\w./-]+))?)\s*(<=|>=|!=|[=<>:])\s*([^\s()]*)$/u.exec(
      before,
    ) ?? [];
  if (field !== "" && sign !== "") {
    const options = starting(valuesOf(field, labels), value);
    return { from: cursor - value.length, to: cursor, options };
  }
  const [word = ""] = /[^\s()]*$/u.exec(before) ?? [];
  const behind = before.slice(0, before.length - word.length);
  const ended = /(<=|>=|!=|[=<>:])\s*("[^"]*"|[^\s()]+)\s+$/u.test(behind) || /\)\s+$/.test(behind);
  if (ended) {
    const joins = [
      { text: "AND", about: "and also" },
      { text: "OR", about: "or else; binds tighter than AND" },
    ];
    return { from: cursor - word.length, to: cursor, options: starting(joins, word) };
  }
  const typed =
    behind
      .trimEnd()
      .split(/[\s(]+/u)
      .at(-1) ?? "";
  const isField = (name: string): boolean =>
    FIELDS.some(([known]) => known === name) || name.startsWith("labels.");
  if (word === "" && isField(typed)) {
    const signs = TEXTS.has(typed) || typed.startsWith("labels.") ? WORDS : NUMBERS;
    const options = signs.map(([sign_, about]) => ({ text: sign_, about }));
    return { from: cursor, to: cursor, options };
  }
  const first: Option[] = [...fields(labels), { text: "NOT", about: "what it does not hold for" }];
  const options = word === "" && before.trim() === "" ? [] : starting(first, word);
  return { from: cursor - word.length, to: cursor, options };
}

/** The text with that option in it, and where the cursor is then. */
export function accept(
  text: string,
  completion: Completion,
  option: Option,
): [text: string, cursor: number] {
  const head = text.slice(0, completion.from) + option.text;
  const tail = text.slice(completion.to);
  const space = tail.startsWith(" ") || option.text === ":" ? "" : " ";
  return [head + space + tail, head.length + (tail.startsWith(" ") ? 1 : space.length)];
}
