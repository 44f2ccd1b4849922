import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { explain, signIn } from "./session.ts";

export function SignIn({ why }: { why: string }): JSX.Element {
  const [error, setError] = useState(why);
  const [busy, setBusy] = useState(false);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => box.current?.focus(), []);
  useEffect(() => setError(why), [why]);
  useEffect(() => {
    document.title = "Sign in · headway";
  }, []);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const token = box.current?.value.trim() ?? "";
    if (token === "") return;
    setBusy(true);
    try {
      await signIn(token);
    } catch (failed) {
      setError(explain(failed));
      setBusy(false);
      box.current?.select();
    }
  };

  return (
    <main class="narrow">
      <h1>Sign in</h1>
      <form onSubmit={(event) => void submit(event)}>
        <label for="token">Token</label>
        <input
          id="token"
          ref={box}
          type="password"
          autocomplete="off"
          spellcheck={false}
          aria-describedby="token-help token-error"
          aria-invalid={error !== ""}
        />
        <button type="submit" class="main" disabled={busy}>
          Sign in
        </button>
      </form>
      <p id="token-error" role="alert" class="error">
        {error}
      </p>
      <p id="token-help" class="muted">
        It stays in this tab. Whoever runs the server makes one with{" "}
        <code>headway tokens create --role viewer</code>; the administrator's own lies on the
        server, where <code>headway serve</code> said.
      </p>
    </main>
  );
}
