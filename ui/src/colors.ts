// Colours of the style sheet for what is drawn on a canvas, which knows no variables.

/** What a colour of CSS, such as `var(--line)`, is for that element now. */
export function resolved(element: HTMLElement, color: string): string {
  element.style.outlineColor = color;
  const value = getComputedStyle(element).outlineColor;
  element.style.removeProperty("outline-color");
  return value;
}

/** Calls `changed` whenever light becomes dark or dark light; returns what ends that. */
export function onTheme(changed: () => void): () => void {
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", changed);
  const themes = new MutationObserver(changed);
  themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    scheme.removeEventListener("change", changed);
    themes.disconnect();
  };
}
