// The pages of a run beside its overview and its timeline, and runs side by side, as people use
// them: in a real browser, with a real server. tests/e2e/test_ui_pages.py starts it.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { percent } from "../src/format.ts";
import { accessibilityFaults, openBrowser, watch } from "./browser.ts";

interface Given {
  url: string;
  viewer: string; // a token that only looks
  link: string; // of the run "base"
  event: string; // its uid
  goodputs: Record<string, number>;
  p50_ns: number;
  slowest: number[]; // work, ns
  pictures?: string; // a folder for them
}
const given = JSON.parse(readFileSync(process.env["HEADWAY_TEST"] ?? "", "utf8")) as Given;
const { url } = given;

describe("pages of runs", { concurrency: false }, () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let faults: string[];

  before(async () => {
    browser = await openBrowser();
  });
  after(() => browser.close());
  beforeEach(async () => {
    context = await browser.newContext({ viewport: { width: 1300, height: 900 } });
    page = await context.newPage();
    page.setDefaultTimeout(30_000);
    faults = watch(page, url);
  });
  afterEach(() => context.close());

  async function signIn(path: string): Promise<void> {
    await page.goto(url + path);
    await page.getByLabel("Token").fill(given.viewer);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Sign out" }).waitFor();
  }

  async function picture(name: string): Promise<void> {
    if (given.pictures === undefined) return;
    mkdirSync(given.pictures, { recursive: true });
    await page.screenshot({ path: `${given.pictures}/${name}.png` });
  }

  /** In light, in dark, and where there is little room. */
  async function looksGood(name: string): Promise<void> {
    assert.deepEqual(await accessibilityFaults(page), []);
    await picture(name);
    await page.emulateMedia({ colorScheme: "dark" });
    assert.deepEqual(await accessibilityFaults(page), []);
    await picture(`${name}-dark`);
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.waitForTimeout(100); // charts follow the width
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${name} is ${width} px wide on a screen of 390`);
    await picture(`${name}-small`);
    await page.setViewportSize({ width: 1300, height: 900 });
  }

  const values = (selector: string): Promise<(string | null)[]> =>
    page.locator(selector).evaluateAll((all) => all.map((one) => one.getAttribute("value")));
  const query = (): Record<string, string> => Object.fromEntries(new URL(page.url()).searchParams);
  const tab = (name: string): Promise<void> =>
    page.getByRole("navigation", { name: "Pages of this run" }).getByRole("link", { name }).click();

  /** Chooses the middle half of a chart, and goes there. */
  async function zoom(chart: import("playwright-core").Locator): Promise<void> {
    const box = await chart.locator(".u-over").boundingBox();
    assert.ok(box);
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width / 4, y);
    await page.mouse.down();
    await page.mouse.move(box.x + (box.width * 3) / 4, y, { steps: 4 });
    await page.mouse.up();
  }

  test("steps: how long, how evenly, which were slowest", async () => {
    await signIn("/runs/base");
    await page.locator("h1.goodput data").waitFor();
    await tab("Steps");
    await page.waitForURL(`${url}/runs/base/steps`);
    const headline = page.locator("h1.goodput data");
    await headline.waitFor();
    assert.equal(await headline.getAttribute("value"), String(given.p50_ns));
    const table = page.getByRole("table", { name: "The slowest steps" });
    await table.waitFor();
    assert.deepEqual(
      (await values('table[aria-labelledby="slowest"] tbody data')).map(Number),
      given.slowest,
    );
    await looksGood("steps");
    const chart = page.getByRole("img", { name: /^Time of a step/ });
    await zoom(chart);
    await page.waitForURL(/from=%40\d+&to=%40\d+/);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.waitForURL(`${url}/runs/base/steps`);
    await page.getByRole("button", { name: "step", exact: true }).click();
    await page.waitForURL(`${url}/runs/base/steps?axis=step`);
    await page.locator(".stale").waitFor({ state: "detached" });
    await zoom(page.getByRole("img", { name: /^Time of a step/ }));
    await page.waitForURL(/steps=\d+\.\.\d+/);
    await page.reload();
    await page.getByRole("button", { name: "Show all" }).waitFor();
    // One step, on the timeline.
    await table.getByRole("link").first().click();
    await page.waitForURL(/\/runs\/base\/timeline\?from=/);
    await page.getByRole("application", { name: "Timeline" }).waitFor();
    assert.deepEqual(faults, []);
  });

  test("metrics: a wall of charts", async () => {
    await signIn("/runs/base");
    await page.locator("h1.goodput data").waitFor();
    await tab("Metrics");
    await page.waitForURL(`${url}/runs/base/metrics`);
    const card = (name: string): import("playwright-core").Locator =>
      page.getByRole("article", { name, exact: true });
    await card("loss").locator(".u-over").waitFor();
    const sections = await page.locator("h2.wall-row").allTextContents();
    assert.match(sections[0] ?? "", /^Model quality/);
    assert.match(sections[1] ?? "", /^Model performance/);
    // Only those that can be seen are there.
    const there = await page.locator("article.card").count();
    assert.ok(there < 40, `${there} charts`);
    await card("loss").getByText("1 point is NaN or infinite").waitFor();
    await looksGood("metrics");
    await page.keyboard.press("End");
    await card("custom/9").locator(".u-over").waitFor();
    await page.keyboard.press("Home");
    await page.keyboard.press("/");
    await page.keyboard.type("LOSS");
    await page.waitForFunction(() => document.querySelectorAll("article.card").length === 1);
    assert.deepEqual(query(), { find: "LOSS" });
    for (const [label, choice] of [
      ["Along", "step"],
      ["Smoothed", "0.9"],
      ["Scale", "log"],
    ] as const) {
      await page
        .getByRole("group", { name: label })
        .getByRole("button", { name: choice, exact: true })
        .click();
    }
    assert.deepEqual(query(), { find: "LOSS", axis: "step", smooth: "0.9", scale: "log" });
    await card("loss").locator(".u-over").waitFor();
    await picture("metrics-smooth");
    await zoom(card("loss"));
    await page.waitForURL(/steps=\d+\.\.\d+/);
    for (const axis of ["since the start", "productive time", "time"]) {
      await page.getByRole("button", { name: axis, exact: true }).click();
      await card("loss").locator(".u-over").waitFor();
      await page.locator(".stale").waitFor({ state: "detached" });
    }
    await zoom(card("loss"));
    await page.waitForURL(/from=%40\d+&to=%40\d+/);
    // The same time is shown on the other pages.
    await tab("Overview");
    await page.waitForURL(/\/runs\/base\?from=%40\d+&to=%40\d+$/);
    assert.deepEqual(faults, []);
  });

  test("configs: what it was told, and how that differs", async () => {
    await signIn("/runs/base/configs");
    const table = page.locator("table.configs");
    await table.waitFor();
    const row = (path: string): import("playwright-core").Locator =>
      table.getByRole("row").filter({ has: page.getByText(path, { exact: true }) });
    await row("optimizer.lr").getByText("0.1", { exact: true }).waitFor();
    await row("hf_token").getByText('"***"').waitFor();
    await looksGood("configs");
    await page.getByRole("searchbox", { name: "Find in paths and values" }).fill("ADAM");
    await page.waitForFunction(
      () => document.querySelectorAll("table.configs tbody tr").length === 1,
    );
    await page.getByRole("searchbox", { name: "Find in paths and values" }).fill("");
    await page.getByLabel("Compare with another run").fill("faster");
    await page.keyboard.press("Enter");
    await row("optimizer.lr").getByText("0.3", { exact: true }).waitFor();
    assert.deepEqual(query(), { against: "run:faster" });
    assert.equal(await row("batch").count(), 0);
    await page.getByRole("button", { name: "all", exact: true }).click();
    await row("batch").waitFor();
    await page.getByRole("button", { name: "system", exact: true }).click();
    await page.waitForURL(/kind=system/);
    await table.waitFor();
    assert.deepEqual(faults, []);
  });

  test("events: what happened, why, and what to do", async () => {
    await signIn("/runs/base/events");
    await page.getByRole("link", { name: "Collective stuck", exact: true }).click();
    await page.waitForURL(`${url}/runs/base/events?chosen=${given.event}`);
    await page.getByText("found a cause", { exact: true }).waitFor();
    await page.getByText("no data", { exact: true }).waitFor();
    await page.getByText("<b>twelve</b>").waitFor();
    await page.getByText("Drain node-7").waitFor();
    assert.equal(
      await page.getByRole("link", { name: "more about it" }).getAttribute("href"),
      "https://docs.example/x",
    );
    await looksGood("events");
    await page.getByRole("button", { name: "Close" }).click();
    await page.waitForURL(`${url}/runs/base/events`);
    await page.goto(`${url}/runs/faster/events`);
    await page.getByText("Nobody has said that anything happened").waitFor();
    assert.deepEqual(faults, []);
  });

  test("profiles: what was captured, and where it lies", async () => {
    await signIn("/runs/base/profiles");
    await page.getByRole("row").filter({ hasText: "step-100" }).getByText("3 MiB").waitFor();
    assert.equal(
      await page.getByRole("link", { name: "Open" }).getAttribute("href"),
      "https://tensorboard.example/step-100",
    );
    await page.getByRole("button", { name: "Capture a profile" }).click();
    await page.getByText("captures no profile by itself").waitFor();
    await page.keyboard.press("Escape");
    await looksGood("profiles");
    assert.deepEqual(faults, []);
  });

  test("runs side by side", async () => {
    await signIn("/runs");
    await page.getByLabel("Compare base").check();
    await page.getByLabel("Compare faster").check();
    await page.getByRole("link", { name: "Compare 2 runs" }).click();
    await page.waitForURL(`${url}/compare?run=base&run=faster`);
    const goodput = page.getByRole("row").filter({ hasText: /^Goodput/ });
    await goodput.waitFor();
    assert.deepEqual(
      await goodput.locator("data").allTextContents(),
      ["base", "faster"].map((run) => `${percent(given.goodputs[run])} %`),
    );
    await page.getByRole("article", { name: "loss", exact: true }).locator(".u-over").waitFor();
    const differs = page.getByRole("table", { name: "What they were told differently" });
    await differs.getByText("user: optimizer.lr").waitFor();
    assert.equal(await differs.getByText("user: batch").count(), 0);
    await looksGood("compare");
    await page.getByRole("button", { name: "Leave faster out" }).first().click();
    await page.waitForURL(`${url}/compare?run=base`);
    await page.getByText("Choose two runs or more").waitFor();
    assert.deepEqual(faults, []);
  });

  test("the overview over time: shares, sums, and other looks back", async () => {
    await signIn("/runs/base");
    await page.getByRole("img", { name: "Goodput over time, in percent" }).waitFor();
    await page.getByRole("img", { name: "Disruptions so far" }).waitFor();
    await page.getByRole("button", { name: "time so far" }).click();
    await page.getByRole("img", { name: "Productive time so far, and what has elapsed" }).waitFor();
    assert.deepEqual(query(), { show: "time" });
    await page
      .getByRole("img", { name: "Time lost so far, by its cause" })
      .scrollIntoViewIfNeeded();
    await picture("sums");
    await page.getByRole("button", { name: "percent" }).click();
    const back = page.getByLabel("Each value looks back so long");
    await back.fill("soon");
    await back.press("Enter");
    assert.deepEqual(query(), {});
    await back.fill("1s");
    await back.press("Enter");
    await page.waitForURL(/rolling=1s/);
    await page.getByText("Goodput, 1.000 s").waitFor();
    assert.deepEqual(faults, []);
  });

  test("a link shows the steps and metrics of its run, and nothing that is private", async () => {
    await page.goto(`${url}/share/${given.link}#metrics?axis=step`);
    await page.waitForURL(/\/runs\/[0-9a-f]{32}\/metrics\?axis=step$/);
    await page.getByRole("article", { name: "loss", exact: true }).locator(".u-over").waitFor();
    await tab("Steps");
    await page.getByRole("table", { name: "The slowest steps" }).waitFor();
    const tabs = page.getByRole("navigation", { name: "Pages of this run" }).getByRole("link");
    assert.deepEqual(await tabs.allTextContents(), ["Overview", "Timeline", "Steps", "Metrics"]);
    assert.deepEqual(faults, []);
  });
});
