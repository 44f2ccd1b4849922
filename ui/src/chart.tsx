// Lines and stacked areas over time, by uPlot: one look for all of them.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { onTheme, resolved } from "./colors.ts";
import type { Figure } from "./figure.ts";
import { SaveChart } from "./save.tsx";
import { type Tick, ticksOf } from "./time_scale.ts";

export interface Line {
  label: string;
  /** CSS, which may be a variable: `var(--category-productive)`. */
  color: string;
  /** [points]; null: a gap. */
  values: readonly (number | null)[];
  /** What the pointer is told of a value; without it, that of the axis. */
  shown?: readonly (number | null)[];
  dashed?: boolean;
  /** The area down to the line before it, or to 0. */
  filled?: boolean;
}

export interface ChartProps {
  /** What it shows, for whoever does not see it. */
  label: string;
  /** [points] seconds since 1970, in order. */
  times: readonly number[];
  lines: readonly Line[];
  format: (value: number) => string;
  /** The same where it stands at the axis: round values. */
  axis: (value: number) => string;
  /** Of the axis of values; without it, as the values are. */
  range?: [number, number];
  height?: number;
  /** A stretch was chosen, in seconds since 1970; undefined: all again. */
  onZoom?: (from: number | undefined, to: number | undefined) => void;
}

const HEIGHT = 180;
const TICK_PX = 90;
const AXIS_PX = 58;

const toNs = (seconds: number): bigint => BigInt(Math.round(seconds * 1e6)) * 1000n;

const withAlpha = (rgb: string, alpha: number): string =>
  rgb.replace(/^rgba?\((\d+), (\d+), (\d+).*$/u, `rgba($1, $2, $3, ${alpha})`);

export function Chart(props: ChartProps): JSX.Element {
  const { label, times, lines, height = HEIGHT } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [theme, setTheme] = useState(0);
  const [at, setAt] = useState<number | null>(null);

  useEffect(() => onTheme(() => setTheme((count) => count + 1)), []);

  // Made anew when what it is made of is other than before; new values only move it.
  const looks = lines.map((one) => [one.label, one.color, one.dashed, one.filled]);
  const shape = JSON.stringify(looks);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const made = new uPlot(
      optionsOf(element, latest, height, setAt),
      [latest.current.times, ...latest.current.lines.map((one) => one.values)] as uPlot.AlignedData,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => {
      const width = element.clientWidth;
      if (width > 0 && width !== made.width) made.setSize({ width, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [shape, height, theme]);

  useLayoutEffect(() => {
    plot.current?.setData([times, ...lines.map((one) => one.values)] as uPlot.AlignedData);
  }, [times, lines]);

  return (
    <figure class="chart">
      <div ref={box} role="img" aria-label={label} />
      <figcaption class="small">
        {lines.map((line) => {
          const value = at === null ? null : ((line.shown ?? line.values)[at] ?? null);
          return (
            <span key={line.label} class="key">
              <span
                class={`stroke ${line.dashed === true ? "dashed" : ""}`}
                style={{ "--color": line.color }}
                aria-hidden="true"
              />
              {line.label}
              {value !== null && <b> {props.format(value)}</b>}
            </span>
          );
        })}
        <SaveChart label={label} figure={() => figureOf(props, box.current ?? document.body)} />
      </figcaption>
    </figure>
  );
}

/** The same as a picture by itself. */
function figureOf(props: ChartProps, element: HTMLElement): Figure {
  const { label, times, lines, axis, range } = props;
  const width = 900;
  const color = (name: string): string => resolved(element, `var(--${name})`);
  const ends = [times[0] ?? 0, times.at(-1) ?? 0] as const;
  return {
    title: label,
    times,
    lines: lines.map((line) => ({ ...line, color: resolved(element, line.color) })),
    ticks: ticksOf(toNs(ends[0]), toNs(ends[1]), width, TICK_PX).map((tick) => ({
      at: Number(tick.ns / 1000n) / 1e6,
      label: tick.label,
    })),
    axis,
    ...(range === undefined ? {} : { range }),
    colors: {
      paper: color("panel"),
      ink: color("text"),
      muted: color("muted"),
      grid: color("line"),
    },
  };
}

function optionsOf(
  element: HTMLElement,
  latest: { current: ChartProps },
  height: number,
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const style = getComputedStyle(element);
  const font = `12px ${style.fontFamily}`;
  const muted = resolved(element, "var(--muted)");
  const line = resolved(element, "var(--line)");
  const { lines, range } = latest.current;
  let ticks: Tick[] = [];
  const axis = { font, stroke: muted, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  return {
    width: Math.max(element.clientWidth, 100),
    height,
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { setScale: false, x: true, y: false },
    },
    scales: { x: { time: false }, ...(range === undefined ? {} : { y: { range } }) },
    axes: [
      {
        ...axis,
        size: 28,
        // uPlot asks where they stand, and then what stands there.
        splits: (self, _axis, least, most) => {
          const plotPx = self.bbox.width / devicePixelRatio;
          ticks = ticksOf(toNs(least), toNs(most), plotPx, TICK_PX);
          return ticks.map((tick) => Number(tick.ns / 1000n) / 1e6);
        },
        values: (_self, splits) => splits.map((_, i) => ticks[i]?.label ?? ""),
      },
      {
        ...axis,
        size: AXIS_PX,
        values: (_self, splits) => splits.map((value) => latest.current.axis(value)),
      },
    ],
    series: [
      {},
      ...lines.map((one) => {
        const color = resolved(element, one.color);
        return {
          label: one.label,
          stroke: color,
          width: one.filled === true ? 1 : 1.5,
          points: { show: false },
          spanGaps: false,
          ...(one.dashed === true ? { dash: [5, 4] } : {}),
          ...(one.filled === true && lines[0] === one ? { fill: withAlpha(color, 0.75) } : {}),
        };
      }),
    ],
    // Each area reaches down to the one below.
    bands: lines.flatMap((one, i) =>
      one.filled === true && i > 0
        ? [
            {
              series: [i + 1, i] as [number, number],
              fill: withAlpha(resolved(element, one.color), 0.75),
            },
          ]
        : [],
    ),
    hooks: {
      setCursor: [(self) => onPoint(self.cursor.idx ?? null)],
      setSelect: [
        (self) => {
          const { left, width } = self.select;
          if (width < 4) return;
          const zoomed = latest.current.onZoom;
          zoomed?.(self.posToVal(left, "x"), self.posToVal(left + width, "x"));
          self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      ready: [
        (self) => {
          self.over.addEventListener("dblclick", () => {
            latest.current.onZoom?.(undefined, undefined);
          });
        },
      ],
    },
  };
}
