import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { go, runAddress, runsAddress, type View, view } from "./address.ts";
import { later } from "./later.tsx";
import { RunPage } from "./run_page.tsx";
import { RunsPage } from "./runs_page.tsx";
import { session, type Shared, signOut } from "./session.ts";
import { SignIn } from "./sign_in.tsx";
import { ThemeButton } from "./theme.tsx";
import { TimelinePage } from "./timeline_page.tsx";

const ComparePage = later(async () => (await import("./compare_page.tsx")).ComparePage);
const ConfigPage = later(async () => (await import("./config_page.tsx")).ConfigPage);
const EventsPage = later(async () => (await import("./events_page.tsx")).EventsPage);
const MetricsPage = later(async () => (await import("./metrics_page.tsx")).MetricsPage);
const ProfilesPage = later(async () => (await import("./profiles_page.tsx")).ProfilesPage);
const StepsPage = later(async () => (await import("./steps_page.tsx")).StepsPage);

export function App(): JSX.Element {
  const now = session.value;
  if (now.state === "asking") return <Frame />;
  if (now.state === "out") {
    return (
      <Frame>
        <SignIn why={now.why} />
      </Frame>
    );
  }
  const { name, role, project } = now.caller;
  if (now.shared !== undefined) {
    return (
      <Frame guest>
        <Shown only={project} shared={now.shared} />
      </Frame>
    );
  }
  return (
    <Frame
      who={`${name === role ? name : `${name} · ${role}`}${project === "" ? "" : ` of ${project}`}`}
    >
      <Shown only={project} />
      <footer class="muted small">
        headway {now.version} · <a href="/licenses.md">licences</a>
      </footer>
    </Frame>
  );
}

function Shown(props: { only: string; shared?: Shared }): JSX.Element | null {
  const { only, shared } = props;
  const shown = view.value;
  // Whoever looks by a link is led back to its run, for all else is not theirs.
  const start: boolean =
    shown.page === "start" ||
    (shared !== undefined && shown.page !== "run" && shown.page !== "nowhere");
  useEffect(() => {
    if (!start) return;
    const theirs = shared && runAddress(shared.project, shared.run);
    go(theirs ?? runsAddress(only || "default"), { replace: true });
  }, [start, only, shared]);
  // Whoever listens to the page rather than look at it goes on with the new view.
  const place =
    shown.page === "run" ? `run ${shown.project} ${shown.run} ${shown.part}` : shown.page;
  const before = useRef(place);
  useEffect(() => {
    if (before.current !== place && before.current !== "start") {
      document.querySelector("main")?.focus();
    }
    before.current = place;
  }, [place]);
  if (start) return null;
  switch (shown.page) {
    case "start":
      return null;
    case "runs":
      return <RunsPage {...shown} />;
    case "run":
      return <PageOfRun {...shown} />;
    case "compare":
      return <ComparePage {...shown} />;
    case "nowhere":
      return (
        <main tabIndex={-1}>
          <h1>There is nothing at this address</h1>
          <p>
            <a href="/runs">All runs</a>
          </p>
        </main>
      );
  }
}

function PageOfRun(props: View & { page: "run" }): JSX.Element {
  switch (props.part) {
    case "overview":
      return <RunPage {...props} />;
    case "timeline":
      return <TimelinePage {...props} />;
    case "steps":
      return <StepsPage {...props} />;
    case "metrics":
      return <MetricsPage {...props} />;
    case "configs":
      return <ConfigPage {...props} />;
    case "events":
      return <EventsPage {...props} />;
    case "profiles":
      return <ProfilesPage {...props} />;
  }
}

function Frame(props: {
  who?: string;
  guest?: boolean;
  children?: ComponentChildren;
}): JSX.Element {
  const { who, guest = false, children } = props;
  return (
    <>
      <header class="top">
        <a class="brand" href="/runs">
          headway
        </a>
        <span class="grow" />
        {who !== undefined && <span class="muted who">{who}</span>}
        {guest && <span class="muted who">shared by a link</span>}
        <ThemeButton />
        {who !== undefined && (
          <button type="button" class="quiet" onClick={() => signOut()}>
            Sign out
          </button>
        )}
      </header>
      {children}
    </>
  );
}
