import type { Output } from '../../../../src/operations/operations.ts';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import {
  BOARD_COLUMNS,
  type BoardColumn,
  columnOf,
  columnOfSquad,
} from '../../../../src/schema/shown-status.ts';

export type BoardSquad = Output<'list_columns'>['squads'][number];

/** A card of the board: one run, or a squad with all its members. */
export interface BoardEntry {
  squadId: string | null;
  ids: string[];
}

export interface Lane {
  workspace: string;
  columns: Record<BoardColumn, BoardEntry[]>;
}

interface Placed {
  entry: BoardEntry;
  column: BoardColumn;
  first: RunCard;
}

/** Returns one lane per workspace, sorted by path. The newest card of each column comes first. */
export function lanesOf(cards: readonly RunCard[], squads: readonly BoardSquad[]): Lane[] {
  const known = new Map(cards.map(card => [card.id as string, card]));
  const inSquads = new Set<string>();
  const placed: Placed[] = [];
  for (const { id, members } of squads) {
    const found = members.flatMap(member => known.get(member) ?? []);
    for (const { id: member } of found) inSquads.add(member);
    place({ squadId: id, ids: found.map(card => card.id) }, columnOfSquad(found), found[0]);
  }
  for (const card of cards)
    if (!inSquads.has(card.id)) place({ squadId: null, ids: [card.id] }, columnOf(card), card);
  placed.sort((a, b) => b.first.createdAt - a.first.createdAt || (a.first.id < b.first.id ? -1 : 1));
  const lanes = new Map<string, Lane>();
  for (const { entry, column, first } of placed) {
    const lane = lanes.get(first.workspace) ?? { workspace: first.workspace, columns: emptyColumns() };
    lane.columns[column].push(entry);
    lanes.set(first.workspace, lane);
  }
  return [...lanes.values()].sort((a, b) => (a.workspace < b.workspace ? -1 : 1));

  function place(entry: BoardEntry, column: BoardColumn | null, first: RunCard | undefined): void {
    if (column !== null && first) placed.push({ entry, column, first });
  }
}

export const emptyColumns = (): Lane['columns'] =>
  Object.fromEntries(BOARD_COLUMNS.map(column => [column, [] as BoardEntry[]])) as Lane['columns'];
