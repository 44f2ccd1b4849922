// A browser as tests use it: Debian's, without a window, and without a word to anybody else.
import { existsSync } from "node:fs";
import assert from "node:assert/strict";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";

const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export function findBrowser(): string | undefined {
  return PROGRAMS.find((program) => existsSync(program));
}

export async function openBrowser(): Promise<Browser> {
  const executablePath = findBrowser();
  assert.ok(executablePath, "there is no browser: apt-get install chromium");
  return chromium.launch({
    executablePath,
    args: [
      ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"],
      ...["--disable-background-networking", "--disable-component-update"],
    ],
  });
}

/** What a page complained of, and where else than to `origin` it went. */
export function watch(page: Page, origin: string): string[] {
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warning") return;
    faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`uncaught: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(origin)) faults.push(`elsewhere: ${request.url()}`);
  });
  return faults;
}

/** What axe has against the page (WCAG 2.2 AA and good practice). */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // Evaluated by the debugger: the page's own policy lets no script in.
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { axe: tool } = window as unknown as { axe: typeof axe };
    return tool.run({ resultTypes: ["violations"] });
  });
  return found.violations.map(
    (one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html).join(" ")}`,
  );
}
