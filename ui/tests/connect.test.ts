// Connect's own clients, as npm has them, against a server that runs. tests/e2e/test_connect.py
// starts it and says in HEADWAY_TEST what is there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { create, equals, toBinary } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createClient,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import {
  compressionGzip,
  createConnectTransport as createNodeTransport,
} from "@connectrpc/connect-node";
import { createConnectTransport as createWebTransport } from "@connectrpc/connect-web";
import { ConfigService } from "../gen/headway/v1/config_service_pb.js";
import { JournalService, WriterState } from "../gen/headway/v1/journal_service_pb.js";
import { LinkService } from "../gen/headway/v1/link_service_pb.js";
import { OperationService } from "../gen/headway/v1/operation_service_pb.js";
import { ProjectService } from "../gen/headway/v1/project_service_pb.js";
import { RecordService } from "../gen/headway/v1/record_service_pb.js";
import { Category, type Report, ReportSchema, RunState } from "../gen/headway/v1/report_pb.js";
import { RoleService } from "../gen/headway/v1/role_service_pb.js";
import { RunPhase, RunSchema, RunService } from "../gen/headway/v1/run_service_pb.js";
import { SeriesAxis, SeriesService } from "../gen/headway/v1/series_service_pb.js";
import { ServerService } from "../gen/headway/v1/server_service_pb.js";
import { TokenService } from "../gen/headway/v1/token_service_pb.js";

interface Given {
  url: string;
  token: string;
  run: string; // has ended
  /** Of `headway goodput --json`, integers as strings. */
  report: { asOf: string; start: string; elapsedNs: string; categories: [string, string][] };
  journal: string; // one of its files
}
const given = JSON.parse(readFileSync(process.env["HEADWAY_TEST"] ?? "", "utf8")) as Given;
const { url, run } = given;

function withToken(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set("Authorization", `Bearer ${token}`);
    return next(request);
  };
}

const MIN_INT64 = -(2n ** 63n);
const HEADER_BYTES = 4096;
const SLOT_BYTES = 32;

type Make = (token: string) => Transport;
const base = { baseUrl: url };
const ways: [string, Make][] = [];
for (const binary of [true, false]) {
  const form = { ...base, useBinaryFormat: binary };
  const name = binary ? "binary" : "JSON";
  const node = { ...form, httpVersion: "1.1" as const };
  ways.push(
    [
      `connect-node, ${name}`,
      (t) => createNodeTransport({ ...node, interceptors: [withToken(t)] }),
    ],
    [
      `connect-node, ${name}, gzip`,
      (t) =>
        createNodeTransport({
          ...node,
          sendCompression: compressionGzip,
          compressMinBytes: 0,
          interceptors: [withToken(t)],
        }),
    ],
    [
      `connect-web, ${name}`,
      (t) => createWebTransport({ ...form, useHttpGet: true, interceptors: [withToken(t)] }),
    ],
  );
}

async function failure(call: Promise<unknown>): Promise<ConnectError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof ConnectError, String(error));
    return error;
  }
  throw new Error("it was answered");
}

function check(report: Report): void {
  assert.equal(report.state, RunState.COMPLETED);
  assert.equal(report.start, BigInt(given.report.start));
  assert.ok(report.start > BigInt(Number.MAX_SAFE_INTEGER));
  assert.equal(report.elapsedNs, BigInt(given.report.elapsedNs));
  assert.deepEqual(
    report.categories.map((time) => [Category[time.category].toLowerCase(), String(time.ns)]),
    given.report.categories,
  );
  assert.equal(
    report.categories.reduce((sum, time) => sum + time.ns, 0n),
    report.elapsedNs,
  );
}

ways.forEach(([name, make], number) => {
  describe(name, { concurrency: false }, () => {
    const transport = make(given.token);
    const runs = createClient(RunService, transport);
    const tokens = createClient(TokenService, transport);
    const project = `p${number}`;

    test("where the time went", async () => {
      const time = { asOf: given.report.asOf };
      check(await runs.getReport({ run, time }));
      const other = ways[(number + 3) % ways.length]?.[1](given.token);
      assert.ok(other);
      const theirs = await createClient(RunService, other).getReport({ run, time });
      assert.ok(equals(ReportSchema, await runs.getReport({ run, time }), theirs));
      const window = await runs.getReport({ run, time: { from: "+10ms", to: "+15ms" } });
      assert.equal(window.elapsedNs, 5_000_000n);
      assert.equal((window.window?.end ?? 0n) - (window.window?.begin ?? 0n), 5_000_000n);
    });

    test("intervals and steps, a page at a time", async () => {
      const steps: bigint[] = [];
      let pageToken = "";
      do {
        const page = await runs.listSteps({ run, pageSize: 7, pageToken });
        steps.push(...page.steps.map((step) => step.step));
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
      assert.deepEqual(
        steps,
        Array.from({ length: steps.length }, (_, i) => BigInt(i)),
      );
      assert.ok(steps.length >= 100);
      let encoding: string | null = null;
      const all = await runs.listIntervals(
        { run, pageSize: 1000 },
        { onHeader: (header) => (encoding = header.get("content-encoding")) },
      );
      assert.equal(encoding, "gzip");
      for (const [i, interval] of all.intervals.entries()) {
        assert.equal(interval.begin, i === 0 ? all.intervals[0]?.begin : all.intervals[i - 1]?.end);
      }
    });

    test("runs: made, listed, said things of, deleted", async () => {
      const ask = { project, requestId: "one", run: { name: "r", labels: { team: "Wörld" } } };
      const made = await runs.createRun(ask);
      assert.ok(made.run);
      assert.equal(made.existed, false);
      assert.equal((await runs.createRun(ask)).existed, true);
      const uid = made.run.uid;
      const changed = await runs.updateRun({
        project,
        run: uid,
        values: { phase: RunPhase.QUEUED, systemConfigs: { gpu: "8" } },
      });
      assert.equal(changed.phase, RunPhase.QUEUED);
      assert.deepEqual(changed.labels, { team: "Wörld" });
      assert.notEqual(changed.etag, made.run.etag);
      const list = await runs.listRuns({ project, filter: 'labels.team = "Wörld"' });
      assert.deepEqual(
        list.runs.map((one) => one.uid),
        [uid],
      );
      assert.ok(
        equals(RunSchema, await runs.getRun({ project, run: uid }), list.runs[0] ?? made.run),
      );
      const stale = runs.updateRun({ project, run: uid, values: { group: "g" }, etag: "no" });
      assert.equal((await failure(stale)).code, Code.Aborted);
      const gone = await runs.deleteRun({ project, run: uid });
      assert.ok((gone.run?.deleteTime ?? 0n) > 0n);
      assert.equal((await runs.undeleteRun({ project, run: uid })).deleteTime, 0n);
      const { operation } = await runs.deleteRun({ project, run: uid, force: true });
      const operations = createClient(OperationService, transport);
      const found = await operations.getOperation({ project, id: operation });
      assert.equal(found.target, uid);
      assert.equal((await operations.listOperations({ project })).operations.length, 1);
    });

    test("metrics: all doubles, all integers", async () => {
      await runs.createRun({ project, run: { name: "points" } });
      const series = createClient(SeriesService, transport);
      const times = [1n, 2n, 3n, 4n].map((i) => 1_700_000_000_000_000_000n + i);
      const values = [NaN, Infinity, -0.1, 5e-324];
      const frames = [{ times, columns: [{ name: "loss", values }] }];
      const request = { project, run: "points", source: "test", sequence: 0n, frames };
      assert.equal((await series.writePoints(request)).nextSequence, 1n);
      assert.equal((await series.writePoints(request)).nextSequence, 1n);
      const listed = await series.listSeries({ project, run: "points" });
      assert.equal(listed.series[0]?.summary?.count, 4n);
      assert.equal(listed.series[0].summary.notFiniteCount, 2n);
      const { lines } = await series.querySeries({
        project,
        runs: ["points"],
        axis: SeriesAxis.TIME,
      });
      assert.deepEqual(lines[0]?.values, values);
      assert.deepEqual(lines[0]?.times, times);
      assert.deepEqual(lines[0]?.steps, [MIN_INT64, MIN_INT64, MIN_INT64, MIN_INT64]);
    });

    test("records and configurations", async () => {
      const records = createClient(RecordService, transport);
      const page = await records.listRecords({ run, pageSize: 50 });
      assert.ok(page.journals.some((one) => one.records.length > 0));
      assert.ok(page.names.every((one) => one instanceof Uint8Array));
      const configs = createClient(ConfigService, transport);
      const config = await configs.getConfig({ run });
      assert.ok(config.processes.length > 0);
    });

    test("a journal is taken in, byte for byte", async () => {
      const bytes = new Uint8Array(readFileSync(given.journal));
      const journals = createClient(JournalService, transport);
      const uid = new Uint8Array(16).fill(number + 1);
      const unknown = await journals.appendJournals({ pieces: [{ uid, firstSlot: 0n }] });
      assert.deepEqual(unknown.positions[0]?.uid, uid);
      assert.equal(unknown.positions[0]?.headerNeeded, true);
      const known = await journals.appendJournals({
        pieces: [
          {
            uid: uidOf(bytes),
            header: bytes.subarray(0, HEADER_BYTES),
            firstSlot: 0n,
            slots: bytes.subarray(HEADER_BYTES, HEADER_BYTES + SLOT_BYTES),
            writer: WriterState.UNSPECIFIED,
          },
        ],
      });
      assert.equal(known.positions[0]?.headerNeeded, false);
      assert.ok(known.positions[0].slots > 0n);
    });

    test("projects, tokens, roles and links", async () => {
      const projects = createClient(ProjectService, transport);
      const year = 365n * 86_400_000_000_000n;
      const kept = await projects.putProject({
        project,
        retentionNs: year,
        quotaBytes: 2n ** 53n + 1n,
      });
      assert.deepEqual([kept.retentionNs, kept.quotaBytes], [year, 2n ** 53n + 1n]);
      const all = await projects.listProjects({});
      assert.ok(all.projects.some((one) => one.name === project));
      const roles = createClient(RoleService, transport);
      assert.ok((await roles.listRoles({})).roles.some((role) => role.name === "viewer"));
      assert.equal(
        (await roles.putRole({ name: "looker", permissions: ["runs.get"] })).builtIn,
        false,
      );
      const created = await tokens.createToken({ name: "t", role: "looker", lifetimeNs: year });
      assert.ok(created.secret.length > 20);
      assert.equal(created.token?.role, "looker");
      const revoked = await tokens.revokeToken({ id: created.token.id });
      assert.ok((revoked.token?.revoked ?? 0n) > 0n);
      assert.ok((await tokens.listAuditEvents({ pageSize: 5 })).events.length > 0);
      await roles.deleteRole({ name: "looker" });
      const links = createClient(LinkService, transport);
      const link = await links.createLink({ run });
      const shared = createClient(RunService, make(link.secret));
      check(await shared.getReport({ time: { asOf: given.report.asOf } }));
      assert.equal((await failure(shared.listRuns({}))).code, Code.PermissionDenied);
      await links.revokeLink({ id: link.link?.id ?? "" });
      assert.equal((await failure(shared.getReport({}))).code, Code.Unauthenticated);
    });

    test("who asks, and who may not", async () => {
      const me = await createClient(ServerService, transport).getServer({});
      assert.equal(me.caller?.role, "admin");
      assert.ok(Math.abs(Number(me.time) / 1e6 - Date.now()) < 60_000);
      for (const wrong of ["", "no", `${given.token}x`]) {
        const refused = await failure(createClient(RunService, make(wrong)).getReport({ run }));
        assert.equal(refused.code, Code.Unauthenticated, wrong);
      }
      const { secret } = await tokens.createToken({ role: "writer" });
      const writer = createClient(RunService, make(secret));
      const refused = await failure(writer.getReport({ run }));
      assert.equal(refused.code, Code.PermissionDenied);
      assert.match(refused.rawMessage, /the role writer has no permission runs.get/);
    });

    test("errors have a code, a message and no details", async () => {
      const missing = await failure(runs.getReport({ run: "nöne" }));
      assert.equal(missing.code, Code.NotFound);
      assert.match(missing.rawMessage, /no run "nöne" in project "default"/);
      assert.deepEqual(missing.details, []);
      const bad = await failure(runs.getReport({ run, time: { asOf: "tomorrow" } }));
      assert.equal(bad.code, Code.InvalidArgument);
      const filter = await failure(runs.listRuns({ filter: "goodput <" }));
      assert.equal(filter.code, Code.InvalidArgument);
      const getRun = RunService.method.getRun;
      const nope = { ...getRun, name: "Nope" } as typeof getRun;
      const unary = transport.unary(nope, undefined, undefined, undefined, create(getRun.input));
      assert.equal((await failure(unary)).code, Code.Unimplemented);
    });

    test("how long it may take, and that nobody waits any more", async () => {
      const report = await runs.getReport({ run }, { timeoutMs: 60_000 });
      assert.equal(report.state, RunState.COMPLETED);
      const gone = AbortSignal.abort();
      assert.equal((await failure(runs.getReport({ run }, { signal: gone }))).code, Code.Canceled);
    });
  });
});

test("a method is a POST, whatever the client would like", async () => {
  const asked: string[] = [];
  const see: Interceptor = (next) => (request) => {
    asked.push(request.requestMethod);
    return next(request);
  };
  const transport = createWebTransport({
    ...base,
    useHttpGet: true,
    interceptors: [withToken(given.token), see],
  });
  await createClient(ServerService, transport).getServer({});
  assert.deepEqual(asked, ["POST"]);
});

test("a body that no longer is what was compressed is refused", async () => {
  const body = toBinary(RunSchema, create(RunSchema, { name: "r" }));
  const answer = await fetch(`${url}/headway.v1.RunService/GetRun`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${given.token}`,
      "Content-Type": "application/proto",
      "Content-Encoding": "gzip",
      "Connect-Protocol-Version": "1",
    },
    body: new Uint8Array(body),
  });
  assert.equal(answer.status, 400);
  const { code } = (await answer.json()) as { code: string };
  assert.equal(code, "invalid_argument");
});

function uidOf(journal: Uint8Array): Uint8Array {
  return journal.subarray(32, 48);
}
