import { expect, test } from 'vitest';
import type { TracePart, TraceRole } from './conversation.ts';
import { runsByCall } from './conversation-view.ts';

const call = (id: string, name: string): TracePart => ({ type: 'tool_call', id, name, input: {} });
const result = (id: string, name: string): TracePart => ({
  ...{ type: 'tool_result', id, name, output: 'x', isError: false },
});
const nested = (id: string, createdAt: number, subagent: string | null = 'summarize') => ({
  id,
  createdAt,
  subagent,
});
const message = (at: number, parentId: string | null, role: TraceRole, content: TracePart[]) => ({
  ...{ id: `m${at}`, parentId, role, at, content },
});
const said = (at: number, ...content: TracePart[]) => message(at, null, 'assistant', content);
const came = (at: number, of: number, ...content: TracePart[]) => message(at, `m${of}`, 'tool', content);
const ran = (at: number, of: number, ...content: TracePart[]) => message(at, `m${of}`, 'program', content);

const placed = (messages: ReturnType<typeof message>[], runs: ReturnType<typeof nested>[]) =>
  Object.fromEntries([...runsByCall(messages, runs)].map(([id, all]) => [id, all.map(run => run.id)]));

test('a run belongs to the call that was under way when it was started', () => {
  const messages = [
    said(10, call('a', 'docs__ask')),
    came(20, 10, result('a', 'docs__ask')),
    said(30, call('b', 'docs__ask')),
    came(40, 30, result('b', 'docs__ask')),
  ];
  expect(placed(messages, [nested('r1', 15), nested('r2', 40), nested('r3', 25), nested('r4', 5)])).toEqual({
    'm10 a': ['r1'],
    'm30 b': ['r2'],
  });
});

test('calls that are numbered anew in each turn of the model are different calls', () => {
  const messages = [
    said(10, call('call_0', 'docs__ask')),
    came(20, 10, result('call_0', 'docs__ask')),
    said(30, call('call_0', 'docs__ask')),
  ];
  expect(placed(messages, [nested('r1', 15), nested('r2', 35)])).toEqual({
    'm10 call_0': ['r1'],
    'm30 call_0': ['r2'],
  });
});

test('of several calls at once it is the one whose tool is the subagent', () => {
  const messages = [said(10, call('a', 'files__read'), call('b', 'docs__summarize'))];
  expect(placed(messages, [nested('r1', 15), nested('r2', 16)])).toEqual({ 'm10 b': ['r1', 'r2'] });
});

test('an ambiguous call is not named', () => {
  const two = [said(10, call('a', 'x__summarize'), call('b', 'y__summarize'))];
  expect(placed(two, [nested('r1', 15)])).toEqual({});
  const others = [said(10, call('a', 'files__read'), call('b', 'files__list'))];
  expect(placed(others, [nested('r1', 15, null)])).toEqual({});
});

test('a run that a program started belongs to the call in it, or else to the program', () => {
  const inside = (id: string, name: string, at: number): TracePart[] => [
    { ...call(id, name), within: 'p', at } as TracePart,
  ];
  const begun = [said(10, call('p', 'run_program'))];
  const one = [...begun, ran(90, 10, ...inside('p.1', 'docs__ask', 12))];
  expect(placed(one, [nested('r1', 15, null)])).toEqual({ 'm10 p.1': ['r1'] });
  const two = [
    ...begun,
    ran(90, 10, ...inside('p.1', 'x__summarize', 12), ...inside('p.2', 'x__summarize', 13)),
  ];
  expect(placed(two, [nested('r1', 15), nested('r2', 11)])).toEqual({ 'm10 p': ['r1', 'r2'] });
});
