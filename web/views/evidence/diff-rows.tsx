import { Component } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { visibleText } from '../../../src/base/text.ts';
import { Button } from '../../ui/button.tsx';
import { type DiffPlace, placeName, placeOfLine } from './diff-place.ts';
import type { Paint } from './paint-diff.ts';
import type { DiffFile, DiffHunk, DiffLine } from './parse-diff.ts';
import { isSamePlace, type LineComment } from './saved-comments.ts';

interface CommentBoxProps {
  place: DiffPlace;
  before: string;
  onInput(text: string): void;
  onDone(text: string): void;
  onClose(): void;
}

/** Editor for the comment on a line. */
function CommentBox({ place, before, onInput, onDone, onClose }: CommentBoxProps) {
  const [text, setText] = useState(before);
  const box = useRef<HTMLTextAreaElement>(null);
  // A layout effect is used, so that the next key press already goes to the editor.
  useLayoutEffect(() => {
    const focused = document.activeElement;
    box.current?.focus();
    return () => {
      if (focused instanceof HTMLElement && focused.isConnected) focused.focus();
    };
  }, []);
  return (
    <div class="diff-box" role="row">
      <div role="cell">
        <textarea
          ref={box}
          aria-label={`Comment on ${visibleText(placeName(place))}`}
          placeholder="What should the agent do here?"
          maxLength={20_000}
          value={text}
          onInput={event => {
            setText(event.currentTarget.value);
            onInput(event.currentTarget.value);
          }}
          onKeyDown={event => {
            if (event.key === 'Escape') onClose();
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onDone(text);
          }}
        />
        <p class="actions">
          <Button tone="main" keyName="Ctrl ↵" onClick={() => onDone(text)}>
            {' '}
            Save{' '}
          </Button>
          <Button keyName="esc" onClick={onClose}>
            {' '}
            Cancel{' '}
          </Button>
          <span class="soft">All comments are sent together. Empty comments are discarded.</span>
        </p>
      </div>
    </div>
  );
}

const MAX_LINE_LENGTH = 2_000;
const SIGNS = { added: '+', removed: '−', same: ' ', note: ' ' } as const;

export interface Commenting {
  comments: readonly LineComment[];
  editing: DiffPlace | null;
  edit(place: DiffPlace | null): void;
  write(comment: LineComment): void;
  /** Unsaved text for this line. */
  draftOf(place: DiffPlace): string | null;
  saveDraft(place: DiffPlace, text: string): void;
}

/** How lines are drawn. */
export interface DiffLook {
  isSplit: boolean;
  /** Coloured parts of each line. Null if the colours are not loaded or the file is too long. */
  paint: ReadonlyMap<DiffLine, Paint[]> | null;
}

interface RowsProps extends DiffLook {
  file: DiffFile;
  hunk: DiffHunk;
  from: number;
  until: number;
  /** State of commenting. Null if comments are off. */
  commenting: Commenting | null;
  target: string | null;
}

/** A block of lines, redrawn only when its own lines or comments change. */
export class DiffRows extends Component<RowsProps> {
  override shouldComponentUpdate(next: RowsProps): boolean {
    const fields = ['hunk', 'from', 'until', 'target', 'isSplit', 'paint'] as const;
    if (fields.some(field => this.props[field] !== next[field])) return true;
    return JSON.stringify(this.#ofMine(this.props)) !== JSON.stringify(this.#ofMine(next));
  }

  #ofMine({ file, hunk, from, until, commenting }: RowsProps) {
    if (!commenting) return null;
    const places = hunk.lines.slice(from, until).map(line => placeOfLine(file, line));
    const isMine = (one: DiffPlace) => places.some(place => place && isSamePlace(place, one));
    const { comments, editing } = commenting;
    return [comments.filter(isMine), editing && isMine(editing) ? editing : null];
  }

  render({ hunk, from, until, isSplit, ...given }: RowsProps) {
    const lines = hunk.lines.slice(from, until);
    return (
      <div class="diff-block" role="rowgroup">
        {isSplit
          ? sidesOf(lines).map((pair, index) => <Pair key={index} pair={pair} {...given} />)
          : lines.map((line, index) => <Row key={index} line={line} {...given} />)}
      </div>
    );
  }
}

interface RowProps {
  file: DiffFile;
  line: DiffLine;
  commenting: Commenting | null;
  target: string | null;
  paint: DiffLook['paint'];
}

/**
 * Shows lines side by side. An unchanged line is on both sides. A removed line is next to the line that replaced it.
 */
function sidesOf(lines: readonly DiffLine[]): [DiffLine | null, DiffLine | null][] {
  const pairs: [DiffLine | null, DiffLine | null][] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const close = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      pairs.push([removed[at] ?? null, added[at] ?? null]);
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === 'removed') {
      if (added.length > 0) close();
      removed.push(line);
    } else if (line.kind === 'added') added.push(line);
    else {
      close();
      pairs.push([line, line]);
    }
  }
  close();
  return pairs;
}

function Pair({
  pair: [left, right],
  ...given
}: Omit<RowProps, 'line'> & { pair: [DiffLine | null, DiffLine | null] }) {
  return (
    <>
      <div class="diff-pair" role="row">
        {([left, right] as const).map((line, side) =>
          line === null ? (
            <span key={side} class="diff-gap" role="cell" />
          ) : (
            <Line
              key={side}
              {...given}
              line={line}
              role="cell"
              number={side === 0 ? line.oldLine : line.newLine}
              // An unchanged line is one place, on its right side.
              isPlain={left === right && side === 0}
            />
          ),
        )}
      </div>
      {[left, ...(left === right ? [] : [right])].map(
        line => line && <Remark key={line.kind} {...given} line={line} />,
      )}
    </>
  );
}

function Row(given: RowProps) {
  return (
    <>
      <Line {...given} role="row" number={null} isPlain={false} />
      <Remark {...given} />
    </>
  );
}

interface LineProps extends RowProps {
  role: 'row' | 'cell';
  /** Line number of the side that is shown, for the split view. Null if both numbers are shown. */
  number: number | null;
  isPlain: boolean;
}

function Line({ file, line, commenting, target, paint, role, number, isPlain }: LineProps) {
  const place = isPlain ? null : placeOfLine(file, line);
  const name = place && placeName(place);
  const cell = role === 'row' ? 'cell' : undefined;
  return (
    <div
      class={`diff-row is-${line.kind} ${name !== null && name === target ? 'is-target' : ''}`}
      data-place={name ?? undefined}
      tabIndex={-1}
      role={role}
    >
      {role === 'cell' ? (
        <span class="diff-number">{number}</span>
      ) : (
        <>
          <span class="diff-number" role={cell}>
            {line.oldLine}
          </span>
          <span class="diff-number" role={cell}>
            {line.newLine}
          </span>
        </>
      )}
      <span class="diff-content" role={cell}>
        {commenting && place && (
          <button
            type="button"
            class="diff-comment"
            tabIndex={-1}
            aria-label={`Comment on ${visibleText(name ?? '')}`}
            onClick={() => commenting.edit(place)}
          >
            +
          </button>
        )}
        <span class="diff-sign">{SIGNS[line.kind]}</span>
        <Text text={lineText(line.text)} parts={paint?.get(line) ?? null} />
      </span>
    </div>
  );
}

/** The comment on a line, or its editor. */
function Remark({ file, line, commenting }: RowProps) {
  const place = placeOfLine(file, line);
  if (!place || !commenting) return null;
  const known = commenting.comments.find(one => isSamePlace(one, place));
  const isEditing = commenting.editing && isSamePlace(commenting.editing, place);
  if (isEditing)
    return (
      <CommentBox
        place={place}
        before={commenting.draftOf(place) ?? known?.text ?? ''}
        onInput={text => commenting.saveDraft(place, text)}
        onDone={text => {
          commenting.saveDraft(place, '');
          commenting.write({ ...place, quote: line.text, text });
          commenting.edit(null);
        }}
        onClose={() => {
          commenting.saveDraft(place, '');
          commenting.edit(null);
        }}
      />
    );
  if (!known) return null;
  return (
    <div class="diff-remark" role="row">
      <span class="plain" role="cell">
        {visibleText(known.text)}
      </span>
      <span role="cell">
        <button type="button" class="button quiet" onClick={() => commenting.edit(place)}>
          {' '}
          edit{' '}
        </button>
      </span>
    </div>
  );
}

/** Text of a line. A line that ends with CRLF counts as an ordinary line. */
export const lineText = (text: string): string => text.replace(/\r$/, '');

/** Shows a line with visible control characters. A very long line is shortened, and other lines get syntax colours. */
function Text({ text, parts }: { text: string; parts: Paint[] | null }) {
  if (parts)
    return (
      <span class="diff-text">
        {parts.map(({ text: part, kind, isChanged }, index) =>
          kind === null && !isChanged ? (
            visibleText(part)
          ) : (
            <span key={index} class={`${kind === null ? '' : `hl-${kind}`} ${isChanged ? 'is-changed' : ''}`}>
              {visibleText(part)}
            </span>
          ),
        )}
      </span>
    );
  const shown = text.length > MAX_LINE_LENGTH ? text.slice(0, MAX_LINE_LENGTH).toWellFormed() : text;
  return (
    <span class="diff-text">
      {visibleText(shown)}
      {text.length > MAX_LINE_LENGTH && (
        <span class="faint"> … {(text.length - MAX_LINE_LENGTH).toLocaleString()} more characters</span>
      )}
    </span>
  );
}
