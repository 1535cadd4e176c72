import './output.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatBytes } from '../../../src/base/text.ts';
import { useKeys } from '../../keys.ts';
import { download } from '../../state/download.ts';
import { saved } from '../../state/saved.ts';
import { useParam } from '../../state/url-state.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Problem } from '../../ui/problem.tsx';
import { toast } from '../../ui/toast.tsx';
import type { ShownRun } from '../runs/run/shown-run.ts';
import { OutputSearch } from './output-search.tsx';
import { useOutput } from './use-output.ts';

/** Parses `#L120`. Null if the address names no line. */
export function lineInHash(hash: string): number | null {
  const line = /^#L([1-9]\d{0,11})$/.exec(hash)?.[1];
  return line === undefined ? null : Number(line);
}

const KEPT = 'squad-output-wrap';

/**
 * Whether long lines are wrapped, and a function to toggle it. The browser stores the choice, except in a saved run.
 */
function useWrapped(): [isWrapped: boolean, turn: () => void] {
  const [isWrapped, setWrapped] = useState(() => Boolean(saved) || localStorage.getItem(KEPT) !== 'off');
  const turn = () => {
    setWrapped(!isWrapped);
    if (!saved) localStorage.setItem(KEPT, isWrapped ? 'off' : 'on');
  };
  return [isWrapped, turn];
}

/** Live output of a run. */
export function OutputTab({ data }: { data: ShownRun }) {
  const { run } = data;
  const [streamGiven, setStream] = useParam('stream');
  const [turnGiven, setTurn] = useParam('turn');
  const [rawGiven, setRaw] = useParam('raw');
  const [isWrapped, turnWrapped] = useWrapped();
  const [isSearching, setSearching] = useState(false);
  const scroller = useRef<HTMLDivElement>(null);
  /** Line that the address names. It is a line of the file, so the raw output is shown. */
  const [wantedLine, setWantedLine] = useState(() => lineInHash(location.hash));
  const stream = streamGiven === 'stderr' ? 'stderr' : 'stdout';
  const turn = Math.min(Math.max(1, Number(turnGiven) || run.turn), run.turn);
  const hasEvents = run.outputIsEvents && stream === 'stdout';
  const readable = hasEvents && rawGiven === null && wantedLine === null;
  const turnRaw = () => {
    setWantedLine(null);
    setRaw(readable ? '1' : null);
  };
  const target = { run: run.id, turn, stream, readable } as const;
  const isLive = run.endedAt === null && turn === run.turn;
  const output = useOutput(scroller, target, { firstLine: wantedLine, isLive });
  const { feed, isReady, error } = output;
  useEffect(() => {
    const onHash = () => {
      const line = lineInHash(location.hash);
      if (line === null) return;
      // Readable text has no line numbers, so the raw output is shown for a line number.
      if (readable) setWantedLine(line);
      else void output.goToLine(line);
    };
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, [run.id, turn, stream, readable]);

  useKeys([
    { key: 'f', what: 'Follow the output', run: output.follow },
    { key: 'w', what: 'Wrap long lines', run: turnWrapped },
    { key: '/', what: 'Search the output', run: () => setSearching(true) },
    {
      key: 'o',
      what: 'Switch between stdout and stderr',
      run: () => setStream(stream === 'stdout' ? 'stderr' : null),
    },
    { key: 'v', what: 'Switch between readable and raw', run: turnRaw, when: () => hasEvents },
    {
      key: 'home',
      what: 'Go to the start of the output',
      run: () => void output.goToLine(1),
      when: () => !readable,
    },
    { key: 'end', what: 'Go to the end of the output', run: output.follow },
  ]);

  const showLine = (line: number) => {
    history.replaceState(history.state, '', `${location.pathname}${location.search}#L${line}`);
    void output.goToLine(line);
  };
  const onClick = (event: MouseEvent) => {
    const line = (event.target as HTMLElement).closest('.out-line');
    // CSS draws the line number, so a click on the number hits the line element itself.
    if (!line || event.target !== line || !feed || event.offsetX > gutterOf(line)) return;
    const number = output.pane?.numberOf(feed.window, line) ?? null;
    if (number === null) return;
    showLine(number);
  };
  const copy = async () => {
    const text = [...(scroller.current?.querySelectorAll('.out-line') ?? [])]
      .map(line => line.textContent)
      .join('\n');
    await navigator.clipboard.writeText(text).then(
      () => toast('Copied the shown output.'),
      () => toast('The browser blocked copying.'),
    );
  };

  return (
    <section class="output" aria-label="Output">
      <div class="output-tools">
        <label>
          <span class="unseen">Select stream</span>
          <select
            value={stream}
            onChange={event => setStream(event.currentTarget.value === 'stderr' ? 'stderr' : null)}
          >
            <option value="stdout">stdout</option>
            <option value="stderr">stderr</option>
          </select>
        </label>
        {run.turn > 1 && (
          <label>
            <span class="unseen">Select turn</span>
            <select value={String(turn)} onChange={event => setTurn(event.currentTarget.value)}>
              {Array.from({ length: run.turn }, (_, at) => (
                <option key={at} value={String(at + 1)}>
                  turn {at + 1}
                </option>
              ))}
            </select>
          </label>
        )}
        {hasEvents && (
          <Button isPressed={!readable} keyName="v" onClick={turnRaw}>
            raw
          </Button>
        )}
        <Button isPressed={isWrapped} keyName="w" onClick={turnWrapped}>
          wrap
        </Button>
        <Button icon="search" keyName="/" isPressed={isSearching} onClick={() => setSearching(!isSearching)}>
          search
        </Button>
        <Button onClick={() => void copy()} icon="copy">
          copy shown
        </Button>
        {!saved && <Button onClick={() => void save(run.id, turn, stream)}>download</Button>}
        <GoTo onLine={showLine} isOn={!readable} />
        <span class="soft num">{feed && formatBytes(feed.size)}</span>
      </div>
      {isSearching && (
        <OutputSearch
          target={target}
          output={output}
          scroller={scroller}
          onClose={() => setSearching(false)}
        />
      )}
      {error && <Problem error={error} onRetry={output.follow} />}
      {output.missedLine !== null && (
        <p class="tone-ask" role="status">
          Line {output.missedLine.toLocaleString()} does not exist
          {isLive && !output.isOver ? ' yet' : ''}. This is the last line.
        </p>
      )}
      {isReady && feed && feed.size === 0 && (
        <Empty title={`No output on ${stream}${isLive ? ' yet' : ''}`}>
          {stream === 'stdout' ? 'Check stderr, too.' : 'Check stdout, too.'}
        </Empty>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: "go to line" does the same by keyboard */}
      <section
        ref={scroller}
        class={`out ${isWrapped ? 'is-wrapped' : ''}`}
        aria-label={`${stream} of turn ${turn}`}
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable
        tabIndex={0}
        onScroll={output.onScroll}
        onClick={onClick}
        hidden={isReady && feed?.size === 0}
      >
        <div class="out-lines" />
      </section>
      {feed && !feed.isFollowing && (
        <p class="out-below">
          <Button keyName="f" onClick={output.follow}>
            {followLabel(feed.fresh, feed.hasMore, isLive && !output.isOver)}
          </Button>
        </p>
      )}
    </section>
  );
}

function GoTo({ isOn, onLine }: { isOn: boolean; onLine(line: number): void }) {
  if (!isOn) return null;
  return (
    <form
      class="go-to"
      onSubmit={event => {
        event.preventDefault();
        const line = Number(event.currentTarget.querySelector('input')?.value);
        if (line >= 1) onLine(Math.floor(line));
      }}
    >
      <input type="number" min="1" placeholder="line" aria-label="Go to line" />
    </form>
  );
}

function followLabel(fresh: number, hasMore: boolean, isLive: boolean): string {
  if (fresh > 0) return `${fresh}${hasMore ? '+' : ''} new ${fresh === 1 ? 'line' : 'lines'}`;
  if (hasMore) return 'New output';
  return isLive ? 'Follow' : 'Go to the end';
}

async function save(run: string, turn: number, stream: 'stdout' | 'stderr'): Promise<void> {
  try {
    await download({ purpose: 'download', run, turn, stream });
  } catch (thrown) {
    toast(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

const gutterOf = (line: Element): number => Number.parseFloat(getComputedStyle(line).paddingInlineStart) || 0;
