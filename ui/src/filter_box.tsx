// Where a filter of runs is typed, with what could stand next.
import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { accept, complete, type Completion, type Labels } from "./filter_completion.ts";

export function FilterBox(props: {
  filter: string;
  labels: Labels;
  wrong: boolean;
  onFilter: (filter: string) => void;
}): JSX.Element {
  const { filter, labels, wrong, onFilter } = props;
  const box = useRef<HTMLInputElement>(null);
  const list = useId();
  const [offer, setOffer] = useState<Completion>();
  const [active, setActive] = useState(-1);
  useEffect(() => {
    if (box.current !== null) box.current.value = filter;
  }, [filter]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const typing = event.target instanceof HTMLInputElement;
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      box.current?.select();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  const close = (): void => {
    setOffer(undefined);
    setActive(-1);
  };
  const look = (): void => {
    const input = box.current;
    if (input === null) return;
    const found = complete(input.value, input.selectionStart ?? input.value.length, labels);
    setOffer(found.options.length === 0 ? undefined : found);
    setActive(-1);
  };
  const take = (index: number): void => {
    const input = box.current;
    const option = offer?.options[index];
    if (input === null || offer === undefined || option === undefined) return;
    const [text, cursor] = accept(input.value, offer, option);
    input.value = text;
    input.setSelectionRange(cursor, cursor);
    input.focus();
    look();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (offer === undefined) return;
    const count = offer.options.length;
    if (event.key === "ArrowDown") setActive((active + 1) % count);
    else if (event.key === "ArrowUp") setActive((active <= 0 ? count : active) - 1);
    else if (event.key === "Escape") close();
    else if (event.key === "Enter" && active >= 0) take(active);
    else return;
    event.preventDefault();
  };
  return (
    <form
      role="search"
      class="filter"
      onSubmit={(event) => {
        event.preventDefault();
        close();
        onFilter(box.current?.value.trim() ?? "");
      }}
    >
      <input
        ref={box}
        type="search"
        role="combobox"
        list={undefined}
        aria-label="Filter runs"
        aria-describedby="filter-help"
        aria-invalid={wrong}
        aria-keyshortcuts="/"
        aria-autocomplete="list"
        aria-expanded={offer !== undefined}
        aria-controls={list}
        aria-activedescendant={active >= 0 ? `${list}-${active}` : undefined}
        placeholder="A name, or: goodput < 90% AND labels.team = vision"
        autocomplete="off"
        spellcheck={false}
        defaultValue={filter}
        onInput={look}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      <ul id={list} role="listbox" aria-label="What could stand here" hidden={offer === undefined}>
        {offer?.options.map((option, i) => (
          <li
            key={option.text}
            id={`${list}-${i}`}
            role="option"
            aria-selected={i === active}
            // The box keeps the focus.
            onMouseDown={(event) => {
              event.preventDefault();
              take(i);
            }}
          >
            <code>{option.text}</code> <span class="muted small">{option.about}</span>
          </li>
        ))}
      </ul>
    </form>
  );
}
