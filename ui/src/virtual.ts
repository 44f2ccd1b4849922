// Long lists of which only what can be seen is there: the page scrolls, rows come and go.
import {
  observeWindowOffset,
  observeWindowRect,
  type VirtualItem,
  Virtualizer,
  windowScroll,
} from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

const OVERSCAN = 6;

export interface Rows {
  items: readonly VirtualItem[];
  /** Of all rows, in pixels. */
  height: number;
  /** Where the list begins on the page. */
  top: number;
  scrollTo(index: number): void;
}

/** `heightOf` says how high each of `count` rows is, in pixels; `box` is what they lie in. */
export function useWindowRows(
  count: number,
  heightOf: (index: number) => number,
  box: RefObject<HTMLElement | null>,
): Rows {
  const [, draw] = useReducer((times: number) => times + 1, 0);
  const made = useRef<Virtualizer<Window, Element>>(undefined);
  const top = useRef(0);
  const options = {
    count,
    estimateSize: heightOf,
    overscan: OVERSCAN,
    scrollMargin: top.current,
    getScrollElement: () => window,
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    initialRect: { width: innerWidth, height: innerHeight },
    initialOffset: () => scrollY,
    onChange: () => draw(undefined),
  };
  made.current ??= new Virtualizer<Window, Element>(options);
  const rows = made.current;
  rows.setOptions({ ...rows.options, ...options });
  useLayoutEffect(() => rows._didMount(), []);
  useLayoutEffect(() => {
    rows._willUpdate();
    const now = box.current === null ? 0 : box.current.getBoundingClientRect().top + scrollY;
    if (Math.abs(now - top.current) < 1) return;
    top.current = now;
    draw(undefined);
  });
  useLayoutEffect(() => rows.measure(), [count, heightOf]);
  return {
    items: rows.getVirtualItems(),
    height: rows.getTotalSize(),
    top: top.current,
    scrollTo: (index) => rows.scrollToIndex(index, { align: "center" }),
  };
}
