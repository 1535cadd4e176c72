import { describe, expect, it } from 'vitest';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { itemsOf, nextItem } from './timeline-items.ts';
import type { Mark } from './timeline-marks.tsx';
import { treeOf, visibleRows } from './tree.ts';

const rows = visibleRows(treeOf([card('run_a', 0, 5_000), card('run_b', 1_000, null)]), new Set());
const turns = [turn('run_a', 1, 0, 2_000), turn('run_a', 2, 3_000, 5_000), turn('run_b', 1, 2_500, null)];
const marks = [{ runId: 'run_a', at: 2_400, kind: 'review', text: 'round 1' }] as unknown as Mark[];
const items = itemsOf(rows, turns, marks, 9_000);
const step = (key: string, arrow: string) => nextItem(items, key, arrow)?.key ?? null;

describe('itemsOf', () => {
  it('has turns, waits and marks of each row, with words that say all', () => {
    expect(items.map(({ key }) => key)).toEqual([
      ...[
        'run_a turn 1',
        'run_a wait 2000',
        'run_a turn 2',
        'run_a mark 0',
        'run_b queued 1000',
        'run_b turn 1',
      ],
    ]);
    expect(items[0]!.words).toMatch(/^coder: turn 1, \d\d:\d\d:\d\d to \d\d:\d\d:\d\d, 2s, exit 0$/);
    expect(items.at(-1)!.words).toMatch(/^coder: turn 1, \d\d:\d\d:\d\d still running, 6s$/);
    expect(items[3]!.words).toMatch(/^coder: review at \d\d:\d\d:\d\d\. round 1$/);
  });

  it('keeps the key of what grows, so that it stays in focus', () => {
    expect(itemsOf(rows, turns, marks, 99_000).map(({ key }) => key)).toEqual(items.map(({ key }) => key));
  });
});

describe('a turn that somebody ended', () => {
  const ended = (status: string) => {
    const run = { ...card('run_a', 0, 5_000), status, turn: 1 } as RunCard;
    const [item] = itemsOf(visibleRows(treeOf([run]), new Set()), [turn('run_a', 1, 0, 5_000)], [], 9_000);
    return item!.isStopped;
  };
  it('is no failure', () => {
    expect(['cancelled', 'terminated', 'abandoned'].map(ended)).toEqual([true, true, true]);
    expect(['error', 'timeout', 'lost', 'completed'].some(ended)).toBe(false);
  });
});

describe('nextItem', () => {
  it('goes along a row by time', () => {
    expect(step('run_a turn 1', 'ArrowRight')).toBe('run_a wait 2000');
    expect(step('run_a wait 2000', 'ArrowRight')).toBe('run_a mark 0');
    expect(step('run_a turn 1', 'ArrowLeft')).toBeNull();
    expect(step('run_a turn 1', 'End')).toBe('run_a turn 2');
  });

  it('goes to what is nearest in time on another row', () => {
    expect(step('run_a turn 2', 'ArrowDown')).toBe('run_b turn 1');
    expect(step('run_a turn 1', 'ArrowDown')).toBe('run_b queued 1000');
    expect(step('run_b turn 1', 'ArrowDown')).toBeNull();
    expect(step('gone', 'ArrowDown')).toBeNull();
  });
});

function turn(runId: string, number: number, startedAt: number, endedAt: number | null) {
  return { runId, number, startedAt, endedAt, exitCode: endedAt === null ? null : 0 };
}

function card(id: string, createdAt: number, endedAt: number | null): RunCard {
  const base = { id, createdAt, endedAt, parentId: null, reviewOf: null };
  return { ...base, roleId: 'coder', engine: 'scripted' } as unknown as RunCard;
}
