// Light, dark, or as the system has it. Kept by the browser for all its tabs.
import { signal } from "@preact/signals";
import type { JSX } from "preact";

const KEY = "headway.theme";
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const stored = localStorage.getItem(KEY);
const theme = signal<Theme>(THEMES.find((one) => one === stored) ?? "system");
theme.subscribe((value) => {
  document.documentElement.dataset["theme"] = value;
});

export function ThemeButton(): JSX.Element {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] as Theme;
  const change = (): void => {
    theme.value = next;
    localStorage.setItem(KEY, next);
  };
  return (
    <button type="button" class="quiet" onClick={change} title={`Change to ${next}`}>
      <span class="muted">Theme</span> {theme.value}
    </button>
  );
}
