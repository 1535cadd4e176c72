import { expect, test } from 'vitest';
import type { RunCard } from '../../../../src/schema/run-card.ts';
import { sampleCard } from '../../../testing/sample-card.ts';
import { type BoardSquad, lanesOf } from './board-lanes.ts';

const done = { need: 'done', status: 'completed', endedAt: 1 } as const;
const SQUAD = 'squad_1111111111' as BoardSquad['id'];
const squad = (...members: string[]): BoardSquad => ({
  id: SQUAD,
  name: 'Uploads',
  members: members as RunCard['id'][],
});

test('a lane for each workspace, and the newest card first', () => {
  const cards = [
    sampleCard({ id: 'old', createdAt: 1 }),
    sampleCard({ id: 'new', createdAt: 2 }),
    sampleCard({ id: 'other', workspace: '/another' }),
    sampleCard({ id: 'ready', ...done, branchState: 'ready' }),
  ];
  const [another, project] = lanesOf(cards, []);
  expect(another).toMatchObject({ workspace: '/another', columns: { working: [{ ids: ['other'] }] } });
  expect(project?.columns.working.map(({ ids }) => ids)).toEqual([['new'], ['old']]);
  expect(project?.columns.ready).toEqual([{ squadId: null, ids: ['ready'] }]);
});

test('a squad is one card, with its members in their order, where the most urgent one is', () => {
  const cards = [
    sampleCard({ id: 'b', squadId: SQUAD, ...done, branchState: 'ready' }),
    sampleCard({ id: 'a', squadId: SQUAD, need: 'needs_you' }),
    sampleCard({ id: 'alone' }),
  ];
  const [lane] = lanesOf(cards, [squad('a', 'b')]);
  expect(lane?.columns.needs_you).toEqual([{ squadId: SQUAD, ids: ['a', 'b'] }]);
  expect(lane?.columns.working).toEqual([{ squadId: null, ids: ['alone'] }]);
  expect(lane?.columns.ready).toEqual([]);
});

test('a reviewer has no card of its own', () => {
  expect(lanesOf([sampleCard({ id: 'r', reviewOf: 'run_a' as RunCard['id'] })], [])).toEqual([]);
});
