import type { RefObject } from 'preact';
import { useEffect, useReducer, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../state/api.ts';
import { watchOutput } from '../../state/live.ts';
import { type FeedChange, OutputFeed } from './output-feed.ts';
import { OutputPane } from './output-pane.ts';
import { type OutputTarget, outputSource } from './output-source.ts';
import { ScrollPlace } from './scroll-place.ts';

/** Distance from an edge, in pixels, at which the next piece is loaded. */
const NEAR = 600;

export interface ShownOutput {
  feed: OutputFeed | null;
  pane: OutputPane | null;
  error: ApiError | null;
  isReady: boolean;
  isOver: boolean;
  /** Number of a requested line that does not exist. Null if there is no such request. */
  missedLine: number | null;
  /** Scrolls to a line, and loads it if needed. */
  goToLine(line: number): Promise<void>;
  goToOffset(offset: number, line: number | null): Promise<HTMLElement | null>;
  follow(): void;
  onScroll(): void;
}

/** Renders an output in the scrolling element. Follows the output until the user scrolls up from its end. */
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
  const held = useRef<{ feed: OutputFeed; pane: OutputPane; place: ScrollPlace } | null>(null);
  const jumping = useRef<Promise<unknown>>(Promise.resolve());
  const isAsking = useRef(false);
  /** Loads output near the visible part, if necessary. */
  const look = useRef(() => {});
  /** Called when the reader may have scrolled: starts or stops following the end of the output. */
  const notice = useRef(() => {});

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
    const lines = box.querySelector<HTMLElement>('.out-lines')!;
    const pane = new OutputPane(lines);
    const feed = new OutputFeed(outputSource(target, asking.signal), {
      isReadable: readable,
      onChange: change => show(change),
    });
    const place = new ScrollPlace(box, lines, () => feed.isFollowing);
    held.current = { feed, pane, place };
    const show = (change: FeedChange) => {
      // Reads the scroll position first, because the browser reports a scroll by the reader late.
      notice.current();
      place.during(() => pane.draw(feed.window), change === 'reset');
      requestAnimationFrame(() => look.current());
      // If the lines do not fill the box, the lines before them are loaded.
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
      place.stop();
      asking.abort();
      pane.clear();
      held.current = null;
    };
  }, [run, turn, stream, readable]);

  const openLine = async (line: number) => {
    const now = held.current;
    const found = await now?.feed.openLine(line);
    // If the requested line is after the end, the last line is shown.
    setMissedLine(found != null && found < line ? line : null);
    if (found != null) mark(now?.pane.lineElement(now.feed.window, found) ?? null);
    else if (now) await now.feed.openEnd();
  };

  const mark = (element: HTMLElement | null) => {
    for (const other of scroller.current?.querySelectorAll('.is-target') ?? [])
      other.classList.remove('is-target');
    element?.classList.add('is-target');
    held.current?.place.hold(element);
  };

  /** Runs jumps one after the other: an earlier jump may scroll away the target of a later one. */
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
    held.current?.place.keep();
    redraw(0);
  };

  notice.current = () => {
    const now = held.current;
    const move = now?.place.readerMove();
    if (!now || !move) return;
    if (move === 'left-end') {
      now.feed.unfollow();
      redraw(0);
    } else if (move === 'reached-end' && now.feed.window.end >= now.feed.size) told(toEnd());
  };

  look.current = () => {
    const box = scroller.current;
    const now = held.current;
    if (!box || !now) return;
    const { feed, place } = now;
    if (feed.isFollowing || isAsking.current) return;
    const isNearEnd = place.below < NEAR && feed.window.end < feed.size;
    if (!isNearEnd && (box.scrollTop >= NEAR || feed.window.start === 0)) return;
    // Load one page at a time: a wheel sends many events while a page is loading.
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
    onScroll() {
      notice.current();
      look.current();
    },
  };
}
