import type { RunCard } from '../../../../src/schema/run-card.ts';
import { runName } from '../../../../src/schema/run-text.ts';
import { shownDuration } from '../../../ui/figures.ts';
import { type Mark, markName } from './timeline-marks.tsx';
import { type Piece, piecesOf, type ShownTurn } from './timeline-scale.ts';
import type { TreeRow } from './tree.ts';

/** An item in a row that can be selected. */
export type Item = {
  key: string;
  runId: string;
  row: number;
  from: number;
  to: number;
  words: string;
  /** True if somebody stopped the run on purpose. That is no failure. */
  isStopped: boolean;
} & ({ piece: Piece; mark: null } | { piece: null; mark: Mark });

export function itemsOf(
  rows: readonly TreeRow[],
  turns: readonly ShownTurn[],
  marks: readonly Mark[],
  now: number,
): Item[] {
  const turnsOf = Map.groupBy(turns, ({ runId }) => runId);
  const marksOf = Map.groupBy(marks, ({ runId }) => runId as string);
  return rows.flatMap(({ card, id }, row) => [
    ...piecesOf(card, turnsOf.get(id) ?? [], now).map(piece => ({
      ...{ key: `${id} ${piece.kind} ${piece.number ?? piece.from}`, runId: id, row, piece, mark: null },
      ...{
        from: piece.from,
        to: piece.to,
        words: describePiece(card, piece),
        isStopped: isStopped(card, piece),
      },
    })),
    ...(marksOf.get(id) ?? []).map((mark, index) => ({
      ...{
        key: `${id} mark ${index}`,
        runId: id,
        row,
        piece: null,
        mark,
        from: mark.at,
        to: mark.at,
        isStopped: false,
      },
      words: `${runName(card)}: ${markName(mark.kind)} at ${clockTime(mark.at)}. ${mark.text}`,
    })),
  ]);
}

function describePiece(card: RunCard, { kind, number, from, to, isOpen, exitCode }: Piece): string {
  const what = kind === 'turn' ? `turn ${number}` : kind === 'queued' ? 'queued' : 'waiting';
  const until = isOpen ? 'still running' : `to ${clockTime(to)}`;
  const exit = kind !== 'turn' || isOpen ? '' : `, exit ${exitCode ?? 'unknown'}`;
  return `${runName(card)}: ${what}, ${clockTime(from)} ${until}, ${shownDuration(to - from)}${exit}`;
}

const isStopped = ({ status, turn }: RunCard, { kind, number }: Piece) =>
  kind === 'turn' && number === turn && /^(cancelled|terminated|abandoned)$/.test(status);

/** The next item in the direction of an arrow key: by time within a row, nearest in time between rows. */
export function nextItem(items: readonly Item[], current: string, key: string): Item | null {
  const at = items.find(item => item.key === current);
  if (!at) return null;
  const along = items
    .filter(({ row }) => row === at.row)
    .sort((one, other) => one.from - other.from || one.to - other.to);
  const place = along.indexOf(at);
  if (key === 'ArrowRight') return along[place + 1] ?? null;
  if (key === 'ArrowLeft') return along[place - 1] ?? null;
  if (key === 'Home') return along[0] ?? null;
  if (key === 'End') return along.at(-1) ?? null;
  if (key !== 'ArrowUp' && key !== 'ArrowDown') return null;
  const rows = [...new Set(items.map(({ row }) => row))].sort((one, other) => one - other);
  const row = rows[rows.indexOf(at.row) + (key === 'ArrowDown' ? 1 : -1)];
  const far = ({ from }: Item) => Math.abs(from - at.from);
  return items.filter(item => item.row === row).sort((one, other) => far(one) - far(other))[0] ?? null;
}

const two = (value: number) => String(value).padStart(2, '0');

function clockTime(at: number): string {
  const when = new Date(at);
  return `${two(when.getHours())}:${two(when.getMinutes())}:${two(when.getSeconds())}`;
}
