import type { RunCard } from '../../../../src/schema/run-card.ts';

export interface TreeNode {
  card: RunCard;
  children: TreeNode[];
}

/** A row of the tree, with its position for screen readers. */
export interface TreeRow {
  id: string;
  card: RunCard;
  /** Level of the run in the tree, from 1. */
  level: number;
  parentId: string | null;
  place: number;
  siblings: number;
  hasChildren: boolean;
  isOpen: boolean;
}

/** Reviewers are below the run that they review, children below the run that started them. Oldest first, members in order. */
export function treeOf(cards: readonly RunCard[]): TreeNode[] {
  const known = new Map(cards.map(card => [card.id as string, card]));
  const below = new Map<string, RunCard[]>();
  const roots: RunCard[] = [];
  for (const card of [...known.values()].sort(byAge)) {
    const above = aboveOf(card, known);
    if (above === null) roots.push(card);
    else below.set(above, [...(below.get(above) ?? []), card]);
  }
  const node = (card: RunCard): TreeNode => ({ card, children: (below.get(card.id) ?? []).map(node) });
  return roots.map(node);
}

/** The rows to show, without those below a closed row. */
export function visibleRows(nodes: readonly TreeNode[], closed: ReadonlySet<string>): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (list: readonly TreeNode[], level: number, parentId: string | null) => {
    for (const [index, { card, children }] of list.entries()) {
      const isOpen = children.length > 0 && !closed.has(card.id);
      rows.push({
        ...{ id: card.id, card, level, parentId, isOpen },
        place: index + 1,
        siblings: list.length,
        hasChildren: children.length > 0,
      });
      if (isOpen) add(children, level + 1, card.id);
    }
  };
  add(nodes, 1, null);
  return rows;
}

export type TreeMove = { focus: string } | { open: string } | { close: string } | null;

/** Action of a key in a tree. Null if the key has none. */
export function treeMove(rows: readonly TreeRow[], focused: string, key: string): TreeMove {
  const at = rows.findIndex(({ id }) => id === focused);
  const row = rows[at];
  if (!row) return null;
  const focus = (other: TreeRow | undefined): TreeMove => (other ? { focus: other.id } : null);
  switch (key) {
    case 'ArrowDown':
      return focus(rows[at + 1]);
    case 'ArrowUp':
      return focus(rows[at - 1]);
    case 'Home':
      return focus(rows[0]);
    case 'End':
      return focus(rows.at(-1));
    case 'ArrowRight':
      if (!row.hasChildren) return null;
      return row.isOpen ? focus(rows[at + 1]) : { open: row.id };
    case 'ArrowLeft':
      if (row.isOpen) return { close: row.id };
      return row.parentId === null ? null : { focus: row.parentId };
    default:
      return null;
  }
}

const byAge = (one: RunCard, other: RunCard) => one.createdAt - other.createdAt;

/** Parent of a run in the tree. It must be known and not below the run itself: a cycle would hide all of its runs. */
function aboveOf(card: RunCard, known: ReadonlyMap<string, RunCard>): string | null {
  const next = ({ reviewOf, parentId }: RunCard): RunCard | undefined =>
    known.get(reviewOf ?? '') ?? known.get(parentId ?? '');
  const above = next(card);
  const seen = new Set<string>([card.id]);
  for (let each = above; each; each = next(each)) {
    if (seen.has(each.id)) return null;
    seen.add(each.id);
  }
  return above?.id ?? null;
}
