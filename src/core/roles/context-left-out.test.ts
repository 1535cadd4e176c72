import { expect, it } from 'vitest';
import { exclusionReason } from './context.ts';

const reasons = (files: Record<string, string>, loadedByEngine: string[] = []) =>
  Object.fromEntries(
    exclusionReason(
      Object.entries(files).map(([file, text]) => ({ file, text })),
      loadedByEngine,
    ),
  );

it('sends everything that says something of its own', () => {
  expect(reasons({ 'CLAUDE.md': 'a', 'AGENTS.md': 'b', 'own.md': 'c' })).toEqual({});
});

it('sends two files of the same content once', () => {
  expect(reasons({ 'CLAUDE.md': 'Rules\n', 'AGENTS.md': 'Rules\r\n' })).toEqual({
    'AGENTS.md': 'it is identical to CLAUDE.md',
  });
});

it('leaves out what the engine reads by itself, and its twin', () => {
  expect(reasons({ 'CLAUDE.md': 'Rules', 'AGENTS.md': 'Rules', 'own.md': 'x' }, ['AGENTS.md'])).toEqual({
    'CLAUDE.md': 'it is identical to AGENTS.md',
    'AGENTS.md': 'the engine reads it by itself',
  });
});

it('knows what CLAUDE.md brings in, when the engine reads that', () => {
  const files = { 'CLAUDE.md': 'First:\n@AGENTS.md\n```\n@own.md\n```', 'AGENTS.md': 'Rules', 'own.md': 'x' };
  expect(reasons(files, ['CLAUDE.md'])).toEqual({
    'CLAUDE.md': 'the engine reads it by itself',
    'AGENTS.md': 'the engine reads it by itself: CLAUDE.md includes it',
  });
  expect(reasons(files)).toEqual({});
});

it('does not take a file of that name elsewhere for the one the engine reads', () => {
  expect(reasons({ 'sub/CLAUDE.md': 'Rules', 'claude.md': 'Other' }, ['CLAUDE.md'])).toEqual({});
});

it('compares only files that go in whole', () => {
  expect(reasons({ 'PRD.md': '# Same', 'PLAN.md': '# Same' })).toEqual({});
});
