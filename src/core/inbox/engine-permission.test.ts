import { describe, expect, test } from 'vitest';
import type { InboxItem } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import { isSame, wordingOf } from './ask.ts';
import { isAllowedForRun, permissionAsk, toPermissionAnswer } from './engine-permission.ts';

const ask = (tool: string, input: Record<string, unknown>, id: string | null = null) =>
  permissionAsk('Claude Code', { tool, input, id });
const wording = (input: Record<string, unknown>, id: string | null = null) =>
  wordingOf({ run: {} as Run, ...ask('Bash', input, id) });

describe('the question that the user sees', () => {
  test('names the engine and its tool; the command is as it would be typed', () => {
    expect(ask('Bash', { command: 'npm test &&\n  git push' })).toEqual({
      kind: 'permission',
      source: 'Bash',
      question: 'Claude Code wants to run: Bash',
      details: 'npm test &&\n  git push',
      to: 'user',
    });
  });

  test('other inputs of a command follow it, and a command that could pass for them is shown as JSON', () => {
    expect(ask('Bash', { timeout: 5, command: 'ls\npwd' }).details).toBe('ls\npwd\n\nWith: {"timeout":5}');
    const command = 'ls\n\nWith: {"timeout":1}';
    expect(ask('Bash', { command, run_in_background: true }).details).toBe(
      `${JSON.stringify(command)}\n\nWith: {"run_in_background":true}`,
    );
  });

  test('arguments of other tools are JSON', () => {
    const input = { content: 'a\n"b"', file_path: '/etc/hosts' };
    expect(JSON.parse(ask('Write', input).details!)).toEqual(input);
    // Which file it is must not be below what is written to it.
    expect(ask('Write', input).details).toMatch(/^{\s+"file_path"/);
    expect(JSON.parse(ask('Odd', { command: ['a', 'b'] }).details!)).toEqual({ command: ['a', 'b'] });
    expect(ask('Bare', {}).details).toBe('{}');
  });

  test('a name is one line, and never nothing', () => {
    expect(ask('Ba\nsh', {}).question).toBe('Claude Code wants to run: Ba sh');
    expect(ask('', {}).question).toContain('a tool without a name');
  });

  test.each([
    ['long', 'x'.repeat(200_000)],
    ['with a NUL', 'ls \0'],
    ['with half a character', 'ls \ud800'],
    ['of such all the way', '\ud83d'.repeat(30_000)],
  ])('a command %s can be asked about', (_, command) => {
    expect(wording({ command }).details).not.toBeNull();
  });

  test('a notice that the text was cut comes first', () => {
    const { details } = wording({ command: 'x'.repeat(100_001) });
    expect(details).toMatch(/^Only the first 30000 of 100001 characters are shown/);
  });

  test('a yes is for one use: only the same one again is the same question', () => {
    const use = (end: string, id: string | null) => wording({ command: `${'x'.repeat(100_000)}${end}` }, id);
    expect(isSame(use('a', 'toolu_1'), use('a', 'toolu_1'))).toBe(true);
    expect(isSame(use('a', 'toolu_1'), use('a', 'toolu_2'))).toBe(false);
    expect(isSame(use('a', 'toolu_1'), use('b', 'toolu_1'))).toBe(false);
    expect(isSame(use('a', null), use('a', null))).toBe(false);
  });
});

describe('the decision that the engine gets', () => {
  const item = (state: InboxItem['state'], answer: string | null, who: 'user' | 'default' = 'user') =>
    ({ state, answer, answeredBy: { who, via: who === 'user' ? 'page' : null } }) as InboxItem;

  test.each(['yes', 'always'])('a %s is leave', answer =>
    expect(toPermissionAnswer(item('answered', answer))).toEqual({ isGiven: true }),
  );

  test('an always is for the same command with other words about it, and for nothing else', () => {
    const key = (tool: string, input: Record<string, unknown>, id: string) => ask(tool, input, id).useKey;
    const earlier = (answer: string, tool: string, input: Record<string, unknown>) => [
      { ...item('answered', answer), useKey: key(tool, input, 'a') },
    ];
    const test = { command: 'npm test', description: 'Tests' };
    const allowed = earlier('always', 'Bash', test);
    expect(isAllowedForRun(allowed, key('Bash', { ...test, description: 'Again' }, 'b'))).toBe(true);
    expect(isAllowedForRun(earlier('yes', 'Bash', test), key('Bash', test, 'b'))).toBe(false);
    expect(isAllowedForRun(allowed, key('Bash', { command: 'npm test x' }, 'b'))).toBe(false);
    expect(isAllowedForRun(allowed, key('Write', test, 'b'))).toBe(false);
    const issue = earlier('always', 'create_issue', { title: 'a', description: 'b' });
    expect(isAllowedForRun(issue, key('create_issue', { title: 'a', description: 'c' }, 'b'))).toBe(false);
    expect(isAllowedForRun(allowed, undefined)).toBe(false);
  });

  test.each([
    [item('answered', 'no'), 'the user (page) said no. Do not'],
    [item('answered', 'no: use pnpm'), 'the user (page) said no: use pnpm. Do not'],
    [item('answered', 'no: why?'), 'the user (page) said no: why? Do not'],
    [item('expired', 'no', 'default'), 'nobody answered in time'],
    // Whatever stands there: nobody has said it.
    [item('expired', 'yes', 'default'), 'nobody answered in time'],
    [item('withdrawn', null), 'withdrawn'],
  ])('%j is none, and it reads why', (settled, why) =>
    expect(toPermissionAnswer(settled)).toEqual({ isGiven: false, why: expect.stringContaining(why) }),
  );
});
