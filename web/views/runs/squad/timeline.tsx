import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useKeys } from '../../../keys.ts';
import { Button } from '../../../ui/button.tsx';
import { drawItem, heightOf, Rows, Ticks } from './timeline-drawing.tsx';
import { type Item, itemsOf, nextItem } from './timeline-items.ts';
import { Legend, type Mark } from './timeline-marks.tsx';
import { type ShownTurn, type Span, timeAt, wholeSpan, zoomed, zoomedAround } from './timeline-scale.ts';
import type { TreeRow } from './tree.ts';

const AT_FIRST = 600;

/** The current width of an element. */
function useWidth(): { box: RefObject<HTMLDivElement | null>; width: number } {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(AT_FIRST);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setWidth(Math.max(Math.floor(element.clientWidth), 1));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  return { box, width };
}

interface TimelineProps {
  rows: readonly TreeRow[];
  turns: readonly ShownTurn[];
  marks: readonly Mark[];
  now: number;
  selected: string | null;
  onSelect(runId: string): void;
}

export function Timeline({ rows, turns, marks, now, selected, onSelect }: TimelineProps) {
  const { route } = useLocation();
  const { box, width } = useWidth();
  const [zoom, setZoom] = useState<Span | null>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const [pointed, setPointed] = useState<string | null>(null);
  const [focused, setFocused] = useState<string | null>(null);
  const svg = useRef<SVGSVGElement>(null);
  /** True after a drag: the click that ends it must not open anything. */
  const wasDrag = useRef(false);

  const cards = rows.map(({ card }) => card);
  const whole = wholeSpan(cards, marks, now);
  const span = zoom ?? whole;
  const items = itemsOf(rows, turns, marks, now);
  const entry = items.some(({ key }) => key === focused) ? focused : (items[0]?.key ?? null);
  const shown = items.find(({ key }) => key === (pointed ?? focused));
  const height = heightOf(rows.length);

  const onKeyDown = (event: KeyboardEvent) => {
    const item = items.find(({ key }) => key === entry);
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = nextItem(items, item.key, event.key);
    if (next) {
      setFocused(next.key);
      if (zoom && (next.to < zoom.from || next.from > zoom.to)) setZoom(null);
    } else if (event.key === '+' || event.key === '=') setZoom(zoomedAround(whole, span, item.from, 0.5));
    else if (event.key === '-') setZoom(zoomedAround(whole, span, item.from, 2));
    else return;
    event.preventDefault();
  };
  // The focus follows the item that the arrow keys selected, and moves only then, so that it is never taken from
  // elsewhere. It moves before the next key, which would otherwise be undone by a focus that comes late.
  useLayoutEffect(() => {
    if (focused !== null && svg.current?.contains(document.activeElement))
      svg.current.querySelector<SVGElement>('[tabindex="0"]')?.focus();
  }, [focused]);

  const xIn = (event: PointerEvent) => event.clientX - (svg.current?.getBoundingClientRect().left ?? 0);
  const endDrag = () => {
    wasDrag.current = drag !== null && Math.abs(drag.to - drag.from) > 8;
    if (drag && wasDrag.current) {
      const chosen = zoomed(whole, timeAt(span, width, drag.from), timeAt(span, width, drag.to));
      if (chosen) setZoom(chosen);
    }
    setDrag(null);
  };
  const open = (event: MouseEvent, { runId }: Item) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (wasDrag.current) wasDrag.current = false;
    else route(`/r/${runId}/activity`);
  };
  const chosen = items.filter(({ runId }) => runId === selected);
  const zoomToRun = () => {
    const from = Math.min(...chosen.map(item => item.from));
    const to = Math.max(...chosen.map(item => item.to));
    // Adds some space around the item, but not so much that the zoom has no effect.
    const room = Math.max((to - from) * 0.1, Math.min(500, (whole.to - whole.from) * 0.02));
    setZoom(zoomed(whole, from - room, to + room));
  };
  useKeys([
    { key: 'z', what: 'Zoom to the selected run', run: zoomToRun, when: () => chosen.length > 0 },
    { key: '0', what: 'Show the whole timeline', run: () => setZoom(null), when: () => zoom !== null },
  ]);

  return (
    <section class="timeline" aria-label="Timeline">
      <div class="timeline-bar">
        <p class="timeline-words" aria-live="off">
          {shown?.words ?? 'Hover over a bar for its times; drag to zoom.'}
        </p>
        <Button
          keyName="z"
          onClick={zoomToRun}
          why={chosen.length === 0 ? 'Select a run in the tree first.' : null}
        >
          Zoom to run
        </Button>
        <Button keyName="0" onClick={() => setZoom(null)} why={zoom ? null : 'The whole timeline is shown.'}>
          Reset zoom
        </Button>
      </div>
      <div class="timeline-box" ref={box}>
        {/* biome-ignore lint/a11y/useSemanticElements: a drawing cannot be a fieldset */}
        <svg
          ref={svg}
          width={width}
          height={height}
          role="group"
          aria-label="Arrow keys move, plus and minus zoom, Enter opens the run"
          onKeyDown={onKeyDown}
          onPointerDown={event => {
            if (event.button !== 0) return;
            const x = xIn(event);
            setDrag({ from: x, to: x });
          }}
          onPointerMove={event => {
            if (drag) setDrag({ ...drag, to: xIn(event) });
          }}
          onPointerUp={endDrag}
          onPointerLeave={() => setDrag(null)}
        >
          <Ticks span={span} width={width} height={height} />
          <Rows rows={rows} selected={selected} width={width} />
          {items.map(item => {
            const drawn = drawItem(item, span, width);
            if (!drawn) return null;
            return (
              <a
                key={item.key}
                href={`/r/${item.runId}/activity`}
                aria-label={item.words}
                tabIndex={item.key === entry ? 0 : -1}
                draggable={false}
                onClick={event => open(event, item)}
                onFocus={() => {
                  setFocused(item.key);
                  onSelect(item.runId);
                }}
                onBlur={() => setPointed(null)}
                onPointerEnter={() => setPointed(item.key)}
                onPointerLeave={() => setPointed(null)}
              >
                {drawn}
              </a>
            );
          })}
          {drag && (
            <rect
              class="timeline-drag"
              x={Math.min(drag.from, drag.to)}
              y={0}
              width={Math.abs(drag.to - drag.from)}
              height={height}
            />
          )}
        </svg>
      </div>
      <Legend marks={marks} />
    </section>
  );
}
