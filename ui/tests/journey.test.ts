// The page as people use it, in a real browser, with a real server and its real runs.
// tests/e2e/test_ui.py starts it and says in HEADWAY_TEST what is there.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { duration, percent } from "../src/format.ts";
import { accessibilityFaults, openBrowser, watch } from "./browser.ts";

interface Given {
  url: string;
  token: string;
  viewer: string; // a token that only looks
  run: string; // has ended, with disruptions
  /** Of `headway goodput --json`; numbers of nanoseconds are small enough. */
  report: {
    goodput: number;
    elapsed_ns: number;
    categories: { category: string; ns: number }[];
    attempts: unknown[];
    disruptions: unknown[];
  };
  window: { from: string; to: string; goodput: number; elapsed_ns: number };
  /** Of `headway timeline --json`: nanoseconds since 1970, as texts. */
  intervals: { begin: string; end: string; label: string }[];
  runs: number;
  advised: { run: string; advice: string[] };
  live: { project: string; run: string };
  pictures?: string; // a folder for them
}
const given = JSON.parse(readFileSync(process.env["HEADWAY_TEST"] ?? "", "utf8")) as Given;
const { url, run, report } = given;
const SMALL = { width: 390, height: 844 };

describe("the page", { concurrency: false }, () => {
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

  async function signIn(token = given.token, path = "/"): Promise<void> {
    await page.goto(url + path);
    await page.getByLabel("Token").fill(token);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Sign out" }).waitFor();
  }

  async function picture(name: string): Promise<void> {
    if (given.pictures === undefined) return;
    mkdirSync(given.pictures, { recursive: true });
    await page.screenshot({ path: `${given.pictures}/${name}.png` });
  }

  const values = (selector: string): Promise<(string | null)[]> =>
    page.locator(selector).evaluateAll((all) => all.map((one) => one.getAttribute("value")));

  test("signs in, finds the run, and shows where its time went", async () => {
    await signIn();
    await page.waitForURL(`${url}/runs`);
    await page.waitForFunction(() => document.title === "Runs · headway");
    const row = page
      .getByRole("row")
      .filter({ has: page.getByRole("link", { name: run, exact: true }) });
    await row.waitFor();
    assert.equal(
      await row.locator("td.goodput data").getAttribute("value"),
      String(report.goodput),
    );
    assert.match((await row.textContent()) ?? "", /completed/);
    assert.equal(await page.locator("tbody tr").count(), given.runs);
    await picture("runs");
    await page.locator("table.runs").getByRole("link", { name: run, exact: true }).click();

    await page.waitForURL(`${url}/runs/${run}`);
    const headline = page.locator("h1.goodput data");
    await headline.waitFor();
    assert.equal(await headline.getAttribute("value"), String(report.goodput));
    assert.equal(await headline.textContent(), `${percent(report.goodput)} %`);
    assert.deepEqual(
      await values("table.breakdown tbody td:nth-child(2) data"),
      [true, false].flatMap((good) =>
        report.categories
          .filter((time) => (time.category === "productive") === good)
          .map((time) => String(time.ns)),
      ),
    );
    // It adds up.
    assert.deepEqual(await values("table.breakdown tfoot data"), [String(report.elapsed_ns)]);
    assert.match(
      (await page.locator(".headline").textContent()) ?? "",
      new RegExp(`of ${duration(BigInt(report.elapsed_ns)).replaceAll(".", "\\.")} elapsed`),
    );
    const rows = (name: string): Promise<number> =>
      page.getByRole("table", { name }).locator("tbody tr").count();
    assert.equal(await rows("Disruptions"), report.disruptions.length);
    assert.equal(await rows("Attempts"), report.attempts.length);
    await picture("run");
    await page.goBack();
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    assert.deepEqual(faults, []);
  });

  test("what is shown can be kept as a file", async () => {
    await signIn(given.viewer, `/runs/${run}`);
    await page.locator("h1.goodput data").waitFor();
    const kept = async (button: string): Promise<{ name: string; content: Buffer }> => {
      const coming = page.waitForEvent("download");
      await page.getByRole("button", { name: button }).click();
      const download = await coming;
      return {
        name: download.suggestedFilename(),
        content: readFileSync(await download.path()),
      };
    };
    const table = await kept('Save "Where the time went" as CSV');
    assert.equal(table.name, `${run}-Where-the-time-went.csv`);
    const rows = table.content.toString().trimEnd().split("\r\n");
    assert.match(rows[0] ?? "", /^Category,Time,Share/);
    assert.deepEqual(
      rows.slice(1, -1).map((row) => row.split(",")[1]),
      [true, false].flatMap((good) =>
        report.categories
          .filter((time) => (time.category === "productive") === good)
          .map((time) => String(time.ns)),
      ),
    );
    assert.equal(rows.at(-1)?.split(",")[1], String(report.elapsed_ns));
    const chart = "Goodput over time, in percent";
    const points = (await kept(`Save "${chart}" as CSV`)).content.toString().split("\r\n");
    assert.match(points[0] ?? "", /^time,"Goodput, .*since the start$/);
    assert.ok(points.length > 100);
    const svg = await kept(`Save "${chart}" as SVG`);
    assert.match(svg.content.toString(), /^<svg xmlns=.*>Goodput over time, .*<\/svg>\n$/s);
    const png = await kept(`Save "${chart}" as PNG`);
    assert.equal(png.content.subarray(1, 4).toString(), "PNG");
    assert.ok(png.content.length > 5_000, String(png.content.length));
    if (given.pictures !== undefined) {
      mkdirSync(given.pictures, { recursive: true });
      for (const one of [png, svg]) writeFileSync(`${given.pictures}/${one.name}`, one.content);
    }
    assert.deepEqual(faults, []);
  });

  test("says what to do about it", async () => {
    const { run: advised, advice } = given.advised;
    await signIn(given.viewer, `/runs/${advised}`);
    const list = page.locator("ol.advice li");
    await list.first().waitFor();
    const texts = await list.allTextContents();
    // "infrastructure_recovery took ..." begins as that is called on the page.
    const behindName = (text: string): string => text.slice(text.indexOf(" took "));
    assert.deepEqual(texts.map(behindName), advice.map(behindName));
    assert.match(texts[0] ?? "", /^Infrastructure recovery took /);
    assert.deepEqual(await accessibilityFaults(page), []);
    await picture("advice");
    assert.deepEqual(faults, []);
  });

  test("an address holds the view: a window of the run", async () => {
    const { from, to } = given.window;
    const address = `/runs/${run}?${new URLSearchParams({ from, to }).toString()}`;
    await signIn(given.viewer, address);
    const headline = page.locator("h1.goodput data");
    await headline.waitFor();
    assert.equal(await headline.getAttribute("value"), String(given.window.goodput));
    assert.deepEqual(await values("table.breakdown tfoot data"), [String(given.window.elapsed_ns)]);
    assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, address);
    await page.reload(); // the tab keeps the token
    await headline.waitFor();
    await page.getByRole("link", { name: "All", exact: true }).click();
    await page.waitForURL(`${url}/runs/${run}`);
    await page.locator(`table.breakdown tfoot data[value="${report.elapsed_ns}"]`).waitFor();
    assert.deepEqual(faults, []);
  });

  test("the token stays in the tab, and out of every address", async () => {
    await signIn();
    await page.locator("table.runs").getByRole("link", { name: run, exact: true }).click();
    await page.locator("h1.goodput").waitFor();
    assert.ok(!page.url().includes(given.token));
    const kept = await page.evaluate(() => [
      Object.values(sessionStorage),
      Object.values(localStorage),
      document.cookie,
    ]);
    assert.deepEqual(kept, [[given.token], [], ""]);
    const other = await context.newPage();
    await other.goto(`${url}/runs`);
    await other.getByLabel("Token").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    assert.deepEqual(await page.evaluate(() => Object.values(sessionStorage)), []);
    assert.deepEqual(faults, []);
  });

  test("a wrong token is told, and tried again", async () => {
    await page.goto(url);
    await page.getByLabel("Token").fill("hw_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").filter({ hasText: "token" }).waitFor();
    await page.getByLabel("Token").fill(given.token);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Runs" }).waitFor();
  });

  test("only with the keyboard: filters, orders, opens", async () => {
    await signIn();
    await page.locator("tbody tr").first().waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type(run);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${url}/runs?filter=${run}`);
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    await page.keyboard.press("Control+A");
    await page.keyboard.type("goodput >= 0% AND state = completed");
    await page.keyboard.press("Enter");
    await page.waitForFunction(
      (count) => document.querySelectorAll("tbody tr").length === count,
      given.runs,
    );
    await page.getByRole("link", { name: "Goodput" }).focus();
    await page.keyboard.press("Enter");
    await page.locator('th[aria-sort="descending"]').waitFor();
    await page.locator('[aria-busy="false"]').waitFor();
    const shares = (await values("td.goodput data")).map(Number);
    assert.deepEqual(
      shares,
      [...shares].sort((a, b) => b - a),
    );
    await page.locator("table.runs").getByRole("link", { name: run, exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.locator("h1.goodput data").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), "MAIN");
    assert.deepEqual(faults, []);
  });

  test("a filter that can't be read says where; one that finds nothing says so", async () => {
    await signIn();
    await page.goto(`${url}/runs?filter=${encodeURIComponent("goodput <")}`);
    await page.getByRole("alert").filter({ hasText: "column" }).waitFor();
    assert.equal(
      await page.getByRole("combobox", { name: "Filter runs" }).getAttribute("aria-invalid"),
      "true",
    );
    await page.goto(`${url}/runs?filter=nothing-is-called-so`);
    await page.getByText("No run of project default is like that.").waitFor();
    await page.goto(`${url}/runs?project=empty`);
    await page.getByText("headway ship --project empty").waitFor();
    await page.goto(`${url}/runs/no-such-run`);
    await page.getByRole("alert").filter({ hasText: 'no run "no-such-run"' }).waitFor();
  });

  /** A call as a program makes it. */
  async function call(method: string, request: object): Promise<Record<string, unknown>> {
    const answer = await fetch(`${url}/headway.v1.${method}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${given.token}`, "Content-Type": "application/json" },
      body: JSON.stringify(request),
    });
    assert.equal(answer.status, 200, await answer.clone().text());
    return (await answer.json()) as Record<string, unknown>;
  }

  test("a run that lives is followed", async () => {
    await signIn(given.viewer, `/runs/${given.live.run}?project=${given.live.project}`);
    const elapsed = page.locator("table.breakdown tfoot data");
    const before = Number(await elapsed.getAttribute("value"));
    await page.getByText("At risk now").waitFor();
    await page.waitForFunction((ns) => {
      const data = document.querySelector("table.breakdown tfoot data");
      return Number(data?.getAttribute("value")) > ns;
    }, before);
    await page.getByText(/^live · updated /).waitFor();
    assert.deepEqual(faults, []);
  });

  test("many runs: only those that can be seen are there; names of any kind", async () => {
    const names = [
      "<img src=x onerror=alert(1)>",
      "a/b?c#d%25",
      "..",
      "größe 2",
      '"quoted"',
      "a@b",
    ];
    const project = "many & more";
    const all = 600;
    const others = Array.from({ length: all - names.length }, (_, i) => `run-${i}`);
    for (const name of others) await call("RunService/CreateRun", { project, run: { name } });
    for (const name of names) await call("RunService/CreateRun", { project, run: { name } });
    await signIn();
    await page.locator("option", { hasText: project }).waitFor({ state: "attached" });
    await page.getByLabel("Project").selectOption(project);
    const table = page.locator("table.runs");
    await page.locator(`table.runs[aria-rowcount="${all + 1}"]`).waitFor();
    const rows = table.locator("tbody tr[aria-rowindex]");
    assert.ok((await rows.count()) < 80, `${await rows.count()} rows`);
    // To the end, past what had to be asked for first.
    await page.keyboard.press("End");
    const last = page.getByRole("link", { name: "run-0", exact: true });
    await page.waitForFunction(() => {
      scrollTo(0, document.documentElement.scrollHeight);
      return [...document.querySelectorAll("table.runs a")].some((a) => a.textContent === "run-0");
    });
    assert.ok((await rows.count()) < 80, `${await rows.count()} rows`);
    assert.equal(await rows.filter({ has: last }).getAttribute("aria-rowindex"), String(all + 1));
    await page.keyboard.press("Home");
    const coming = page.waitForEvent("download");
    await page.getByRole("button", { name: 'Save "Runs" as CSV' }).click();
    const saved = readFileSync(await (await coming).path(), "utf8")
      .trimEnd()
      .split("\r\n");
    assert.equal(saved.length, all + 1);
    assert.match(saved[0] ?? "", /^run,uid,group,state,goodput,elapsed_ns,lost_ns,/);
    await page.evaluate(() => scrollTo(0, 0));
    for (const name of names) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByText("No time has elapsed").waitFor();
      assert.equal((await page.locator(".crumbs").textContent())?.startsWith(project), true);
      await page.reload(); // the address alone leads there, too
      await page.getByText("No time has elapsed").waitFor();
      await page.getByRole("navigation", { name: "Where this is" }).getByRole("link").click();
      await page.getByRole("link", { name, exact: true }).waitFor();
    }
    assert.deepEqual(faults, []);
  });

  test("all runs together, which lost most, and a filter that is typed", async () => {
    await signIn(given.viewer);
    const together = page.getByRole("region", { name: "All runs together" });
    await together.getByText(`goodput of ${given.runs} runs`).waitFor();
    await page.getByRole("list", { name: "What lost most" }).getByRole("link").first().waitFor();
    await page.getByRole("button", { name: "state", exact: true }).click();
    await page.waitForURL(`${url}/runs?group=state`);
    const parts = page.getByRole("table", { name: "By state" });
    await parts.getByRole("link", { name: "completed" }).click();
    await page.waitForURL((at) => at.searchParams.get("filter") === 'state = "completed"');
    await page.locator("table.runs tbody tr").first().waitFor();
    await page.goto(`${url}/runs`);
    await together.waitFor();
    const box = page.getByRole("combobox", { name: "Filter runs" });
    await page.keyboard.press("/");
    await page.keyboard.type("sta");
    await page.getByRole("option", { name: /^state / }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    assert.equal(await box.inputValue(), "state ");
    await page.getByRole("option", { name: /^= is$/ }).click();
    await page.keyboard.type("comp");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    assert.equal(await box.inputValue(), "state = completed ");
    assert.deepEqual(await accessibilityFaults(page), []);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await page.waitForURL((at) => at.searchParams.get("filter") === "state = completed");
    assert.deepEqual(faults, []);
  });

  /** A timeline that shows what is there, as finely as it can. */
  async function timeline(): Promise<import("playwright-core").Locator> {
    const canvas = page.getByRole("application", { name: "Timeline" });
    await canvas.waitFor();
    await page.locator('canvas[data-sharp="true"]').waitFor();
    return canvas;
  }
  const shownNs = (): number => {
    const query = new URL(page.url()).searchParams;
    const at = (name: string): bigint => BigInt((query.get(name) ?? "@0").slice(1));
    return Number(at("to") - at("from"));
  };

  test("the timeline: from all of a run to an interval, and what that was", async () => {
    await signIn(given.viewer, `/runs/${run}`);
    await page.locator("figure.chart canvas").first().waitFor();
    await page.getByRole("link", { name: "Timeline", exact: true }).click();
    await page.waitForURL(`${url}/runs/${run}/timeline`);
    const canvas = await timeline();
    await picture("timeline");

    // By keys: to a disruption, closer, and what is there.
    await canvas.focus();
    await page.keyboard.press("+");
    await page.keyboard.press("]");
    for (let i = 0; i < 4; ++i) await page.keyboard.press("+");
    await page.waitForURL(/from=%40\d+&to=%40\d+/);
    const closer = shownNs();
    assert.ok(closer < report.elapsed_ns / 16, `${closer} of ${report.elapsed_ns}`);
    await timeline();
    await page.keyboard.press("Enter");
    const details = page.getByRole("region", { name: "What was chosen" });
    await details.waitFor();
    await picture("interval");
    // It is one of those that the command line lists; and its report is about nothing else.
    const link = details.getByRole("link", { name: "its report" });
    const query = new URL((await link.getAttribute("href")) ?? "", url).searchParams;
    const [begin, end] = [query.get("from")?.slice(1), query.get("to")?.slice(1)];
    const listed = given.intervals.find((one) => one.begin === begin && one.end === end);
    assert.ok(listed !== undefined, `${begin} to ${end}`);
    assert.ok((await details.textContent())?.includes(listed.label), listed.label);
    const records = details.getByRole("table", { name: "Records of that time" });
    await records.waitFor();
    const said = page.locator("#timeline-said");
    const first = await said.textContent();
    await page.keyboard.press("n");
    await page.waitForFunction(
      (text) => document.querySelector("#timeline-said")?.textContent !== text,
      first,
    );
    await page.keyboard.press("p");
    await page.waitForFunction(
      (text) => document.querySelector("#timeline-said")?.textContent === text,
      first,
    );
    await link.click();
    await page.locator("table.breakdown tfoot data").waitFor();
    const length = String(BigInt(end ?? 0) - BigInt(begin ?? 0));
    assert.deepEqual(await values("table.breakdown tfoot data"), [length]);
    // What was productive is told always.
    const times = await values("table.breakdown tbody td:nth-child(2) data");
    assert.deepEqual(
      times.filter((ns) => ns !== "0"),
      [length],
    );

    // The address holds the window, and the wheel and the pointer move it.
    await page.goBack();
    await timeline();
    assert.ok(Math.abs(shownNs() - closer) <= 1);
    const box = await page.getByRole("application").boundingBox();
    assert.ok(box !== null);
    const [x, y] = [box.x + box.width / 2, box.y + 20];
    await page.mouse.move(x, y);
    await page.mouse.wheel(0, -300);
    await page.waitForURL((at) => Number(at.searchParams.get("to")?.slice(1)) > 0);
    await page.waitForFunction((ns) => {
      const at = new URL(location.href).searchParams;
      const of = (name: string): bigint => BigInt((at.get(name) ?? "@0").slice(1));
      return Number(of("to") - of("from")) < ns * 0.8;
    }, closer);
    const before = page.url();
    await page.mouse.down();
    await page.mouse.move(x - 200, y, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction((address) => location.href !== address, before);
    await page.getByRole("application").dblclick();
    await page.waitForURL(`${url}/runs/${run}/timeline`);
    assert.deepEqual(faults, []);
  });

  test("the timeline of a run that lives grows", async () => {
    const { project, run: live } = given.live;
    await signIn(given.viewer, `/runs/${live}/timeline?project=${project}`);
    await timeline();
    const title = page.locator("h1#timeline data");
    const before = Number(await title.getAttribute("value"));
    await page.waitForFunction(
      (ns) => Number(document.querySelector("h1#timeline data")?.getAttribute("value")) > ns,
      before,
    );
    await timeline();
    assert.deepEqual(faults, []);
  });

  test("a link to a run is made, shows others what it was made of, and is ended", async () => {
    const { from, to } = given.window;
    await signIn(given.token, `/runs/${run}?${new URLSearchParams({ from, to }).toString()}`);
    await page.getByRole("button", { name: "Share" }).click();
    const dialog = page.getByRole("dialog", { name: `Links to ${run}` });
    await dialog.getByText("No link leads to it now.").waitFor();
    await dialog.getByLabel("A link that is good for").selectOption("1 day");
    await dialog.getByRole("button", { name: "Make it" }).click();
    const address = await dialog.getByLabel("The link").inputValue();
    assert.ok(address.startsWith(`${url}/share/hw_link_`), address);
    const rows = dialog.getByRole("table", { name: "Links that are good" }).locator("tbody tr");
    await rows.first().waitFor();
    assert.equal(await rows.count(), 1);
    await picture("share");
    assert.deepEqual(await accessibilityFaults(page), []);
    const { pathname } = new URL(address);
    assert.equal((await fetch(address)).status, 200);
    const report = await fetch(`${url}/headway.v1.RunService/GetReport`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${pathname.split("/").at(-1) ?? ""}`,
        "Content-Type": "application/json",
      },
      body: "{}",
    });
    assert.equal(((await report.json()) as { run: string }).run, run);

    const guest = await (await browser.newContext({ viewport: SMALL })).newPage();
    guest.setDefaultTimeout(30_000);
    const theirs = watch(guest, url);
    await guest.goto(address);
    const headline = guest.locator("h1.goodput data");
    await headline.waitFor();
    assert.equal(await headline.getAttribute("value"), String(given.window.goodput));
    assert.equal(await guest.title(), `${run} · headway`);
    const shown = new URL(guest.url());
    assert.match(shown.pathname, /^\/runs\/[0-9a-f]{32}$/);
    assert.equal(shown.searchParams.get("from"), from);
    for (const name of ["Share", "Sign out"]) {
      assert.equal(await guest.getByRole("button", { name, exact: true }).count(), 0);
    }
    await guest.locator("table.breakdown tfoot data").waitFor();
    assert.deepEqual(await accessibilityFaults(guest), []);
    await guest.reload();
    await headline.waitFor();
    await guest.getByRole("link", { name: "Timeline" }).click();
    await guest.getByRole("application").waitFor();
    assert.deepEqual(await accessibilityFaults(guest), []);
    // All else leads back, and whoever goes back finds no token in an address.
    await guest.getByRole("link", { name: "headway", exact: true }).click();
    await guest.waitForURL(`${url}/runs/${shown.pathname.split("/").at(-1) ?? ""}`);
    await headline.waitFor();
    assert.equal(await headline.getAttribute("value"), String(given.report.goodput));
    assert.deepEqual(theirs, []);

    await dialog.getByRole("button", { name: "Revoke" }).click();
    await dialog.getByText("No link leads to it now.").waitFor();
    await guest.goto(address);
    await guest.getByText(/link.*revoked/i).waitFor();
    assert.equal(guest.url(), `${url}/`);
    await guest.context().close();
    assert.equal((await fetch(address)).status, 410);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    const share = page.getByRole("button", { name: "Share" });
    assert.ok(await share.evaluate((button) => button === document.activeElement));
    assert.deepEqual(faults, []);
  });

  test("whoever may make no links is offered none", async () => {
    await signIn(given.viewer, `/runs/${run}`);
    await page.locator("h1.goodput data").waitFor();
    assert.equal(await page.getByRole("button", { name: "Share" }).count(), 0);
  });

  test("a token that is revoked meanwhile ends the session, and says so", async () => {
    const made = await call("TokenService/CreateToken", { role: "viewer" });
    const { id } = made["token"] as { id: string };
    await signIn(made["secret"] as string);
    await page.locator("tbody tr").first().waitFor();
    await call("TokenService/RevokeToken", { id });
    await page.locator("table.runs").getByRole("link", { name: run, exact: true }).click();
    await page.getByRole("alert").filter({ hasText: "no longer good" }).waitFor();
    await page.getByLabel("Token").fill(given.token);
    await page.keyboard.press("Enter");
    await page.locator("h1.goodput data").waitFor(); // where it was
  });

  test("a server that is away is told, and found again", async () => {
    await signIn();
    await page.locator("tbody tr").first().waitFor();
    await context.setOffline(true);
    await page.locator("table.runs").getByRole("link", { name: run, exact: true }).click();
    const alert = page.getByRole("alert").filter({ hasText: "can't be reached" });
    await alert.waitFor();
    await context.setOffline(false);
    await page.locator("h1.goodput data").waitFor();
    assert.equal(await alert.count(), 0);
  });

  test("axe has nothing against it, light and dark, wide and narrow", async () => {
    await page.goto(url);
    await page.getByLabel("Token").waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
    await signIn();
    for (const address of ["/runs", `/runs/${run}`, `/runs/${run}/timeline`]) {
      for (const colorScheme of ["light", "dark"] as const) {
        for (const width of [1300, 390]) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize({ width, height: 900 });
          await page.goto(url + address);
          await page.locator("tbody tr, canvas[data-sharp=true]").first().waitFor();
          const where = `${address}, ${colorScheme}, ${width}`;
          assert.deepEqual(await accessibilityFaults(page), [], where);
          // Nothing is wider than the screen; tables scroll by themselves.
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `${where}: ${wide}`);
          const [, , ofRun, part = "run"] = address.split("/");
          await picture(`${ofRun === undefined ? "runs" : part}-${colorScheme}-${width}`);
        }
      }
    }
    assert.deepEqual(faults, []);
  });
});
