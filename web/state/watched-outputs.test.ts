import { expect, test } from 'vitest';
import type { ClientMessage } from '../../src/schema/live.ts';
import { WatchedOutputs } from './watched-outputs.ts';

const target = { runId: 'run_0000000000', turn: 1, stream: 'stdout' } as const;

test('an output with several readers is watched once, and unwatched when the last reader leaves', () => {
  const said: ClientMessage['type'][] = [];
  const outputs = new WatchedOutputs(({ type }) => said.push(type));
  const grown: string[] = [];
  const first = outputs.add(target, size => grown.push(`first ${size}`));
  const second = outputs.add({ ...target }, size => grown.push(`second ${size}`));
  outputs.grew(target, { size: 10, isOver: false, messages: 0 });
  first();
  first();
  outputs.grew(target, { size: 20, isOver: true, messages: 0 });
  second();
  outputs.grew(target, { size: 30, isOver: true, messages: 0 });
  expect(said).toEqual(['watch', 'unwatch']);
  expect(grown).toEqual(['first 10', 'second 10', 'second 20']);
});

test('after a reconnect every watched output is watched again', () => {
  const said: string[] = [];
  const outputs = new WatchedOutputs(({ type, stream }) => said.push(`${type} ${stream}`));
  outputs.add(target, () => {});
  outputs.add({ ...target, stream: 'stderr' }, () => {});
  said.length = 0;
  outputs.watchAll();
  expect(said).toEqual(['watch stdout', 'watch stderr']);
});
