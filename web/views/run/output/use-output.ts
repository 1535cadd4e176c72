import type { RefObject } from 'preact';
import { useEffect, useReducer, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../../state/api.ts';
import { watchOutput } from '../../../state/live.ts';
import { type FeedChange, OutputFeed } from './output-feed.ts';
import { OutputPane } from './output-pane.ts';
import { type OutputTarget, outputSource } from './output-source.ts';

/** This close to an edge, in pixels, what is beyond it is asked for; and this close to the end it is followed. */
const NEAR = 600;
const AT_END = 24;

export interface ShownOutput {
  feed: OutputFeed | null;
  pane: OutputPane | null;
  error: ApiError | null;
  isReady: boolean;
  isOver: boolean;
  /** A line that was asked for and is not there. */
  missedLine: number | null;
  /** Scrolls to a line, from wherever it is held or not. */
  goToLine(line: number): Promise<void>;
  goToOffset(offset: number, line: number | null): Promise<HTMLElement | null>;
  follow(): void;
  onScroll(): void;
}

/** Keeps an output drawn in the scrolling element: followed while its end is in sight, still when somebody reads above it. */
export function useOutput(
  scroller: RefObject<HTMLElement | null>,
  target: OutputTarget,
  { firstLine, isLive }: { firstLine: number | null; isLive: boolean },
): ShownOutput {
  const { run, turn, stream, readable } = target;
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const [error, setError] = useState<ApiError | null>(null);
  const [isReady, setReady] = useState(false);
  const [isOver, setOver] = useState(!isLive);
  const [missedLine, setMissedLine] = useState<number | null>(null);
  const held = useRef<{ feed: OutputFeed; pane: OutputPane } | null>(null);
  const jumping = useRef<Promise<unknown>>(Promise.resolve());
  const isMoving = useRef(false);
  const isAsking = useRef(false);
  /** Asks for what is near, and notices that the end is reached or left. */
  const look = useRef(() => {});

  const told = (work: Promise<unknown>) =>
    void work.then(
      () => setError(null),
      thrown => {
        if (thrown instanceof ApiError) setError(thrown);
      },
    );

  useEffect(() => {
    const box = scroller.current!;
    const asking = new AbortController();
    const pane = new OutputPane(box.querySelector('.out-lines')!);
    const feed = new OutputFeed(outputSource(target, asking.signal), {
      isWords: readable,
      onChange: change => show(change),
    });
    held.current = { feed, pane };
    const show = (change: FeedChange) => {
      const anchor = feed.isFollowing || change === 'reset' ? null : anchorIn(box);
      // Our own moves are not the reader's.
      isMoving.current = true;
      pane.draw(feed.window);
      if (feed.isFollowing) box.scrollTop = box.scrollHeight;
      else if (anchor) box.scrollTop += anchor.moved();
      requestAnimationFrame(() => {
        isMoving.current = false;
        look.current();
      });
      // A few short lines after a very long one: there is room for what is before them.
      if (box.scrollHeight <= box.clientHeight && feed.window.start > 0 && !box.hidden) told(feed.older());
      redraw(0);
    };
    setReady(false);
    setOver(!isLive);
    const opening = firstLine === null || readable ? feed.openEnd() : openLine(firstLine);
    told(opening.finally(() => setReady(true)));
    const unwatch = isLive
      ? watchOutput({ runId: run, turn, stream }, (size, over) => {
          feed.grew(size);
          if (over) setOver(true);
        })
      : () => {};
    return () => {
      unwatch();
      feed.stop();
      asking.abort();
      pane.clear();
      held.current = null;
    };
  }, [run, turn, stream, readable]);

  const openLine = async (line: number) => {
    const now = held.current;
    const found = await now?.feed.openLine(line);
    // After the end it is the last.
    setMissedLine(found != null && found < line ? line : null);
    if (found != null) mark(now?.pane.lineElement(now.feed.window, found) ?? null);
    else if (now) await now.feed.openEnd();
  };

  const mark = (element: HTMLElement | null) => {
    for (const other of scroller.current?.querySelectorAll('.is-target') ?? [])
      other.classList.remove('is-target');
    if (!element) return;
    element.classList.add('is-target');
    element.scrollIntoView({ block: 'center' });
  };

  /** One after the other: a place that is on the screen now may not be there any more when an earlier jump has arrived. */
  const goToOffset = (offset: number, line: number | null): Promise<HTMLElement | null> => {
    const jump = () => jumpTo(offset, line);
    const arrived = jumping.current.then(jump, jump);
    jumping.current = arrived;
    return arrived;
  };

  const jumpTo = async (offset: number, line: number | null) => {
    const now = held.current;
    if (!now) return null;
    now.feed.unfollow();
    const { window } = now.feed;
    let element = line === null || readable ? null : now.pane.lineElement(window, line);
    if (!element) {
      await now.feed.openAt(offset);
      element = now.pane.firstAt(window, offset);
    }
    mark(element);
    redraw(0);
    return element;
  };

  const toEnd = async () => {
    await held.current?.feed.follow();
    const box = scroller.current;
    if (box) box.scrollTop = box.scrollHeight;
    redraw(0);
  };

  look.current = () => {
    const box = scroller.current;
    const now = held.current;
    if (!box || !now || isMoving.current) return;
    const { feed } = now;
    const below = box.scrollHeight - box.scrollTop - box.clientHeight;
    const hasAll = feed.window.end >= feed.size;
    if (feed.isFollowing && below > AT_END) {
      feed.unfollow();
      redraw(0);
    } else if (!feed.isFollowing && below <= AT_END && hasAll) told(toEnd());
    if (feed.isFollowing || isAsking.current) return;
    const isNearEnd = below < NEAR && !hasAll;
    if (!isNearEnd && (box.scrollTop >= NEAR || feed.window.start === 0)) return;
    // One at a time: a wheel turns many times while a page is on its way.
    isAsking.current = true;
    told((isNearEnd ? feed.newer() : feed.older()).finally(() => (isAsking.current = false)));
  };

  return {
    feed: held.current?.feed ?? null,
    pane: held.current?.pane ?? null,
    error,
    isReady,
    isOver,
    missedLine,
    goToOffset,
    async goToLine(line) {
      const now = held.current;
      now?.feed.unfollow();
      const element = now?.pane.lineElement(now.feed.window, line);
      if (element) {
        setMissedLine(null);
        mark(element);
      } else await openLine(line);
      redraw(0);
    },
    follow: () => told(toEnd()),
    onScroll: () => look.current(),
  };
}

/** What is read stays where it is, whatever comes or goes above it. */
function anchorIn(box: HTMLElement): { moved(): number } | null {
  const { top } = box.getBoundingClientRect();
  const pages = [...(box.querySelector('.out-lines')?.children ?? [])];
  const page = pages.find(one => one.getBoundingClientRect().bottom > top);
  const block =
    page && [...page.querySelectorAll('.out-block')].find(one => one.getBoundingClientRect().bottom > top);
  if (!block) return null;
  const before = block.getBoundingClientRect().top;
  return { moved: () => (block.isConnected ? block.getBoundingClientRect().top - before : 0) };
}
