import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { visibleText } from '../../../src/base/text.ts';
import type { Output } from '../../../src/operations/operations.ts';
import { useKeys } from '../../keys.ts';
import { ApiError, call } from '../../state/api.ts';
import { Button } from '../../ui/button.tsx';
import type { OutputTarget } from './output-source.ts';
import type { ShownOutput } from './use-output.ts';

/** Positions of the words in a text, as [from, to]; empty words are skipped. */
export function textRanges(
  text: string,
  { q, isRegex, isCaseSensitive }: { q: string; isRegex: boolean; isCaseSensitive: boolean },
  most = 100,
): [number, number][] {
  const pattern = new RegExp(
    isRegex ? q : q.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'),
    isCaseSensitive ? 'gu' : 'giu',
  );
  const ranges: [number, number][] = [];
  for (const match of text.matchAll(pattern)) {
    if (match[0] !== '') ranges.push([match.index, match.index + match[0].length]);
    if (ranges.length === most) break;
  }
  return ranges;
}

const NAME = 'output-hit';
/** Maximum length of a line that a pattern is tried on, the same as in the hub. */
const MAX_SEARCHED_LENGTH = 10_000;

/** Marks the words in one line without changing its nodes. With null the marks are removed. */
function drawHits(
  scroller: HTMLElement | null,
  line: HTMLElement | null,
  query: { q: string; isRegex: boolean; isCaseSensitive: boolean },
): void {
  if (!scroller || !('highlights' in CSS)) return;
  CSS.highlights.delete(NAME);
  if (!line || query.q === '') return;
  const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  const nodes: Text[] = [];
  while (walker.nextNode()) nodes.push(walker.currentNode as Text);
  const text = nodes
    .map(({ data }) => data)
    .join('')
    .slice(0, MAX_SEARCHED_LENGTH);
  const ranges = textRanges(text, query).map(([from, to]) => rangeOf(nodes, from, to));
  if (ranges.length > 0) CSS.highlights.set(NAME, new Highlight(...ranges));
}

function rangeOf(nodes: Text[], from: number, to: number): Range {
  const range = new Range();
  let passed = 0;
  let isStarted = false;
  for (const node of nodes) {
    const end = passed + node.length;
    if (!isStarted && from < end) {
      range.setStart(node, from - passed);
      isStarted = true;
    }
    if (isStarted && to <= end) {
      range.setEnd(node, to - passed);
      break;
    }
    passed = end;
  }
  return range;
}

type Match = Output<'search_output'>['matches'][number];
interface Found {
  matches: Match[];
  /** Offset to continue from. Null if the whole output was searched. */
  next: number | null;
  /** False until the search for these words has started to return results. */
  isSearched: boolean;
}

const NOTHING: Found = { matches: [], next: null, isSearched: false };

interface OutputSearchProps {
  target: OutputTarget;
  output: ShownOutput;
  scroller: RefObject<HTMLElement | null>;
  onClose(): void;
}

/** Searches an output of any size: the hub searches piece by piece, and the web UI steps through the matches. */
export function OutputSearch({ target, output, scroller, onClose }: OutputSearchProps) {
  const [q, setQ] = useState('');
  const [isRegex, setRegex] = useState(false);
  const [isCaseSensitive, setCaseSensitive] = useState(false);
  const [found, setFound] = useState<Found>(NOTHING);
  const [at, setAt] = useState(-1);
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const box = useRef<HTMLInputElement>(null);
  const asking = useRef<AbortController | null>(null);
  const query = { q, isRegex, isCaseSensitive };

  /** Searches until there is something to show, or nothing is left. */
  const search = async (before: Match[], after: number): Promise<Match[]> => {
    asking.current?.abort();
    const mine = new AbortController();
    asking.current = mine;
    setBusy(true);
    setError(null);
    try {
      for (let from: number | null = after; from !== null; ) {
        const input = { ...target, ...query, after: from, limit: 200 };
        const page: Output<'search_output'> = await call('search_output', input, { signal: mine.signal });
        const matches = [...before, ...page.matches];
        setFound({ matches, next: page.next, isSearched: true });
        if (page.matches.length > 0) return matches;
        from = page.next;
      }
    } catch (thrown) {
      if (thrown instanceof ApiError && !mine.signal.aborted) setError(thrown);
    } finally {
      if (asking.current === mine) setBusy(false);
    }
    return before;
  };
  const go = async (index: number, matches = found.matches) => {
    const match = matches[index];
    if (!match) return;
    setAt(index);
    const element = await output.goToOffset(match.offset, match.line);
    drawHits(scroller.current, element, query);
  };
  const start = async () => {
    setAt(-1);
    if (q === '') return setFound(NOTHING);
    const matches = await search([], 0);
    if (matches.length > 0) await go(0, matches);
  };
  const move = async (by: 1 | -1) => {
    const next = at + by;
    if (next < 0 || (next >= found.matches.length && found.next === null)) return;
    if (next < found.matches.length) return go(next);
    const more = await search(found.matches, found.next!);
    if (more.length > next) await go(next, more);
  };

  // A layout effect is used, so that the next key press already goes to the search field.
  useLayoutEffect(() => {
    box.current?.focus();
    return () => {
      asking.current?.abort();
      drawHits(scroller.current, null, query);
    };
  }, []);
  // A layout effect is used, so that Enter right after typing starts a new search instead of stepping through the old one.
  useLayoutEffect(() => {
    asking.current?.abort();
    setFound(NOTHING);
    setAt(-1);
  }, [q, isRegex, isCaseSensitive, target.turn, target.stream, target.readable]);
  useKeys([
    { key: 'n', what: 'Next match', repeats: true, run: () => void move(1) },
    { key: 'p', what: 'Previous match', repeats: true, run: () => void move(-1) },
    { key: 'escape', what: 'Close the search', run: onClose },
  ]);

  return (
    <search class="out-search">
      <form
        onSubmit={event => {
          event.preventDefault();
          void (at >= 0 ? move(1) : start());
        }}
      >
        <input
          ref={box}
          type="search"
          aria-label="Search the output"
          placeholder={isRegex ? 'regular expression' : 'text'}
          value={q}
          maxLength={1000}
          onInput={event => setQ(event.currentTarget.value)}
          onKeyDown={event => {
            if (event.key === 'Escape') onClose();
            if (event.key === 'Enter' && event.shiftKey) {
              event.preventDefault();
              void move(-1);
            }
          }}
        />
        <Button
          isPressed={isCaseSensitive}
          label="Match case"
          onClick={() => setCaseSensitive(!isCaseSensitive)}
        >
          Aa
        </Button>
        <Button isPressed={isRegex} label="Regular expression" onClick={() => setRegex(!isRegex)}>
          .*
        </Button>
        <button type="submit" class="button">
          {at >= 0 ? 'next' : 'search'}
        </button>
        <Button
          keyName="p"
          label="Previous match"
          why={at > 0 ? null : 'First match'}
          onClick={() => void move(-1)}
        >
          ↑
        </Button>
        <Button
          keyName="n"
          label="Next match"
          why={at < 0 || (at + 1 >= found.matches.length && found.next === null) ? 'No more matches' : null}
          onClick={() => void move(1)}
        >
          ↓
        </Button>
        <Button tone="quiet" label="Close the search" onClick={onClose}>
          ×
        </Button>
      </form>
      <p class="soft" role="status">
        {words({ isBusy, at, found, q, error })}
      </p>
    </search>
  );
}

function words(state: {
  isBusy: boolean;
  at: number;
  found: Found;
  q: string;
  error: ApiError | null;
}): string {
  const { isBusy, at, found, q, error } = state;
  if (error) return [error.message, ...error.suggestions].join(' ');
  const { matches, next } = found;
  const match = matches[at];
  if (match) {
    const of = `${at + 1} of ${matches.length}${next === null ? '' : '+'}`;
    return `${of}${match.line === null ? '' : `, line ${match.line}`}: ${visibleText(match.text.slice(0, 200))}`;
  }
  if (isBusy) return 'Searching…';
  if (found.isSearched) return 'No matches.';
  return q === '' ? '' : 'Press enter to search.';
}
