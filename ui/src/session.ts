// Who looks: the token, which is kept for this tab only and never stands in an address.
import { signal } from "@preact/signals";
import { capital } from "./format.ts";
import { go, linkInAddress, sharedAddress } from "./address.ts";
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { ConfigService } from "../gen/headway/v1/config_service_pb.js";
import { EventService } from "../gen/headway/v1/event_service_pb.js";
import { LinkService } from "../gen/headway/v1/link_service_pb.js";
import { ProfileService } from "../gen/headway/v1/profile_service_pb.js";
import { ProjectService } from "../gen/headway/v1/project_service_pb.js";
import { RecordService } from "../gen/headway/v1/record_service_pb.js";
import { RunService } from "../gen/headway/v1/run_service_pb.js";
import { SeriesService } from "../gen/headway/v1/series_service_pb.js";
import { type ServerCaller, ServerService } from "../gen/headway/v1/server_service_pb.js";
import { ViewService } from "../gen/headway/v1/view_service_pb.js";

/** The run that a link leads to, for whoever has that and no token. */
export interface Shared {
  project: string;
  run: string; // its uid
}

export type Session =
  | { state: "asking" }
  | { state: "in"; caller: Caller; version: string; shared?: Shared }
  | { state: "out"; why: string };

export type Caller = Pick<ServerCaller, "name" | "role" | "project" | "permissions">;

export const session = signal<Session>({ state: "asking" });

const KEY = "headway.token";
const LINK = /^hw_link_/;
let token = sessionStorage.getItem(KEY) ?? "";

function keep(value: string): void {
  token = value;
  if (value === "") sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, value);
}

/** What says who asks, for requests that are no calls. */
export const authorization = (): Record<string, string> =>
  token === "" ? {} : { Authorization: `Bearer ${token}` };

const authorize: Interceptor = (next) => async (request) => {
  if (token !== "") request.header.set("Authorization", `Bearer ${token}`);
  try {
    return await next(request);
  } catch (error) {
    const failed = ConnectError.from(error);
    if (failed.code === Code.Unauthenticated && session.value.state === "in") {
      const what = LINK.test(token) ? "link" : "token";
      signOut(`The ${what} is no longer good: it has expired, or somebody revoked it.`);
    }
    throw failed;
  }
};

const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [authorize],
});

export const runs = createClient(RunService, transport);
export const configs = createClient(ConfigService, transport);
export const events = createClient(EventService, transport);
export const profiles = createClient(ProfileService, transport);
export const links = createClient(LinkService, transport);
export const records = createClient(RecordService, transport);
export const series = createClient(SeriesService, transport);
export const views = createClient(ViewService, transport);
export const projects = createClient(ProjectService, transport);
const server = createClient(ServerService, transport);

/** Whether what was thrown says that the server can't be reached, or can't answer now. */
export function isAway(error: unknown): boolean {
  if (error === undefined) return false;
  const { cause, code } = ConnectError.from(error);
  return cause instanceof TypeError || code === Code.Unavailable;
}

/** A sentence for people about what a call threw. */
export function explain(error: unknown): string {
  const { cause, rawMessage } = ConnectError.from(error);
  return cause instanceof TypeError ? "The server can't be reached." : capital(rawMessage);
}

async function enter(): Promise<void> {
  if (LINK.test(token)) {
    const { project, uid } = await runs.getRun({}); // which it leads to
    const caller = { name: "a link", role: "", project, permissions: [] };
    session.value = { state: "in", caller, version: "", shared: { project, run: uid } };
    return;
  }
  const { caller, version } = await server.getServer({});
  if (caller === undefined) throw new ConnectError("the server does not say who asks");
  session.value = { state: "in", caller, version };
}

/** Finds out whether a token is needed, and whether the one of this tab is still good. */
export async function start(): Promise<void> {
  const link = linkInAddress();
  try {
    if (link !== undefined) {
      token = link;
      await enter();
      const { shared } = session.value as { shared: Shared };
      go(sharedAddress(shared.project, shared.run, location.hash.slice(1)), { replace: true });
      keep(link);
      return;
    }
    if (token === "") {
      const health = await fetch("/healthz", { method: "HEAD" });
      if (health.headers.has("WWW-Authenticate")) {
        session.value = { state: "out", why: "" };
        return;
      }
    }
    await enter();
  } catch (error) {
    const failed = ConnectError.from(error);
    if (failed.code === Code.Unauthenticated) {
      keep("");
      if (link !== undefined) go("/", { replace: true }); // it stays in no history
    }
    session.value = { state: "out", why: explain(failed) };
  }
}

/** Throws what is wrong with the token. */
export async function signIn(value: string): Promise<void> {
  const before = token;
  token = value;
  try {
    await enter();
  } catch (error) {
    token = before;
    throw error;
  }
  keep(value);
}

export function signOut(why = ""): void {
  keep("");
  session.value = { state: "out", why };
}

/** The run that a link leads to, for whoever looks by one. */
export function sharedRun(): Shared | undefined {
  const now = session.value;
  return now.state === "in" ? now.shared : undefined;
}

/** Whether who looks may do that, such as "projects.list". */
export function may(permission: string): boolean {
  const now = session.value;
  return now.state === "in" && now.caller.permissions.includes(permission);
}
