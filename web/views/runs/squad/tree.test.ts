import { describe, expect, it } from 'vitest';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { treeMove, treeOf, visibleRows } from './tree.ts';

describe('treeOf', () => {
  it('puts children below the run that started them and reviewers below the run they review', () => {
    const tree = treeOf([
      card('run_c', 3, { parentId: 'run_a', reviewOf: 'run_b' }),
      card('run_a', 1),
      card('run_b', 2, { parentId: 'run_a' }),
    ]);
    expect(shape(tree)).toEqual([['run_a', [['run_b', [['run_c', []]]]]]]);
  });

  it('takes a run whose starter is not there for a root', () => {
    expect(shape(treeOf([card('run_a', 1, { parentId: 'run_gone' })]))).toEqual([['run_a', []]]);
  });

  it('shows every run of a ring', () => {
    const tree = treeOf([card('run_a', 1, { parentId: 'run_b' }), card('run_b', 2, { parentId: 'run_a' })]);
    expect(visibleRows(tree, new Set()).map(({ id }) => id)).toEqual(['run_a', 'run_b']);
  });

  it('has the oldest first, and those of one moment as they came', () => {
    expect(treeOf([card('run_b', 1), card('run_a', 1)]).map(node => node.card.id)).toEqual([
      ...['run_b', 'run_a'],
    ]);
    expect(treeOf([card('run_b', 2), card('run_a', 1)]).map(node => node.card.id)).toEqual([
      'run_a',
      'run_b',
    ]);
  });
});

describe('visibleRows', () => {
  it('says level, place and number of siblings', () => {
    const rows = visibleRows(family(), new Set());
    expect(
      rows.map(({ id, level, place, siblings, isOpen }) => [id, level, place, siblings, isOpen]),
    ).toEqual([
      ['run_a', 1, 1, 2, true],
      ['run_b', 2, 1, 1, false],
      ['run_c', 1, 2, 2, false],
    ]);
  });

  it('leaves out what is below a closed one', () => {
    const rows = visibleRows(family(), new Set(['run_a']));
    expect(rows.map(({ id, hasChildren, isOpen }) => [id, hasChildren, isOpen])).toEqual([
      ['run_a', true, false],
      ['run_c', false, false],
    ]);
  });
});

describe('treeMove', () => {
  const open = visibleRows(family(), new Set());
  const closed = visibleRows(family(), new Set(['run_a']));

  it('goes up and down the lines that can be seen, and stops at the ends', () => {
    expect(treeMove(open, 'run_a', 'ArrowDown')).toEqual({ focus: 'run_b' });
    expect(treeMove(open, 'run_c', 'ArrowUp')).toEqual({ focus: 'run_b' });
    expect(treeMove(open, 'run_c', 'ArrowDown')).toBeNull();
    expect(treeMove(open, 'run_b', 'End')).toEqual({ focus: 'run_c' });
    expect(treeMove(open, 'run_b', 'Home')).toEqual({ focus: 'run_a' });
  });

  it('opens and goes in with the right arrow, goes out and closes with the left one', () => {
    expect(treeMove(closed, 'run_a', 'ArrowRight')).toEqual({ open: 'run_a' });
    expect(treeMove(open, 'run_a', 'ArrowRight')).toEqual({ focus: 'run_b' });
    expect(treeMove(open, 'run_b', 'ArrowLeft')).toEqual({ focus: 'run_a' });
    expect(treeMove(open, 'run_a', 'ArrowLeft')).toEqual({ close: 'run_a' });
    expect(treeMove(open, 'run_b', 'ArrowRight')).toBeNull();
  });

  it('does nothing for other keys and for a line that is gone', () => {
    expect(treeMove(open, 'run_a', 'x')).toBeNull();
    expect(treeMove(closed, 'run_b', 'ArrowDown')).toBeNull();
  });
});

function family() {
  return treeOf([card('run_a', 1), card('run_b', 2, { parentId: 'run_a' }), card('run_c', 3)]);
}

type Shape = [string, Shape[]];
const shape = (nodes: ReturnType<typeof treeOf>): Shape[] =>
  nodes.map(({ card: { id }, children }) => [id, shape(children)]);

function card(id: string, createdAt: number, more: Record<string, unknown> = {}): RunCard {
  return { id, createdAt, parentId: null, reviewOf: null, ...more } as unknown as RunCard;
}
