import { signal } from '@preact/signals';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { visibleText } from '../../../src/base/text.ts';
import { fromHub } from '../../state/from-hub.ts';
import { Copy } from '../../ui/copy.tsx';
import { HiddenWarning } from '../../ui/hidden-warning.tsx';
import { Lines } from '../../ui/usage.tsx';
import { partsOf, rowOf, rowsOf } from './diff-place.ts';
import { type Commenting, DiffRows, lineText } from './diff-rows.tsx';
import { ImageVersions, isImage } from './image-versions.tsx';
import type { paintHunk as PaintHunk } from './paint-diff.ts';
import type { DiffFile, DiffHunk } from './parse-diff.ts';

/** Loads the syntax colours with the first diff. Lines are plain until the colours are loaded, or if loading fails. */
function useHunkPaint(): ((path: string, hunk: DiffHunk) => ReturnType<typeof PaintHunk>) | null {
  useEffect(() => {
    if (painter.peek()) return;
    void fromHub(() => import('./paint-diff.ts'))
      .then(loaded => {
        painter.value = loaded.paintHunk;
      })
      // The diff is readable without colours.
      .catch(() => {});
  }, []);
  const paint = painter.value;
  if (!paint) return null;
  return (path, hunk) => {
    const known = painted.get(hunk) ?? paint(path, hunk);
    painted.set(hunk, known);
    return known;
  };
}

const painter = signal<typeof PaintHunk | null>(null);
const painted = new WeakMap<DiffHunk, ReturnType<typeof PaintHunk>>();

const BLOCK = 200;
/** Number of lines of one file that are shown at once. */
const STEP = 1_000;
/** Number of lines shown before the target line. */
const BEFORE = 200;

interface FileProps {
  file: DiffFile;
  isOpen: boolean;
  onOpen(isOpen: boolean): void;
  commenting: Commenting | null;
  /** Line that the address of the page names. */
  target: string | null;
  isSplit: boolean;
  viewed: Viewed | null;
  /** Run whose images can be loaded. */
  run: string | null;
}

/** Whether the user has marked a file as viewed, and a function that toggles the mark. */
export interface Viewed {
  isViewed: boolean;
  turn(): void;
}

export function FileDiff({ file, isOpen, onOpen, commenting, target, isSplit, viewed, run }: FileProps) {
  const rows = rowsOf(file);
  const text = useMemo(() => textOf(file), [file]);
  return (
    <section class="diff-file" aria-label={visibleText(file.path)} data-path={file.path}>
      <h3>
        <button type="button" class="diff-fold" aria-expanded={isOpen} onClick={() => onOpen(!isOpen)}>
          <span class="diff-path">{visibleText(file.path)}</span>
        </button>
        <span class="soft">
          {file.change !== 'changed' && file.change}
          {file.oldPath !== null && <> from {visibleText(file.oldPath)}</>}
          {file.modes !== null && <> mode {file.modes}</>}
        </span>
        <Lines lines={file.isBinary ? null : file} />
        <Copy text={file.path} label="path" />
        {viewed && (
          <label class="diff-viewed">
            <input type="checkbox" checked={viewed.isViewed} onChange={viewed.turn} /> viewed
          </label>
        )}
      </h3>
      <HiddenWarning text={text} where="This file" />
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable
        <div class={`diff-body ${isSplit ? 'is-split' : ''}`} tabIndex={0}>
          {file.isBinary && run !== null && isImage(file.path) ? (
            <ImageVersions run={run} path={file.path} />
          ) : (
            file.isBinary && <p class="soft diff-note">Binary file: no lines to show.</p>
          )}
          {!file.isBinary && rows === 0 && <p class="soft diff-note">Content unchanged.</p>}
          <Hunks {...{ file, commenting, target, isSplit }} />
        </div>
      )}
    </section>
  );
}

type HunksProps = Pick<FileProps, 'file' | 'commenting' | 'target' | 'isSplit'>;

function Hunks({ file, commenting, target, isSplit }: HunksProps) {
  const paintHunk = useHunkPaint();
  const [shown, setShown] = useState({ from: 0, until: STEP });
  useEffect(() => {
    const at = target === null ? -1 : rowOf(file, target);
    if (at >= 0 && (at < shown.from || at >= shown.until))
      setShown({ from: Math.max(0, at - BEFORE), until: at - BEFORE + STEP });
  }, [file, target]);
  const total = rowsOf(file);
  return (
    <>
      {shown.from > 0 && (
        <More
          onClick={() => setShown({ ...shown, from: Math.max(0, shown.from - STEP) })}
          text={`Show earlier lines (${total.toLocaleString()} in total)`}
        />
      )}
      {partsOf(file, shown).map(({ hunk, index, from, until, hasHead }) => (
        <div key={index} class="diff-hunk" role="table" aria-label={`Change at line ${hunk.newStart}`}>
          {hasHead && (
            <div class="diff-head" role="row">
              <span role="cell">
                @@ −{hunk.oldStart} +{hunk.newStart} @@{' '}
                <span class="plain-line">{visibleText(hunk.context)}</span>
              </span>
            </div>
          )}
          {blocks(from, until).map(block => (
            <DiffRows
              key={block.from}
              {...{ file, hunk, commenting, target, isSplit }}
              {...block}
              paint={paintHunk?.(file.path, hunk) ?? null}
            />
          ))}
        </div>
      ))}
      {total > shown.until && (
        <More
          onClick={() => setShown({ ...shown, until: shown.until + STEP })}
          text={`Show more lines (${total.toLocaleString()} in total)`}
        />
      )}
    </>
  );
}

function More({ text, onClick }: { text: string; onClick(): void }) {
  return (
    <p class="diff-note">
      <button type="button" class="button" onClick={onClick}>
        {text}
      </button>
    </p>
  );
}

const textOf = (file: DiffFile): string =>
  [file.path, ...file.hunks.flatMap(({ lines }) => lines.map(({ text }) => lineText(text)))].join('\n');

/** Divides lines into blocks. Their boundaries do not depend on the visible range, so drawn blocks can be reused. */
function blocks(from: number, until: number): { from: number; until: number }[] {
  const list: { from: number; until: number }[] = [];
  for (let at = from; at < until; ) {
    const end = Math.min(until, (Math.floor(at / BLOCK) + 1) * BLOCK);
    list.push({ from: at, until: end });
    at = end;
  }
  return list;
}
