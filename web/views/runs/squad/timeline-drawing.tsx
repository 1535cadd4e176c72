import { runName } from '../../../../src/schema/run-text.ts';
import type { Item } from './timeline-items.ts';
import { MarkShape } from './timeline-marks.tsx';
import { boxOf, type Piece, type Span, ticksOf, xOf } from './timeline-scale.ts';
import type { TreeRow } from './tree.ts';

/** Height of a row, equal to a row of the tree. */
const ROW = 48;
const HEAD = 28;
const ROOM_FOR_LABEL = 60;
/** Heights inside a row, from the top: the label, the bars, then the marks, so that none covers another. */
const IN_ROW = { label: 12, bar: 24, mark: 40 };

export const heightOf = (rows: number): number => HEAD + rows * ROW;

/** Background of the bars: marks the selected row and, on small screens, labels each row. */
export function Rows({
  rows,
  selected,
  width,
}: {
  rows: readonly TreeRow[];
  selected: string | null;
  width: number;
}) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus; every bar says whose it is
    <g aria-hidden="true">
      {rows.map(({ id, card }, row) => (
        <g key={id}>
          <rect
            class={id === selected ? 'timeline-row chosen' : 'timeline-row'}
            {...{ x: 0, y: HEAD + row * ROW, width, height: ROW }}
          />
          <text class="timeline-label" x={4} y={HEAD + row * ROW + IN_ROW.label}>
            {runName(card)}
          </text>
        </g>
      ))}
    </g>
  );
}

/** Vertical lines at round times, across all rows. */
export function Ticks({ span, width, height }: { span: Span; width: number; height: number }) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in a group of lines and words takes the focus
    <g class="timeline-ticks" aria-hidden="true">
      {ticksOf(span, width).map(({ at, label }) => {
        const x = Math.round(xOf(span, width, at)) + 0.5;
        return (
          <g key={at}>
            <line x1={x} x2={x} y1={HEAD - 6} y2={height} />
            {x + ROOM_FOR_LABEL < width && (
              <text x={x + 3} y={HEAD - 12}>
                {label}
              </text>
            )}
          </g>
        );
      })}
    </g>
  );
}

/** Draws a bar or a mark. Null if it is outside the visible span. */
export function drawItem({ row, piece, mark, from, to, isStopped }: Item, span: Span, width: number) {
  const top = HEAD + row * ROW;
  if (mark) {
    if (mark.at < span.from || mark.at > span.to) return null;
    return <MarkShape kind={mark.kind} x={xOf(span, width, mark.at)} y={top + IN_ROW.mark} />;
  }
  const box = boxOf(span, width, { from, to });
  if (!box) return null;
  const thickness = piece.kind === 'turn' ? 14 : 4;
  const look = piece.kind === 'turn' ? turnStyle(piece, isStopped) : piece.kind;
  return (
    <rect
      class={`bar bar-${look}`}
      {...{ ...box, y: top + IN_ROW.bar - thickness / 2, height: thickness, rx: 2 }}
    />
  );
}

function turnStyle({ isOpen, exitCode }: Piece, isStopped: boolean): 'open' | 'off' | 'ok' | 'bad' {
  if (isOpen) return 'open';
  if (isStopped) return 'off';
  return exitCode === 0 ? 'ok' : 'bad';
}
