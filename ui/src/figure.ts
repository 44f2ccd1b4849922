// A chart as a picture to keep: axes, lines, areas, and what they are. Drawn by a pen, so that a
// canvas and an SVG show the same. Pure.

export interface Pen {
  width: number;
  height: number;
  /** `color` is any of CSS; `alpha` 0..1. */
  area(points: readonly Point[], color: string, alpha: number): void;
  line(points: readonly Point[], color: string, px: number, dashed: boolean): void;
  text(text: string, x: number, y: number, style: TextStyle): void;
}
export type Point = readonly [x: number, y: number];
export interface TextStyle {
  color: string;
  px: number;
  bold?: boolean;
  anchor?: "start" | "middle" | "end";
}

export interface FigureLine {
  label: string;
  color: string;
  /** [points], null: a gap. Of areas each is upon the one before. */
  values: readonly (number | null | undefined)[];
  /** What is meant where `values` are sums. */
  shown?: readonly (number | null | undefined)[];
  dashed?: boolean;
  filled?: boolean;
  faint?: boolean;
  /** Without an entry in the legend. */
  unnamed?: boolean;
}
export interface Figure {
  title: string;
  /** [points] places on the horizontal axis, in order. */
  xs: readonly number[];
  /** What that axis counts, and how a file says it. */
  along: { name: string; exact: (x: number) => string };
  lines: readonly FigureLine[];
  /** Where the horizontal axis has its ticks, and what stands there. */
  ticks: readonly { at: number; label: string }[];
  axis: (value: number) => string;
  range?: readonly [number, number];
  colors: { paper: string; ink: string; muted: string; grid: string };
}

const LEFT = 64;
const RIGHT = 16;
const TOP = 40;
const LINE = 20; // of the legend
const TEXT = 12;
const AXIS = 24;
/** Of a letter, on average: a pen measures nothing. */
const LETTER = 0.56;
const KEY = 22;

/** Round values within [least, most], about `count` of them. */
export function roundValues(least: number, most: number, count: number): number[] {
  if (!(most > least) || count < 1) return [least];
  const rough = (most - least) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const values: number[] = [];
  for (let i = Math.ceil(least / step - 1e-9); i * step <= most + step * 1e-9; ++i) {
    values.push(Number((i * step).toPrecision(12)));
  }
  return values;
}

function rangeOf(figure: Figure): readonly [number, number] {
  if (figure.range !== undefined) return figure.range;
  let least = figure.lines.some((one) => one.filled === true) ? 0 : Infinity;
  let most = -Infinity;
  for (const { values } of figure.lines) {
    for (const value of values) {
      if (value === null || value === undefined) continue;
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
  }
  if (most === -Infinity) return [0, 1];
  return most > least ? [least, most] : [least, least + 1];
}

/** Stretches without a gap: the places that have a value. */
function stretches(values: readonly (number | null | undefined)[]): number[][] {
  const found: number[][] = [];
  let open: number[] = [];
  for (let i = 0; i <= values.length; ++i) {
    const value = i < values.length ? values[i] : null;
    if (value === undefined) continue;
    if (value !== null) {
      open.push(i);
    } else if (open.length > 0) {
      found.push(open);
      open = [];
    }
  }
  return found;
}

export function draw(figure: Figure, pen: Pen): void {
  const { colors, xs, lines } = figure;
  const named = lines.filter((line) => line.unnamed !== true);
  const keys = placeKeys(named, pen.width - LEFT - RIGHT);
  const bottom = pen.height - AXIS - keys.rows * LINE - 8;
  const right = pen.width - RIGHT;
  const [least, most] = rangeOf(figure);
  const first = xs[0] ?? 0;
  const length = (xs.at(-1) ?? 1) - first || 1;
  const x = (place: number): number => LEFT + ((place - first) / length) * (right - LEFT);
  const y = (value: number): number => bottom - ((value - least) / (most - least)) * (bottom - TOP);
  const whole: Point[] = [
    [0, 0],
    [pen.width, 0],
    [pen.width, pen.height],
    [0, pen.height],
  ];
  pen.area(whole, colors.paper, 1);
  pen.text(figure.title, LEFT, 22, { color: colors.ink, px: 14, bold: true });
  for (const value of roundValues(least, most, 5)) {
    pen.line([[LEFT, y(value)], [right, y(value)]], colors.grid, 1, false); // prettier-ignore
    const style: TextStyle = { color: colors.muted, px: TEXT, anchor: "end" };
    pen.text(figure.axis(value), LEFT - 8, y(value) + TEXT / 3, style);
  }
  for (const { at, label } of figure.ticks) {
    if (at < first || at > first + length) continue;
    pen.line([[x(at), TOP], [x(at), bottom]], colors.grid, 1, false); // prettier-ignore
    pen.text(label, x(at), bottom + 16, { color: colors.muted, px: TEXT, anchor: "middle" });
  }
  lines.forEach((one, row) => {
    const below = one.filled === true ? lines[row - 1] : undefined;
    for (const places of stretches(one.values)) {
      const upper: Point[] = [];
      const lower: Point[] = [];
      for (const i of places) {
        upper.push([x(xs[i] ?? 0), y(one.values[i] ?? 0)]);
        lower.push([x(xs[i] ?? 0), y(below?.values[i] ?? Math.max(least, 0))]);
      }
      const thin = one.filled === true || one.faint === true;
      const alpha = one.faint === true ? 0.2 : 0.75;
      if (one.filled === true) pen.area([...upper, ...lower.reverse()], one.color, alpha);
      pen.line(upper, one.color, thin ? 1 : 1.5, one.dashed === true);
    }
  });
  for (const { line, left, row } of keys.places) {
    const at = bottom + AXIS + 12 + row * LINE;
    const stroke: Point[] = [
      [LEFT + left, at - 4],
      [LEFT + left + 14, at - 4],
    ];
    pen.line(stroke, line.color, 3, line.dashed === true);
    pen.text(line.label, LEFT + left + KEY, at, { color: colors.ink, px: TEXT });
  }
}

function placeKeys(
  lines: readonly FigureLine[],
  width: number,
): { rows: number; places: { line: FigureLine; left: number; row: number }[] } {
  let [left, row] = [0, 0];
  const places = lines.map((line) => {
    const length = KEY + line.label.length * TEXT * LETTER + 16;
    if (left > 0 && left + length > width) [left, row] = [0, row + 1];
    const place = { line, left, row };
    left += length;
    return place;
  });
  return { rows: row + 1, places };
}

const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const px = (value: number): string => String(Math.round(value * 100) / 100);

/** The pen that writes SVG, and what it wrote. */
export function svgPen(width: number, height: number): Pen & { svg(): string } {
  const parts: string[] = [];
  const path = (points: readonly Point[]): string =>
    points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${px(x)} ${px(y)}`).join("");
  return {
    width,
    height,
    area: (points, color, alpha) =>
      parts.push(`<path d="${path(points)}Z" fill="${escape(color)}" fill-opacity="${alpha}"/>`),
    line: (points, color, wide, dashed) =>
      parts.push(
        `<path d="${path(points)}" fill="none" stroke="${escape(color)}" stroke-width="${wide}"` +
          `${dashed ? ' stroke-dasharray="5 4"' : ""}/>`,
      ),
    text: (text, x, y, style) =>
      parts.push(
        `<text x="${px(x)}" y="${px(y)}" fill="${escape(style.color)}" font-size="${style.px}"` +
          `${style.bold === true ? ' font-weight="600"' : ""}` +
          ` text-anchor="${style.anchor ?? "start"}">${escape(text)}</text>`,
      ),
    svg: () =>
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"` +
      ` viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif">\n` +
      `${parts.join("\n")}\n</svg>\n`,
  };
}

/** The pen that draws on a canvas, `scale` times as fine. */
export function canvasPen(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  scale: number,
): Pen {
  context.setTransform(scale, 0, 0, scale, 0, 0);
  const trace = (points: readonly Point[]): void => {
    context.beginPath();
    points.forEach(([x, y], i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
  };
  return {
    width,
    height,
    area: (points, color, alpha) => {
      trace(points);
      context.globalAlpha = alpha;
      context.fillStyle = color;
      context.fill();
      context.globalAlpha = 1;
    },
    line: (points, color, wide, dashed) => {
      trace(points);
      context.setLineDash(dashed ? [5, 4] : []);
      context.strokeStyle = color;
      context.lineWidth = wide;
      context.stroke();
    },
    text: (text, x, y, style) => {
      context.font = `${style.bold === true ? "600 " : ""}${style.px}px system-ui, sans-serif`;
      context.textAlign = style.anchor === "middle" ? "center" : (style.anchor ?? "start");
      context.fillStyle = style.color;
      context.fillText(text, x, y);
    },
  };
}
