// Links to a run, for people who have no token: made, listed, and ended here.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Link } from "../gen/headway/v1/link_service_pb.js";
import { useAnswer } from "./answer.ts";
import { HOUR_NS, toMillis } from "./format.ts";
import { Failure, Scroll, Skeleton, Time } from "./parts.tsx";
import { explain, links, may, runs } from "./session.ts";

const LIFETIMES: [label: string, hours: bigint][] = [
  ["1 hour", 1n],
  ["1 day", 24n],
  ["7 days", 168n],
  ["30 days", 720n],
  ["90 days", 2160n],
];
const USUAL = 168n;
const PAGES_MOST = 20;

/** The button, and what it opens; nothing for whoever may do nothing with links. */
export function Share(props: {
  project: string;
  run: string;
  /** What it shows first, as fragmentOf. */
  view: string;
}): JSX.Element | null {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  if (!may("links.create") && !may("links.list")) return null;
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <>
      <button type="button" class="quiet" ref={button} onClick={() => setOpen(true)}>
        Share
      </button>
      {open && <ShareDialog {...props} onClose={close} />}
    </>
  );
}

function ShareDialog(props: {
  project: string;
  run: string;
  view: string;
  onClose: () => void;
}): JSX.Element {
  const { project, run, view, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [hours, setHours] = useState(USUAL);
  const [made, setMade] = useState<string>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [round, setRound] = useState(0);
  useEffect(() => dialog.current?.showModal(), []);

  const change = async (what: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await what();
    } catch (thrown) {
      setError(thrown);
    }
    setBusy(false);
    setRound((count) => count + 1);
  };
  const make = (event: Event): void => {
    event.preventDefault();
    void change(async () => {
      const { path } = await links.createLink({ project, run, view, lifetimeNs: hours * HOUR_NS });
      setMade(location.origin + path);
    });
  };
  return (
    <dialog ref={dialog} aria-labelledby="share" onClose={onClose}>
      <div class="spread">
        <h2 id="share">Links to {run}</h2>
        <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      {may("links.create") && (
        <form onSubmit={make}>
          <label for="lifetime">A link that is good for</label>
          <select
            id="lifetime"
            value={String(hours)}
            onChange={(event) => setHours(BigInt(event.currentTarget.value))}
          >
            {LIFETIMES.map(([label, value]) => (
              <option key={label} value={String(value)}>
                {label}
              </option>
            ))}
          </select>
          <button type="submit" class="main" disabled={busy}>
            Make it
          </button>
        </form>
      )}
      {made !== undefined && <Made address={made} />}
      <p class="muted small">
        Whoever has it reads this run and nothing else: no labels, configurations, events, or what
        was written to standard error. It is shown this once.
      </p>
      {error !== undefined && (
        <p role="alert" class="error">
          {explain(error)}
        </p>
      )}
      {may("links.list") && (
        <Links
          {...{ project, run, round, busy }}
          onRevoke={(id) => void change(async () => void (await links.revokeLink({ id })))}
        />
      )}
    </dialog>
  );
}

function Made({ address }: { address: string }): JSX.Element {
  const box = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    setCopied(false);
    box.current?.select();
  }, [address]);
  const copy = async (): Promise<void> => {
    box.current?.select();
    try {
      await navigator.clipboard.writeText(address);
      setCopied(true);
    } catch {
      // Over plain http from another machine there is no clipboard: it is selected to be copied.
    }
  };
  return (
    <div class="made">
      <input ref={box} readOnly aria-label="The link" value={address} />
      <button type="button" onClick={() => void copy()}>
        {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}

/** Those of this run that are still good. */
function Links(props: {
  project: string;
  run: string;
  round: number;
  busy: boolean;
  onRevoke: (id: string) => void;
}): JSX.Element {
  const { project, run, round, busy, onRevoke } = props;
  const { value, error } = useAnswer(
    JSON.stringify(["links", project, run, round]),
    async (signal): Promise<Link[]> => {
      const { uid } = await runs.getRun({ project, run }, { signal });
      const found: Link[] = [];
      let pageToken = "";
      for (let page = 0; page < PAGES_MOST; ++page) {
        const answer = await links.listLinks({ pageSize: 1000, pageToken }, { signal });
        found.push(...answer.links.filter((link) => link.runUid === uid));
        pageToken = answer.nextPageToken;
        if (pageToken === "") break;
      }
      const now = Date.now();
      return found.filter((link) => link.revoked === 0n && toMillis(link.expires) > now);
    },
    () => undefined,
  );
  if (value === undefined) {
    return error === undefined ? <Skeleton rows={2} /> : <Failure error={error} />;
  }
  if (value.length === 0) return <p class="muted">No link leads to it now.</p>;
  return (
    <Scroll label="Links that are good">
      <table aria-label="Links that are good">
        <thead>
          <tr>
            <th scope="col">Until</th>
            <th scope="col">Made by</th>
            <th scope="col">Used</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {value.map((link) => (
            <tr key={link.id}>
              <th scope="row">
                <Time ns={link.expires} />
              </th>
              <td>{link.creator}</td>
              <td>{link.used === 0n ? "not yet" : <Time ns={link.used} relative />}</td>
              <td>
                {may("links.revoke") && (
                  <button
                    type="button"
                    class="quiet"
                    disabled={busy}
                    onClick={() => onRevoke(link.id)}
                  >
                    Revoke
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
