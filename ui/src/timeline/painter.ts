// Draws a timeline. What costs most, columns as colours, is done once for each answer of the
// server; a frame only puts pictures and the rectangles that are seen in their places.
import type { Tick } from "../time_scale.ts";
import { type Lane, LEVELS, pictureOf, stretchesOf } from "./lanes.ts";
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

export const LANE_PX = 20;
export const GAP_PX = 6;
export const AXIS_PX = 28;
export const LABELS_PX = 84;

export interface Scene {
  width: number;
  height: number;
  /** What is drawn first shows where nothing sharper covers it. */
  layers: readonly (readonly PreparedLane[])[];
  /** Attempts in the order of their lanes; those from `first` on are seen. */
  attempts: readonly bigint[];
  first: number;
  window: Window;
  ticks: readonly { x: number; tick: Tick }[];
  marks: readonly Mark[];
  /** A stretch of a lane that is pointed at or chosen. */
  outlined: readonly { attempt: bigint | undefined; begin: number; end: number; strong: boolean }[];
}

/** How many lanes are seen at once in that height. */
export const lanesIn = (height: number): number =>
  Math.max(1, Math.floor((height - AXIS_PX) / (LANE_PX + GAP_PX)));

export function draw(context: CanvasRenderingContext2D, scene: Scene, palette: Palette): void {
  const { width, height, window } = scene;
  const plot = width - LABELS_PX;
  const scale = plot / (window.end - window.begin);
  const x = (ns: number): number => LABELS_PX + (ns - window.begin) * scale;
  const bottom = height - AXIS_PX;
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

  const shown = lanesIn(height);
  const rows = new Map<bigint, number>();
  scene.attempts.slice(scene.first, scene.first + shown).forEach((attempt, i) => {
    rows.set(attempt, i * (LANE_PX + GAP_PX) + GAP_PX / 2);
  });
  context.textAlign = "left";
  context.fillStyle = palette.muted;
  for (const [attempt, y] of rows) context.fillText(`attempt ${attempt}`, 0, y + LANE_PX / 2);

  context.save();
  context.beginPath();
  context.rect(LABELS_PX, 0, plot, bottom);
  context.clip();
  context.imageSmoothingEnabled = false;
  for (const layer of scene.layers) {
    for (const one of layer) {
      const y = one.lane.attempt === undefined ? undefined : rows.get(one.lane.attempt);
      if (y !== undefined) drawLane(context, one, y, window, x, scale, palette);
    }
  }
  for (const { attempt, begin, end, strong } of scene.outlined) {
    const y = attempt === undefined ? undefined : rows.get(attempt);
    if (y === undefined) continue;
    context.strokeStyle = strong ? palette.accent : palette.text;
    context.lineWidth = strong ? 2 : 1;
    const left = Math.max(x(begin), LABELS_PX - 4);
    const right = Math.min(x(end), width + 4);
    context.strokeRect(left, y - 1.5, Math.max(right - left, 2), LANE_PX + 3);
  }
  for (const mark of scene.marks) {
    const y = mark.attempt === undefined ? 0 : rows.get(mark.attempt);
    if (y === undefined || mark.at < window.begin || mark.at > window.end) continue;
    context.fillStyle = palette[mark.tone];
    context.beginPath();
    context.arc(x(mark.at), Math.max(y - 1, 3), 3, 0, 2 * Math.PI);
    context.fill();
  }
  context.restore();
}

function drawLane(
  context: CanvasRenderingContext2D,
  one: PreparedLane,
  y: number,
  window: Window,
  x: (ns: number) => number,
  scale: number,
  palette: Palette,
): void {
  const { time } = one.lane;
  if (time.kind === "mixed") {
    if (one.picture === undefined) return;
    const left = x(time.begin);
    context.drawImage(one.picture, left, y, time.columns * time.columnNs * scale, LANE_PX);
  } else {
    drawExact(context, time.begins, time.ends, time.looks, y, window, x, palette);
  }
  // Lost work is crossed out as well: colour is never the only sign.
  context.strokeStyle = palette.ground;
  context.lineWidth = 1;
  for (const [begin, end] of one.crossed) {
    if (end < window.begin || begin > window.end) continue;
    const left = Math.max(x(begin), LABELS_PX - LANE_PX);
    const right = Math.min(x(end), x(window.end) + LANE_PX);
    if (right - left < 2) continue;
    context.save();
    context.beginPath();
    context.rect(left, y, right - left, LANE_PX);
    context.clip();
    context.beginPath();
    // Lines that stay where they are on the screen when the window moves by less than one.
    const first = Math.floor((left - LANE_PX) / 6) * 6;
    for (let at = first; at < right; at += 6) {
      context.moveTo(at, y + LANE_PX);
      context.lineTo(at + LANE_PX, y);
    }
    context.stroke();
    context.restore();
  }
}

function drawExact(
  context: CanvasRenderingContext2D,
  begins: Float64Array,
  ends: Float64Array,
  looks: Uint8Array,
  y: number,
  window: Window,
  x: (ns: number) => number,
  palette: Palette,
): void {
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
    const wide = Math.max(right - left, 1);
    context.fillRect(left, y, wide, LANE_PX);
    if (right - left < 1) drawn = left + 1;
  }
}
