// What time can be, how it is called and which colour it has: one table for the whole page.
import { Category, type CategoryTime } from "../gen/headway/v1/report_pb.js";
import table from "./categories.json" with { type: "json" };

export interface Look {
  name: string;
  label: string;
  about: string;
  light: string;
  dark: string;
}

export const LOOKS: readonly Look[] = table;
const BY_NAME = new Map(LOOKS.map((look) => [look.name, look]));
const OTHER = LOOKS.at(-1) as Look;

export function lookOf(category: Category): Look {
  return BY_NAME.get((Category[category] ?? "").toLowerCase()) ?? OTHER;
}

/** Its place among LOOKS. */
export const placeOf = (category: Category): number => LOOKS.indexOf(lookOf(category));

/** What a category of that name is called here; any other word as it is. */
export const labelOfName = (name: string): string => BY_NAME.get(name)?.label ?? name;

/** With the name that the program gave it: `Custom: eval`. */
export function labelOf(time: CategoryTime): string {
  const { label } = lookOf(time.category);
  return time.name === "" ? label : `${label}: ${time.name}`;
}

/** Its colour, which follows light and dark. */
export const colorOf = (category: Category): string => `var(--category-${lookOf(category).name})`;

/** Lost work is crossed out as well, so that colour is never the only sign. */
export const isCrossedOut = (category: Category): boolean => category === Category.WASTED_PROGRESS;

/** Makes the colours known to the style sheet. */
export function defineColors(root: HTMLElement): void {
  for (const look of LOOKS) {
    root.style.setProperty(`--category-${look.name}`, `light-dark(${look.light}, ${look.dark})`);
  }
}
