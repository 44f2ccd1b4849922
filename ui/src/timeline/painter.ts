// Draws a timeline. What costs most, columns as colours, is done once for each answer of the
// server; a frame only puts pictures and the rectangles that are seen in their places.
import type { Tick } from "../time_scale.ts";
import { type Exact, type Lane, LEVELS, pictureOf, stretchesOf } from "./lanes.ts";
import type { Window } from "./window.ts";

export interface Palette {
  /** By places in LOOKS: as CSS has them, and as pixels. */
  colors: readonly string[];
  pixels: Uint32Array;
  /** Which of them is crossed out as well. */
  crossed: number;
  line: string;
  text: string;
  muted: string;
  ground: string;
  accent: string;
  alarm: string;
  font: string;
}

export interface PreparedLane {
  lane: Lane;
  picture: OffscreenCanvas | undefined;
  crossed: [number, number][];
}

export function prepare(lane: Lane, palette: Palette): PreparedLane {
  const kinds = palette.pixels.length;
  const crossed = stretchesOf(lane, palette.crossed, kinds);
  const { time } = lane;
  if (time.kind === "exact" || time.columns === 0) return { lane, picture: undefined, crossed };
  const picture = new OffscreenCanvas(time.columns, LEVELS);
  const pixels = pictureOf(time, palette.pixels);
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer as ArrayBuffer), time.columns);
  picture.getContext("2d")?.putImageData(image, 0, 0);
  return { lane, picture, crossed };
}

export interface Mark {
  at: number;
  /** The lane that it is of; undefined: all. */
  attempt: bigint | undefined;
  label: string;
  tone: "alarm" | "accent" | "muted";
}

const GAP_PX = 6;
const ROW_LEAST_PX = 26;
const ROW_MOST_PX = 60;
const AXIS_PX = 28;
export const LABELS_PX = 84;

export interface Scene {
  width: number;
  height: number;
  /** The coarsest first: each is seen where those behind it say nothing. */
  layers: readonly { window: Window; lanes: readonly PreparedLane[] }[];
  /** The rows from the top; undefined: all attempts in one. */
  rows: readonly (bigint | undefined)[];
  window: Window;
  ticks: readonly { x: number; tick: Tick }[];
  marks: readonly Mark[];
  /** A stretch of a lane that is pointed at or chosen. */
  outlined: readonly { attempt: bigint | undefined; begin: number; end: number; strong: boolean }[];
}

/** How high so many rows are at least, with the axis below them. */
export const heightOf = (rows: number): number => rows * ROW_LEAST_PX + AXIS_PX;
/** How high each of so many rows is in that height: fewer are higher. */
export const rowPx = (rows: number, height: number): number =>
  Math.min(ROW_MOST_PX, Math.floor((height - AXIS_PX) / Math.max(rows, 1)));

export function draw(context: CanvasRenderingContext2D, scene: Scene, palette: Palette): void {
  const { width, height, window } = scene;
  const plot = width - LABELS_PX;
  const scale = plot / (window.end - window.begin);
  const x = (ns: number): number => LABELS_PX + (ns - window.begin) * scale;
  const bottom = height - AXIS_PX;
  const row = rowPx(scene.rows.length, height);
  const lane = row - GAP_PX;
  context.clearRect(0, 0, width, height);
  context.font = palette.font;
  context.textBaseline = "middle";

  context.fillStyle = palette.line;
  for (const { x: at } of scene.ticks) context.fillRect(Math.round(LABELS_PX + at), 0, 1, bottom);
  context.textAlign = "center";
  for (const { x: at, tick } of scene.ticks) {
    context.fillStyle = tick.major ? palette.text : palette.muted;
    const half = context.measureText(tick.label).width / 2;
    const middle = Math.min(Math.max(LABELS_PX + at, LABELS_PX + half), width - half);
    context.fillText(tick.label, middle, bottom + AXIS_PX / 2);
  }

  const rows = new Map<bigint | undefined, number>();
  scene.rows.forEach((attempt, i) => rows.set(attempt, i * row + GAP_PX / 2));
  context.textAlign = "left";
  context.fillStyle = palette.muted;
  for (const [attempt, y] of rows) {
    const label = attempt === undefined ? "all" : `attempt ${attempt}`;
    context.fillText(label, 0, y + lane / 2);
  }
  // An attempt is in a row of its own, and in the one for all.
  const placesOf = (attempt: bigint | undefined): number[] => {
    const places = attempt === undefined ? [undefined] : [undefined, attempt];
    return places.flatMap((one) => rows.get(one) ?? []);
  };

  context.save();
  context.beginPath();
  context.rect(LABELS_PX, 0, plot, bottom);
  context.clip();
  context.imageSmoothingEnabled = false;
  scene.layers.forEach((layer, i) => {
    context.save();
    context.beginPath();
    let from = window.begin;
    for (const { window: covered } of scene.layers.slice(i + 1)) {
      if (covered.end <= from || covered.begin >= window.end) continue;
      context.rect(x(from), 0, Math.max((covered.begin - from) * scale, 0), bottom);
      from = Math.max(from, covered.end);
    }
    context.rect(x(from), 0, Math.max((window.end - from) * scale, 0), bottom);
    context.clip();
    for (const one of layer.lanes) {
      const y = rows.get(one.lane.attempt);
      if (y === undefined || one.lane.end < window.begin || one.lane.begin > window.end) continue;
      drawLane(context, one, y, lane, window, x, scale, palette);
    }
    context.restore();
  });
  for (const { attempt, begin, end, strong } of scene.outlined) {
    context.strokeStyle = strong ? palette.accent : palette.text;
    context.lineWidth = strong ? 2 : 1;
    const left = Math.max(x(begin), LABELS_PX - 4);
    const right = Math.min(x(end), width + 4);
    for (const y of placesOf(attempt)) {
      context.strokeRect(left, y - 1.5, Math.max(right - left, 2), lane + 3);
    }
  }
  for (const mark of scene.marks) {
    if (mark.at < window.begin || mark.at > window.end) continue;
    context.fillStyle = palette[mark.tone];
    for (const y of placesOf(mark.attempt)) {
      context.beginPath();
      context.arc(x(mark.at), Math.max(y - 1, 3), 3, 0, 2 * Math.PI);
      context.fill();
    }
  }
  context.restore();
}

function drawLane(
  context: CanvasRenderingContext2D,
  one: PreparedLane,
  y: number,
  lane: number,
  window: Window,
  x: (ns: number) => number,
  scale: number,
  palette: Palette,
): void {
  const { time } = one.lane;
  if (time.kind === "mixed") {
    if (one.picture === undefined) return;
    const left = x(time.begin);
    context.drawImage(one.picture, left, y, time.columns * time.columnNs * scale, lane);
  } else {
    drawExact(context, time, y, lane, window, x, palette);
  }
  // Lost work is crossed out as well: colour is never the only sign.
  context.strokeStyle = palette.ground;
  context.lineWidth = 1;
  for (const [begin, end] of one.crossed) {
    if (end < window.begin || begin > window.end) continue;
    const left = Math.max(x(begin), LABELS_PX - lane);
    const right = Math.min(x(end), x(window.end) + lane);
    if (right - left < 2) continue;
    context.save();
    context.beginPath();
    context.rect(left, y, right - left, lane);
    context.clip();
    context.beginPath();
    // Lines that stay where they are on the screen when the window moves by less than one.
    const first = Math.floor((left - lane) / 6) * 6;
    for (let at = first; at < right; at += 6) {
      context.moveTo(at, y + lane);
      context.lineTo(at + lane, y);
    }
    context.stroke();
    context.restore();
  }
}

function drawExact(
  context: CanvasRenderingContext2D,
  time: Exact,
  y: number,
  lane: number,
  window: Window,
  x: (ns: number) => number,
  palette: Palette,
): void {
  const { begins, ends, looks } = time;
  let i = 0;
  for (let high = ends.length; i < high; ) {
    const middle = (i + high) >> 1;
    if ((ends[middle] ?? 0) <= window.begin) i = middle + 1;
    else high = middle;
  }
  let drawn = -Infinity; // up to which pixel
  for (; i < begins.length; ++i) {
    const begin = begins[i] ?? 0;
    if (begin >= window.end) break;
    const right = x(ends[i] ?? 0);
    if (right <= drawn) continue; // less than a pixel, behind another one
    const left = Math.max(x(begin), drawn);
    context.fillStyle = palette.colors[looks[i] ?? 0] ?? palette.text;
    // Where there is room for it, one is told from the next.
    const wide = Math.max(right - left > 4 ? right - left - 1 : right - left, 1);
    context.fillRect(left, y, wide, lane);
    if (right - left < 1) drawn = left + 1;
  }
}
