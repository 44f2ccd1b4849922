// Swim lanes of a run, one an attempt, from all of it down to a single step.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { LOOKS } from "../categories.ts";
import { onTheme, resolved } from "../colors.ts";
import { duration, exactTime, percent } from "../format.ts";
import { ticksOf } from "../time_scale.ts";
import { at, type At, type Lane } from "./lanes.ts";
import {
  draw,
  heightOf,
  LABELS_PX,
  type Mark,
  type Palette,
  prepare,
  type PreparedLane,
  rowPx,
} from "./painter.ts";
import {
  type Bounds,
  lengthOf,
  neighbour,
  pan,
  reveal,
  type Window,
  withMargin,
  zoom,
} from "./window.ts";

const LANES_MOST = 12; // that are seen at once
const SETTLED_MS = 60; // of no movement, after which something sharper is asked for
const TICK_PX = 96;
const WHEEL = 0.0015;

export interface Chosen extends At {
  attempt: bigint | undefined;
}

/** Where the lane of an attempt lies. */
export interface Attempt {
  index: bigint;
  begin: number;
  end: number;
}

export interface TimelineProps {
  /** When the run began; windows are in nanoseconds from there. */
  origin: bigint;
  bounds: Bounds;
  attempts: readonly Attempt[];
  window: Window;
  onWindow: (window: Window) => void;
  /** The lanes of a window, in so many columns where they are many. */
  ask: (window: Window, columns: number, signal: AbortSignal) => Promise<Lane[]>;
  /** Other than before: what is there may have changed. */
  version: string;
  marks: readonly Mark[];
  /** Where `[` and `]` go. */
  stops: readonly number[];
  onChoose: (chosen: Chosen | undefined) => void;
  chosen: Chosen | undefined;
  onError: (error: unknown) => void;
}

interface Layer {
  window: Window;
  columnNs: number;
  lanes: PreparedLane[];
}

/** Colours as the page has them now. */
function paletteOf(element: HTMLElement): Palette {
  const style = getComputedStyle(element);
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const of = (name: string): string => resolved(element, `var(${name})`);
  const colors = LOOKS.map((look) => of(`--category-${look.name}`));
  const pixels = new Uint32Array(colors.length);
  colors.forEach((color, i) => {
    if (probe === null) return;
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = color;
    probe.fillRect(0, 0, 1, 1);
    pixels[i] = new Uint32Array(probe.getImageData(0, 0, 1, 1).data.buffer)[0] ?? 0;
  });
  return {
    colors,
    pixels,
    crossed: LOOKS.findIndex((look) => look.name === "wasted_progress"),
    line: of("--line"),
    text: of("--text"),
    muted: of("--muted"),
    ground: of("--ground"),
    accent: of("--accent"),
    alarm: of("--bad"),
    font: `12px ${style.fontFamily}`,
  };
}

export function Timeline(props: TimelineProps): JSX.Element {
  const { origin, bounds, attempts, window, version, marks, chosen } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [width, setWidth] = useState(0);
  const [first, setFirst] = useState(0);
  const [palette, setPalette] = useState<Palette>();
  const [whole, setWhole] = useState<Layer>();
  const [sharp, setSharp] = useState<Layer>();
  const [pointed, setPointed] = useState<Chosen>();

  // The height stays while one moves about; the attempts are those that are seen.
  const seen = Math.min(attempts.length, LANES_MOST);
  const height = heightOf(attempts.length > 1 ? seen + 1 : 1);
  const plot = Math.max(width - LABELS_PX, 1);
  const present = attempts.filter((one) => one.end > window.begin && one.begin < window.end);
  const start = Math.min(first, Math.max(present.length - seen, 0));
  const lanes = present.slice(start, start + seen).map((one) => one.index);
  const rows = attempts.length > 1 ? [undefined, ...lanes] : lanes;

  useLayoutEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    const repaint = (): void => setPalette(paletteOf(element));
    repaint();
    const themed = onTheme(repaint);
    return () => {
      observer.disconnect();
      themed();
    };
  }, []);

  // All of the run in coarse columns, so that something is there wherever one goes.
  useEffect(() => {
    if (palette === undefined || width === 0) return;
    const ended = new AbortController();
    const asked = { begin: bounds.begin, end: bounds.end };
    load(asked, plot, ended.signal, palette, latest.current).then(
      (layer) => {
        if (!ended.signal.aborted) setWhole(layer);
      },
      (error: unknown) => {
        if (!ended.signal.aborted) latest.current.onError(error);
      },
    );
    return () => ended.abort();
  }, [version, palette, width === 0, bounds.begin, bounds.end]);

  // And what is looked at, once it stays, with as much on both sides.
  const columnNs = lengthOf(window) / plot;
  const enough =
    sharp !== undefined &&
    sharp.window.begin <= window.begin &&
    sharp.window.end >= window.end &&
    sharp.columnNs <= columnNs * 1.5;
  useEffect(() => {
    if (palette === undefined || width === 0) return;
    const ended = new AbortController();
    const asked = withMargin(window, bounds);
    const columns = Math.ceil(lengthOf(asked) / columnNs);
    const timer = setTimeout(
      () => {
        load(asked, columns, ended.signal, palette, latest.current).then(
          (layer) => {
            if (!ended.signal.aborted) setSharp(layer);
          },
          (error: unknown) => {
            if (!ended.signal.aborted) latest.current.onError(error);
          },
        );
      },
      sharp === undefined ? 0 : SETTLED_MS,
    );
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [version, palette, width, enough ? "" : `${window.begin} ${window.end}`]);

  const ticks = useMemo(() => {
    const begin = origin + BigInt(Math.round(window.begin));
    const end = origin + BigInt(Math.round(window.end));
    return ticksOf(begin, end, plot, TICK_PX).map((tick) => ({
      tick,
      x: ((Number(tick.ns - origin) - window.begin) / lengthOf(window)) * plot,
    }));
  }, [origin, window.begin, window.end, plot]);

  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (element === null || !context || palette === undefined || width === 0) return;
    const ratio = devicePixelRatio;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (element.width !== w) element.width = w;
    if (element.height !== h) element.height = h;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const outlined = [];
    if (pointed !== undefined) outlined.push({ ...pointed, strong: false });
    if (chosen !== undefined) outlined.push({ ...chosen, strong: true });
    const layers = [whole, sharp].filter((layer) => layer !== undefined);
    const scene = { width, height, layers, rows, window, ticks, marks, outlined };
    draw(context, scene, palette);
  });

  const timeAt = (x: number): number =>
    window.begin + ((x - LABELS_PX) / plot) * lengthOf(window);
  const find = (x: number, y: number): Chosen | undefined => {
    const row = Math.floor(y / rowPx(rows.length, height));
    if (x < LABELS_PX || row < 0 || row >= rows.length) return undefined;
    return findIn([sharp, whole], rows[row], timeAt(x));
  };

  // A wheel that scrolled the page as well would be of no use: it must be told that it does not.
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const turn = (event: WheelEvent): void => {
      if (event.ctrlKey && event.deltaY === 0) return;
      event.preventDefault();
      const { window: now, bounds: all, onWindow } = latest.current;
      const room = Math.max(element.clientWidth - LABELS_PX, 1);
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const by = event.deltaX !== 0 ? event.deltaX : event.deltaY;
        onWindow(pan(now, by / room, all));
        return;
      }
      const share = Math.min(Math.max((event.offsetX - LABELS_PX) / room, 0), 1);
      onWindow(zoom(now, Math.exp(event.deltaY * WHEEL), share, all));
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, []);

  const grip = useRef<{ x: number; window: Window; moved: boolean } | undefined>(undefined);
  const down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    canvas.current?.setPointerCapture(event.pointerId);
    grip.current = { x: event.offsetX, window, moved: false };
  };
  const move = (event: PointerEvent): void => {
    const held = grip.current;
    if (held === undefined) {
      setPointed(find(event.offsetX, event.offsetY));
      return;
    }
    if (!held.moved && Math.abs(event.offsetX - held.x) < 4) return;
    held.moved = true;
    props.onWindow(pan(held.window, (held.x - event.offsetX) / plot, bounds));
  };
  const up = (event: PointerEvent): void => {
    const held = grip.current;
    grip.current = undefined;
    if (held !== undefined && !held.moved) props.onChoose(find(event.offsetX, event.offsetY));
  };

  const press = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = moved(event.key, props);
    if (to !== undefined) props.onWindow(to);
    else if (event.key === "Enter" || event.key === " ") {
      const middle = (window.begin + window.end) / 2;
      props.onChoose(besides([sharp, whole], chosen, middle, 0));
    } else if (event.key === "n" || event.key === "p") {
      const next = besides([sharp, whole], chosen, 0, event.key === "n" ? 1 : -1);
      if (next !== undefined) {
        props.onChoose(next);
        const seenNow = reveal(window, (next.begin + next.end) / 2, bounds);
        if (seenNow !== window) props.onWindow(seenNow);
      }
    } else if (event.key === "Escape") props.onChoose(undefined);
    else if (event.key === "PageDown") setFirst(Math.min(start + seen, present.length - 1));
    else if (event.key === "PageUp") setFirst(Math.max(start - seen, 0));
    else return;
    event.preventDefault();
  };

  return (
    <div class="timeline">
      <canvas
        ref={canvas}
        style={{ height: `${height}px` }}
        tabIndex={0}
        role="application"
        aria-label={`Timeline of ${attempts.length} attempts`}
        aria-describedby="timeline-keys timeline-said"
        data-sharp={String(enough)}
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={up}
        onPointerCancel={() => {
          grip.current = undefined;
        }}
        onPointerLeave={() => setPointed(undefined)}
        onDblClick={() => props.onWindow({ begin: bounds.begin, end: bounds.end })}
        onKeyDown={press}
      />
      <p id="timeline-keys" class="muted small">
        Wheel or <kbd>+</kbd> <kbd>−</kbd> zoom, drag or <kbd>←</kbd> <kbd>→</kbd> move,{" "}
        <kbd>f</kbd> shows all, <kbd>[</kbd> <kbd>]</kbd> go to disruptions, <kbd>Enter</kbd>{" "}
        <kbd>n</kbd> <kbd>p</kbd> choose an interval
        {present.length > seen && (
          <>
            , <kbd>PgDn</kbd> <kbd>PgUp</kbd> other attempts: {start + 1} to{" "}
            {Math.min(start + seen, present.length)} of {present.length} here
          </>
        )}
      </p>
      <p id="timeline-said" class="small said" aria-live="polite">
        {describe(pointed ?? chosen, origin)}
      </p>
    </div>
  );
}

/** Where a key leads; undefined: nowhere. */
function moved(key: string, props: TimelineProps): Window | undefined {
  const { window, bounds, stops } = props;
  const middle = (window.begin + window.end) / 2;
  switch (key) {
    case "+":
    case "=":
      return zoom(window, 0.5, 0.5, bounds);
    case "-":
      return zoom(window, 2, 0.5, bounds);
    case "ArrowLeft":
      return pan(window, -0.2, bounds);
    case "ArrowRight":
      return pan(window, 0.2, bounds);
    case "f":
      return { begin: bounds.begin, end: bounds.end };
    case "[":
    case "]": {
      const stop = neighbour(stops, middle, key === "]" ? 1 : -1);
      if (stop === undefined) return undefined;
      const half = lengthOf(window) / 2;
      return pan({ begin: stop - half, end: stop + half }, 0, bounds);
    }
    default:
      return undefined;
  }
}

async function load(
  asked: Window,
  columns: number,
  signal: AbortSignal,
  palette: Palette,
  props: TimelineProps,
): Promise<Layer> {
  const lanes = await props.ask(asked, columns, signal);
  const exact = lanes.every((lane) => lane.time.kind === "exact");
  return {
    window: asked,
    columnNs: exact ? 0 : lengthOf(asked) / columns,
    lanes: lanes.map((lane) => prepare(lane, palette)),
  };
}

/** What is at an instant in the lane of an attempt, or (undefined) in that of all. */
function findIn(
  layers: readonly (Layer | undefined)[],
  attempt: bigint | undefined,
  instant: number,
): Chosen | undefined {
  for (const layer of layers) {
    if (layer === undefined) continue;
    if (instant < layer.window.begin || instant >= layer.window.end) continue;
    for (const { lane } of layer.lanes) {
      if (lane.attempt !== attempt) continue;
      const found = at(lane, instant, LOOKS.length);
      if (found !== undefined) return { ...found, attempt: lane.attempt };
    }
  }
  return undefined;
}

/** The interval before or behind the chosen one; without one, that at an instant. */
function besides(
  layers: readonly (Layer | undefined)[],
  chosen: Chosen | undefined,
  instant: number,
  step: -1 | 0 | 1,
): Chosen | undefined {
  if (chosen === undefined || step === 0) return findIn(layers, undefined, instant) ?? chosen;
  return findIn(layers, undefined, step === 1 ? chosen.end : chosen.begin - 1);
}

/** What is at a place, in words. */
export function describe(found: Chosen | undefined, origin: bigint): string {
  if (found === undefined) return "\u00a0";
  const length = found.end - found.begin;
  const from = exactTime(origin + BigInt(Math.round(found.begin)));
  const span = duration(BigInt(Math.round(length)));
  const parts = found.parts.map(([look, ns]) => {
    const label = LOOKS[look]?.label ?? "Other";
    return found.exact ? label : `${label} ${percent(ns / length)} %`;
  });
  const where = found.attempt === undefined ? "" : `attempt ${found.attempt}: `;
  return `${where}${parts.join(", ")} · ${span} from ${from}`;
}
