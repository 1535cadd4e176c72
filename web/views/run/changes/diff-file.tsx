import { useState } from 'preact/hooks';
import { Copy } from '../../../ui/copy.tsx';
import { harmless } from '../../../ui/harmless.ts';
import { Lines } from '../../../ui/usage.tsx';
import { rowsOf } from './diff-place.ts';
import { type Commenting, DiffRows } from './diff-rows.tsx';
import type { DiffFile } from './parse-diff.ts';

const BLOCK = 200;
/** Of one file at once; more when asked for. */
const STEP = 2_000;

interface FileProps {
  file: DiffFile;
  isOpen: boolean;
  onOpen(isOpen: boolean): void;
  commenting: Commenting | null;
  /** The line the address means. */
  target: string | null;
}

export function FileDiff({ file, isOpen, onOpen, commenting, target }: FileProps) {
  const rows = rowsOf(file);
  return (
    <section class="diff-file" aria-label={file.path} data-path={file.path}>
      <h3>
        <button type="button" class="diff-fold" aria-expanded={isOpen} onClick={() => onOpen(!isOpen)}>
          <span class="diff-path">{harmless(file.path)}</span>
        </button>
        <span class="soft">
          {file.change !== 'changed' && file.change}
          {file.oldPath !== null && <> from {harmless(file.oldPath)}</>}
          {file.modes !== null && <> mode {file.modes}</>}
        </span>
        <Lines lines={file.isBinary ? null : file} />
        <Copy text={file.path} label="path" />
      </h3>
      {isOpen && (
        <div class="diff-body">
          {file.isBinary && <p class="soft diff-note">A binary file: there are no lines to show.</p>}
          {!file.isBinary && rows === 0 && <p class="soft diff-note">Its content is the same.</p>}
          <Hunks {...{ file, commenting, target }} />
        </div>
      )}
    </section>
  );
}

function Hunks({ file, commenting, target }: Pick<FileProps, 'file' | 'commenting' | 'target'>) {
  const [most, setMost] = useState(() => Math.max(STEP, target === null ? 0 : rowsUntil(file, target)));
  let left = most;
  return (
    <>
      {file.hunks.map((hunk, index) => {
        if (left <= 0) return null;
        const shown = Math.min(left, hunk.lines.length);
        left -= shown + 1;
        return (
          <div key={index} class="diff-hunk">
            <div class="diff-head" tabIndex={-1}>
              @@ −{hunk.oldStart} +{hunk.newStart} @@ <span class="plain-line">{harmless(hunk.context)}</span>
            </div>
            {Array.from({ length: Math.ceil(shown / BLOCK) }, (_, at) => (
              <DiffRows
                key={at}
                {...{ file, hunk, commenting, target }}
                from={at * BLOCK}
                until={Math.min(shown, (at + 1) * BLOCK)}
              />
            ))}
          </div>
        );
      })}
      {rowsOf(file) > most && (
        <p class="diff-note">
          <button type="button" class="button" onClick={() => setMost(most + STEP)}>
            Show more of its {rowsOf(file).toLocaleString()} lines
          </button>
        </p>
      )}
    </>
  );
}

/** So many rows have to be drawn for this line to be among them. */
function rowsUntil(file: DiffFile, target: string): number {
  const match = /:([LR])(\d+)$/.exec(target);
  const line = Number(match?.[2]);
  let rows = 0;
  for (const hunk of file.hunks) {
    rows++;
    for (const one of hunk.lines) {
      rows++;
      if ((match?.[1] === 'L' ? one.oldLine : one.newLine) === line) return rows + BLOCK;
    }
  }
  return 0;
}
