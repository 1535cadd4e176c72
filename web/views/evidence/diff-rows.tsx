import { Component } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { visibleText } from '../../../src/base/text.ts';
import { Button } from '../../ui/button.tsx';
import { type DiffPlace, placeName, placeOfLine } from './diff-place.ts';
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
  // In a layout effect, so that the next key press already goes to the editor.
  useLayoutEffect(() => {
    const focused = document.activeElement;
    box.current?.focus();
    return () => {
      if (focused instanceof HTMLElement && focused.isConnected) focused.focus();
    };
  }, []);
  return (
    <div class="diff-box">
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

interface RowsProps {
  file: DiffFile;
  hunk: DiffHunk;
  from: number;
  until: number;
  /** Null: comments are off. */
  commenting: Commenting | null;
  target: string | null;
}

/** A block of lines, redrawn only when its own lines or comments change. */
export class DiffRows extends Component<RowsProps> {
  override shouldComponentUpdate(next: RowsProps): boolean {
    const { hunk, from, until, target } = this.props;
    if (hunk !== next.hunk || from !== next.from || until !== next.until || target !== next.target)
      return true;
    return JSON.stringify(this.#ofMine(this.props)) !== JSON.stringify(this.#ofMine(next));
  }

  #ofMine({ file, hunk, from, until, commenting }: RowsProps) {
    if (!commenting) return null;
    const places = hunk.lines.slice(from, until).map(line => placeOfLine(file, line));
    const isMine = (one: DiffPlace) => places.some(place => place && isSamePlace(place, one));
    const { comments, editing } = commenting;
    return [comments.filter(isMine), editing && isMine(editing) ? editing : null];
  }

  render({ file, hunk, from, until, commenting, target }: RowsProps) {
    return (
      <div class="diff-block">
        {hunk.lines.slice(from, until).map((line, index) => (
          <Row key={index} {...{ file, line, commenting, target }} />
        ))}
      </div>
    );
  }
}

interface RowProps {
  file: DiffFile;
  line: DiffLine;
  commenting: Commenting | null;
  target: string | null;
}

function Row({ file, line, commenting, target }: RowProps) {
  const place = placeOfLine(file, line);
  const name = place && placeName(place);
  const known = place && commenting?.comments.find(one => isSamePlace(one, place));
  const isEditing = place && commenting?.editing && isSamePlace(commenting.editing, place);
  return (
    <>
      <div
        class={`diff-row is-${line.kind} ${name !== null && name === target ? 'is-target' : ''}`}
        data-place={name ?? undefined}
        tabIndex={-1}
      >
        <span class="diff-number">{line.oldLine}</span>
        <span class="diff-number">{line.newLine}</span>
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
        <Text text={lineText(line.text)} />
      </div>
      {isEditing ? (
        <CommentBox
          place={place}
          before={commenting!.draftOf(place) ?? known?.text ?? ''}
          onInput={text => commenting!.saveDraft(place, text)}
          onDone={text => {
            commenting!.saveDraft(place, '');
            commenting!.write({ ...place, quote: line.text, text });
            commenting!.edit(null);
          }}
          onClose={() => {
            commenting!.saveDraft(place, '');
            commenting!.edit(null);
          }}
        />
      ) : (
        known && (
          <div class="diff-remark">
            <span class="plain">{visibleText(known.text)}</span>
            <button type="button" class="button quiet" onClick={() => commenting!.edit(place!)}>
              {' '}
              edit{' '}
            </button>
          </div>
        )
      )}
    </>
  );
}

/** A line that ends with CRLF is an ordinary line. */
export const lineText = (text: string): string => text.replace(/\r$/, '');

/** A line with visible control characters, shortened if it is very long. */
function Text({ text }: { text: string }) {
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
