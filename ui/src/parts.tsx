// Small parts that several views share.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { RunState } from "../gen/headway/v1/report_pb.js";
import type { Cell } from "./csv.ts";
import { ago, exactTime, localTime, percent } from "./format.ts";
import { SaveTable } from "./save.tsx";
import { explain } from "./session.ts";

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · headway`;
  }, [title]);
}

const STATES: Record<RunState, [label: string, tone: string, about: string]> = {
  [RunState.UNSPECIFIED]: ["unknown", "faint", "not found out yet"],
  [RunState.NOT_STARTED]: ["not started", "faint", "it was made, and no process of it has begun"],
  [RunState.RUNNING]: ["running", "good", "an attempt of it is alive"],
  [RunState.RESTARTING]: [
    "restarting",
    "warn",
    "no attempt is alive; a supervisor starts the next",
  ],
  [RunState.COMPLETED]: ["completed", "done", "its program said that it was done"],
  [RunState.FAILED]: ["failed", "bad", "its program said, or its exit status, that it failed"],
  [RunState.INTERRUPTED]: [
    "interrupted",
    "bad",
    "its last attempt ended, and nothing says that it was done",
  ],
};

export const isLive = (state: RunState): boolean =>
  state === RunState.RUNNING || state === RunState.RESTARTING;

export function State({ state }: { state: RunState }): JSX.Element {
  const [label, tone, about] = STATES[state] ?? STATES[RunState.UNSPECIFIED];
  return (
    <span class={`state ${tone}`} title={about}>
      {label}
    </span>
  );
}

/** A time, as long ago or on the reader's clock; the other, and the exact one, on hover. */
export function Time(props: { ns: bigint | undefined; relative?: boolean }): JSX.Element {
  const { ns } = props;
  if (ns === undefined) return <>–</>;
  const local = localTime(ns);
  return (
    <time dateTime={exactTime(ns)} title={`${local} here, ${exactTime(ns)}`}>
      {props.relative === true ? ago(ns, Date.now()) : local}
    </time>
  );
}

/** A number of the server as it came, and how it is shown. */
export function Value(props: {
  value: bigint | number | undefined;
  children: ComponentChildren;
  title?: string | undefined;
}): JSX.Element {
  const { value, title, children } = props;
  return value === undefined ? (
    <span title="not known">–</span>
  ) : (
    <data value={String(value)} title={title}>
      {children}
    </data>
  );
}

/** One of the things worth knowing at a glance: within `dl.facts`. */
export function Fact(props: {
  label: string;
  about?: string;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <div title={props.about}>
      <dt>{props.label}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

/** Exactly one of a few. */
export function Choice(props: {
  label: string;
  choices: readonly (readonly [name: string, label: string])[];
  chosen: string;
  onChoose: (name: string) => void;
}): JSX.Element {
  const { label, choices, chosen, onChoose } = props;
  return (
    <span role="group" aria-label={label} class="choice">
      <span class="muted small">{label}</span>
      {choices.map(([name, text]) => (
        <button
          key={name}
          type="button"
          class="quiet"
          aria-pressed={name === chosen}
          onClick={() => onChoose(name)}
        >
          {text}
        </button>
      ))}
    </span>
  );
}

export function Goodput({ share }: { share: number | undefined }): JSX.Element {
  return (
    <Value value={share} title="productive share of the elapsed time">
      {percent(share)} %
    </Value>
  );
}

export function Failure({ error }: { error: unknown }): JSX.Element | null {
  return error === undefined ? null : (
    <p role="alert" class="error">
      {explain(error)}
    </p>
  );
}

/** A table that may be wider than the screen scrolls by itself, with the keyboard as well. */
export function Scroll(props: {
  label: string;
  children: ComponentChildren;
  /** All that there is, where `children` show only some of it. */
  rows?: () => Promise<Cell[][]>;
}): JSX.Element {
  const { label, children } = props;
  const box = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(false);
  useEffect(() => {
    const look = (): void => {
      if (box.current !== null) setWide(box.current.scrollWidth > box.current.clientWidth);
    };
    const observer = new ResizeObserver(look);
    if (box.current !== null) observer.observe(box.current);
    look();
    return () => observer.disconnect();
  }, [children]);
  const more = wide ? { tabIndex: 0, role: "region" as const, "aria-label": label } : {};
  return (
    <div class="kept">
      <div class="scroll" ref={box} {...more}>
        {children}
      </div>
      <SaveTable label={label} box={box} rows={props.rows} />
    </div>
  );
}

/** Keeps the place of what is being asked for; shown only when that takes its time. */
export function Skeleton({ rows }: { rows: number }): JSX.Element {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} />
      ))}
    </div>
  );
}
