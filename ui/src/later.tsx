// Pages that the first load leaves out: each is fetched when it is shown, or before, when the
// browser has nothing else to do.
import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Skeleton } from "./parts.tsx";

const loads: (() => Promise<unknown>)[] = [];

/** A component whose code comes later. */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let known: ComponentType<P> | undefined;
  let coming: Promise<void> | undefined;
  const begin = (): Promise<void> => {
    coming ??= load().then(
      (found) => {
        known = found;
      },
      (error: unknown) => {
        coming = undefined;
        throw error;
      },
    );
    return coming;
  };
  loads.push(begin);
  return function Later(props: P): JSX.Element {
    const [state, setState] = useState<"coming" | "here" | "failed">(known ? "here" : "coming");
    useEffect(() => {
      if (state !== "coming") return;
      let shown = true;
      begin().then(
        () => shown && setState("here"),
        () => shown && setState("failed"),
      );
      return () => {
        shown = false;
      };
    }, [state]);
    if (known !== undefined) {
      const Known = known;
      return <Known {...props} />;
    }
    return (
      <main tabIndex={-1}>
        {state === "failed" ? (
          <p role="alert" class="error">
            This page can't be loaded. The server may be away, or have been renewed:{" "}
            <button type="button" onClick={() => location.reload()}>
              load it anew
            </button>
          </p>
        ) : (
          <Skeleton rows={8} />
        )}
      </main>
    );
  };
}

/** Fetches them all, one after the other, once the page is at rest. */
export function loadTheRest(): void {
  const idle = (then: () => void): void => {
    if ("requestIdleCallback" in window) requestIdleCallback(then, { timeout: 5_000 });
    else setTimeout(then, 1_000);
  };
  const next = (i: number): void => {
    loads[i]?.().then(
      () => idle(() => next(i + 1)),
      () => undefined, // it is tried again when it is to be shown
    );
  };
  idle(() => next(0));
}
