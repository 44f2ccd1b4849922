// Lines and stacked areas over time or steps, by uPlot: one look for all of them.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Axis, type AxisTick, TIME } from "./axes.ts";
import { onTheme, resolved } from "./colors.ts";
import type { Figure } from "./figure.ts";
import { SaveChart } from "./save.tsx";

export interface Line {
  label: string;
  /** CSS, which may be a variable: `var(--category-productive)`. */
  color: string;
  /** [points]; null: a gap; undefined: the line has no point here, and goes on. */
  values: readonly (number | null | undefined)[];
  /** What the pointer is told of a value; without it, that of the axis. */
  shown?: readonly (number | null | undefined)[];
  dashed?: boolean;
  /** The area down to the line before it, or to 0. */
  filled?: boolean;
  /** Drawn thinly, behind what it is compared with. */
  faint?: boolean;
  /** Without an entry among the keys: its neighbour has it. */
  unnamed?: boolean;
}

export interface ChartMark {
  at: number;
  label: string;
}

export interface ChartProps {
  /** What it shows, for whoever does not see it. */
  label: string;
  /** [points] places on the horizontal axis, in order: seconds since 1970 where that is of time. */
  xs: readonly number[];
  /** Without it: time. */
  along?: Axis;
  lines: readonly Line[];
  format: (value: number) => string;
  /** The same where it stands at the axis: round values. */
  axis: (value: number) => string;
  /** Of the axis of values; without it, as the values are. */
  range?: [number, number];
  height?: number;
  /** Of values that are drawn as powers of ten; those not above 0 are gaps. */
  log?: boolean;
  /** Instants of the axis that matter: upright lines. */
  marks?: readonly ChartMark[];
  /** Charts of the same name have their pointers at the same place. */
  together?: string;
  /** A stretch of the axis was chosen; undefined: all again. */
  onZoom?: (from: number | undefined, to: number | undefined) => void;
}

const HEIGHT = 180;
const TICK_PX = 90;
const AXIS_PX = 58;
// How much of what lies below an area is hidden.
const FILLED = 0.75;
const BAND = 0.2;

const withAlpha = (rgb: string, alpha: number): string =>
  rgb.replace(/^rgba?\((\d+), (\d+), (\d+).*$/u, `rgba($1, $2, $3, ${alpha})`);

export function Chart(props: ChartProps): JSX.Element {
  const { label, xs, lines, along = TIME, log = false, height = HEIGHT } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [theme, setTheme] = useState(0);
  const [at, setAt] = useState<number | null>(null);

  useEffect(() => onTheme(() => setTheme((count) => count + 1)), []);

  // Made anew when what it is made of is other than before; new values only move it.
  const looks = lines.map((one) => [one.label, one.color, one.dashed, one.filled, one.faint]);
  const shape = JSON.stringify([looks, along.name, log]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const made = new uPlot(
      optionsOf(element, latest, height, setAt),
      [latest.current.xs, ...latest.current.lines.map((one) => one.values)] as uPlot.AlignedData,
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
    plot.current?.setData([xs, ...lines.map((one) => one.values)] as uPlot.AlignedData);
  }, [xs, lines]);

  return (
    <figure class="chart">
      <div ref={box} role="img" aria-label={label} />
      <figcaption class="small">
        {lines
          .filter((line) => line.unnamed !== true)
          .map((line) => {
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
        {at !== null && xs[at] !== undefined && (
          <span class="muted">
            {along.text(xs[at])}
            {nearMark(props.marks, xs, at)}
          </span>
        )}
        <SaveChart label={label} figure={() => figureOf(props, box.current ?? document.body)} />
      </figcaption>
    </figure>
  );
}

/** What is marked about where the pointer is. */
function nearMark(
  marks: readonly ChartMark[] | undefined,
  xs: readonly number[],
  at: number,
): string {
  const x = xs[at] ?? 0;
  const reach = 2 * Math.abs((xs[at + 1] ?? x) - (xs[at - 1] ?? x));
  const found = marks?.find((mark) => Math.abs(mark.at - x) <= reach);
  return found === undefined ? "" : ` · ${found.label}`;
}

/** The same as a picture by itself. */
function figureOf(props: ChartProps, element: HTMLElement): Figure {
  const { label, xs, lines, along = TIME, axis, range } = props;
  const width = 900;
  const color = (name: string): string => resolved(element, `var(--${name})`);
  return {
    title: label,
    xs,
    along: { name: along.name, exact: along.exact },
    lines: lines.map((line) => ({ ...line, color: resolved(element, line.color) })),
    ticks: along.ticks(xs[0] ?? 0, xs.at(-1) ?? 0, width, TICK_PX),
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
  const { lines, range, along = TIME, log = false, together } = latest.current;
  let ticks: AxisTick[] = [];
  const axis = { font, stroke: muted, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  return {
    width: Math.max(element.clientWidth, 100),
    height,
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { setScale: false, x: true, y: false },
      ...(together === undefined ? {} : { sync: { key: together } }),
    },
    scales: {
      x: { time: false },
      y: { ...(range === undefined ? {} : { range }), ...(log ? { distr: 3 as const } : {}) },
    },
    axes: [
      {
        ...axis,
        size: 28,
        // uPlot asks where they stand, and then what stands there.
        splits: (self, _axis, least, most) => {
          const plotPx = self.bbox.width / devicePixelRatio;
          ticks = along.ticks(least, most, plotPx, TICK_PX);
          return ticks.map((tick) => tick.at);
        },
        values: (_self, splits) => splits.map((_, i) => ticks[i]?.label ?? ""),
      },
      {
        ...axis,
        size: AXIS_PX,
        values: (_self, splits) =>
          splits.map((value) => (value === null ? "" : latest.current.axis(value))),
      },
    ],
    series: [
      {},
      ...lines.map((one) => {
        const color = resolved(element, one.color);
        return {
          label: one.label,
          stroke: one.faint === true ? withAlpha(color, 0.35) : color,
          width: one.filled === true || one.faint === true ? 1 : 1.5,
          points: { show: false },
          spanGaps: false,
          ...(one.dashed === true ? { dash: [5, 4] } : {}),
          ...(one.filled === true && lines[0] === one ? { fill: withAlpha(color, FILLED) } : {}),
        };
      }),
    ],
    // Each area reaches down to the one below.
    bands: lines.flatMap((one, i) =>
      one.filled === true && i > 0
        ? [
            {
              series: [i + 1, i] as [number, number],
              fill: withAlpha(resolved(element, one.color), one.faint === true ? BAND : FILLED),
            },
          ]
        : [],
    ),
    hooks: {
      draw: [
        (self) => {
          const { marks = [] } = latest.current;
          const { ctx, bbox } = self;
          ctx.save();
          ctx.strokeStyle = resolved(element, "var(--bad)");
          ctx.lineWidth = devicePixelRatio;
          ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
          ctx.beginPath();
          for (const { at } of marks) {
            const x = Math.round(self.valToPos(at, "x", true)) + 0.5;
            if (x < bbox.left || x > bbox.left + bbox.width) continue;
            ctx.moveTo(x, bbox.top);
            ctx.lineTo(x, bbox.top + bbox.height);
          }
          ctx.stroke();
          ctx.restore();
        },
      ],
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
