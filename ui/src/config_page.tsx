// What the run was made of: its software, its system and what its program was told; and how that
// differs from another attempt, or another run.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { GetConfigResponse } from "../gen/headway/v1/config_service_pb.js";
import { go, type Look, runAddress, type TimeQuery } from "./address.ts";
import { useAnswer } from "./answer.ts";
import { attemptsOf, type Change, classesOf, compare, type Said, sideOf } from "./configs.ts";
import { count } from "./format.ts";
import { Choice, Failure, isLive, Scroll, Skeleton, useTitle } from "./parts.tsx";
import { useReport } from "./report.ts";
import { RunFrame } from "./run_frame.tsx";
import { configs } from "./session.ts";

const AGAIN_MS = 30_000;
const ROWS_MOST = 2_000;

interface PageProps {
  project: string;
  run: string;
  time: TimeQuery;
  look: Look;
}

export function ConfigPage(props: PageProps): JSX.Element {
  const { project, run, time, look } = props;
  const { value: report, live } = useReport(project, run, time);
  const name = report?.run;
  useTitle(`${name ?? run} · configs`);
  const again = report !== undefined && isLive(report.state) ? AGAIN_MS : undefined;
  const { value, error } = useAnswer(
    JSON.stringify(["config", project, run]),
    (signal) => configs.getConfig({ project, run }, { signal }),
    () => again,
  );
  return (
    <RunFrame {...{ project, run, name, time, look, live }} part="configs">
      <h1 class="unseen">Configs of {name ?? run}</h1>
      <Failure error={error} />
      {value === undefined ? (
        error === undefined && <Skeleton rows={8} />
      ) : (
        <Shown {...props} answer={value} />
      )}
    </RunFrame>
  );
}

const attemptName = (attempt: bigint | undefined): string =>
  attempt === undefined ? "no attempt" : `attempt ${attempt}`;
const attemptKey = (attempt: bigint | undefined): string => String(attempt ?? "none");

function Shown(props: PageProps & { answer: GetConfigResponse }): JSX.Element {
  const { project, run, time, look, answer } = props;
  const other = useRef<HTMLInputElement>(null);
  const classes = classesOf(answer);
  const kind = classes.find((one) => one === look.kind) ?? classes[0];
  const show = (more: Look): void => {
    const next = { ...look, ...more };
    for (const key of Object.keys(next) as (keyof Look)[]) if (next[key] === "") delete next[key];
    go(runAddress(project, run, time, "configs", next), { replace: true });
  };
  const against = look.against ?? "";
  const otherRun = against.startsWith("run:") ? against.slice(4) : undefined;
  const compared = useAnswer(
    JSON.stringify(["config", project, otherRun ?? null]),
    async (signal) =>
      otherRun === undefined
        ? undefined
        : await configs.getConfig({ project, run: otherRun }, { signal }),
    () => undefined,
  );
  if (kind === undefined) {
    return (
      <section>
        <p class="empty">
          Nothing is said of this run's configuration:{" "}
          <code>
            run.config({"{"}...{"}"})
          </code>{" "}
          keeps what a program was told, and headway adds the software and the system by itself.
        </p>
      </section>
    );
  }
  const attempts = attemptsOf(answer, kind);
  const attempt = attempts.find((one) => attemptKey(one) === look.attempt) ?? attempts.at(-1);
  const left = sideOf(answer, kind, attempt);
  const right = ((): ReturnType<typeof sideOf> | undefined => {
    if (otherRun !== undefined) {
      const there = compared.value;
      return there && sideOf(there, kind, attemptsOf(there, kind).at(-1));
    }
    const chosen = attempts.find((one) => `attempt:${attemptKey(one)}` === against);
    return against.startsWith("attempt:") ? sideOf(answer, kind, chosen) : undefined;
  })();
  // What is compared with comes first: from there to here.
  const rows = right === undefined ? compare(left, left) : compare(right, left);
  const find = (look.find ?? "").toLowerCase();
  const found = rows.filter(
    (row) =>
      (right === undefined || look.show === "all" || row.change !== "same") &&
      (find === "" ||
        row.path.toLowerCase().includes(find) ||
        [...row.left, ...row.right].some(({ value }) => value?.toLowerCase().includes(find))),
  );
  return (
    <section>
      <div class="controls">
        <Choice
          label="Of"
          choices={classes.map((one) => [one, one])}
          chosen={kind}
          onChoose={(chosen) => show({ kind: chosen, attempt: "" })}
        />
        {attempts.length > 1 && (
          <label>
            <span class="muted small">In</span>{" "}
            <select
              value={attemptKey(attempt)}
              onChange={(event) => show({ attempt: event.currentTarget.value })}
            >
              {attempts.map((one) => (
                <option key={attemptKey(one)} value={attemptKey(one)}>
                  {attemptName(one)}
                </option>
              ))}
            </select>
          </label>
        )}
        {attempts.length > 1 && (
          <label>
            <span class="muted small">Compared with</span>{" "}
            <select
              value={otherRun === undefined ? against : ""}
              onChange={(event) => show({ against: event.currentTarget.value })}
            >
              <option value="">nothing</option>
              {attempts
                .filter((one) => one !== attempt)
                .map((one) => (
                  <option key={attemptKey(one)} value={`attempt:${attemptKey(one)}`}>
                    {attemptName(one)}
                  </option>
                ))}
            </select>
          </label>
        )}
        <form
          class="custom"
          onSubmit={(event) => {
            event.preventDefault();
            const name = other.current?.value.trim() ?? "";
            show({ against: name === "" ? "" : `run:${name}` });
          }}
        >
          <input
            ref={other}
            aria-label="Compare with another run"
            placeholder="Compare with a run"
            defaultValue={otherRun ?? ""}
          />
        </form>
        <input
          type="search"
          aria-label="Find in paths and values"
          placeholder="Find"
          defaultValue={look.find ?? ""}
          onInput={(event) => show({ find: event.currentTarget.value })}
        />
        {right !== undefined && (
          <Choice
            label="Show"
            choices={[
              ["", "what differs"],
              ["all", "all"],
            ]}
            chosen={look.show ?? ""}
            onChoose={(chosen) => show({ show: chosen })}
          />
        )}
      </div>
      <Failure error={otherRun === undefined ? undefined : compared.error} />
      {found.length === 0 ? (
        <p class="empty">
          {right !== undefined && find === ""
            ? "Nothing differs."
            : `Nothing has “${look.find ?? ""}” in its path or value.`}
        </p>
      ) : (
        <Scroll label={`${kind} configuration`}>
          <table class="configs">
            <thead>
              <tr>
                <th scope="col">Path</th>
                {right !== undefined && (
                  <th scope="col">{otherRun ?? against.replace("attempt:", "attempt ")}</th>
                )}
                <th scope="col">
                  {right === undefined ? "Value" : `${answer.run}, ${attemptName(attempt)}`}
                </th>
              </tr>
            </thead>
            <tbody>
              {found.slice(0, ROWS_MOST).map((row) => (
                <tr key={row.path} class={right === undefined ? "" : row.change}>
                  <th scope="row">
                    {right !== undefined && <Sign change={row.change} />}
                    <code>{row.path}</code>
                  </th>
                  {right !== undefined && <Values said={row.left} />}
                  <Values said={row.right} />
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {found.length > ROWS_MOST && (
        <p class="muted small">
          The first {count(ROWS_MOST)} of {count(found.length)}; <code>headway config</code> has
          all.
        </p>
      )}
      {answer.problems.length > 0 && (
        <>
          <h2>What could not be read</h2>
          <ul class="notes">
            {answer.problems.slice(0, 20).map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

const SIGNS: Record<Change, [sign: string, about: string]> = {
  same: [" ", "the same"],
  changed: ["~", "changed"],
  added: ["+", "added"],
  removed: ["-", "removed"],
};

function Sign({ change }: { change: Change }): JSX.Element {
  const [sign, about] = SIGNS[change];
  return (
    <span class="sign" role="img" aria-label={about} title={about}>
      {sign}
    </span>
  );
}

function Values({ said }: { said: readonly Said[] }): JSX.Element {
  return (
    <td class="said">
      {said.map(({ value, who }) => (
        <div key={`${value} ${who}`}>
          {value === undefined ? <span class="muted">not set</span> : <code>{value}</code>}
          {said.length > 1 && <span class="muted small"> {who}</span>}
        </div>
      ))}
    </td>
  );
}
