import { describe, expect, test } from 'vitest';
import { ArgumentRule } from '../../schema/mcp-config.ts';
import { brokenRule, type Origins } from './argument-rules.ts';

const rule = (more: object): ArgumentRule =>
  ArgumentRule.parse({ server: 'files', argument: 'path', ...more });
const ORIGINS = { workspaceRoot: '/w/project', serverFolder: '/w/project' };
const broken = (more: object, args: unknown, tool = 'read') =>
  brokenRule([rule(more)], tool, args, ORIGINS)?.rule ?? null;

const below = (path: string, { under, ...origins }: { under: string[] } & Partial<Origins>) =>
  brokenRule([rule({ under })], 'read', { path }, { ...ORIGINS, ...origins }) === null;

describe('a path under a folder', () => {
  const IN = [
    'src',
    'src/a',
    './src/a',
    '/w/project/src',
    '/w/project/src/a/../b',
    'x/../src/a',
    '../project/src/a',
  ];
  const OUT: unknown[] = [
    ...[
      '',
      '.',
      '..',
      'srcs',
      'src/..',
      'src/../../..',
      '/w/project',
      '/w/project/srcs/a',
      '/etc/passwd',
      '//etc',
    ],
    ...[
      'src\\..\\..\\x',
      'src/a\0.ts',
      'src/a\n',
      ' src/a',
      'src/a ',
      '\u00a0src',
      '~',
      '~/src',
      '~root/src',
    ],
    ...[
      'file:///etc/passwd',
      'file:/etc',
      'file:src',
      'C:/x',
      'c:src',
      'https://x/src',
      'src/%2e%2e/%2E%2E/x',
      '%2fetc',
    ],
    ...['src/%5c..', 7, true, null, {}, { path: 'src' }, { toString: 'src' }],
  ];

  test('is below it when every .. is followed', () => {
    expect(IN.filter(path => broken({ under: ['src'] }, { path }) !== null)).toEqual([]);
    expect(IN.filter(path => broken({ under: ['/w/project/src/'] }, { path }) !== null)).toEqual([]);
  });

  test('is refused outside, and in every form that a program might read as another path', {
    tags: ['B4', 'path-traversal'],
  }, () => {
    expect(OUT.filter(path => broken({ under: ['src'] }, { path }) === null)).toEqual([]);
  });

  test('may be below one of several folders, or anywhere below the root', () => {
    expect(broken({ under: ['docs', 'src'] }, { path: 'src/a' })).toBeNull();
    expect(broken({ under: ['/'] }, { path: '/etc/passwd' })).toBeNull();
  });

  test('is below nothing where the folder has a variable left or the workspace is not absolute', () => {
    expect(broken({ under: ['$' + '{HOME}/src'] }, { path: 'src/a' })).toBe('under');
    expect(below('a', { under: ['/'], workspaceRoot: 'relative' })).toBe(false);
  });
});

describe('a relative path', () => {
  test('counts from the folder the server works in, the folders of a rule from the workspace', () => {
    const inEtc = { under: ['.'], serverFolder: '/etc' };
    expect(below('passwd', inEtc)).toBe(false);
    expect(below('../w/project/src/a', inEtc)).toBe(true);
    expect(below('a', { under: ['src'], serverFolder: '/w/project/src' })).toBe(true);
    expect(below('src/a', { under: ['src'], serverFolder: '/w/project/src' })).toBe(true);
    expect(below('../a', { under: ['src'], serverFolder: '/w/project/src' })).toBe(false);
  });

  test('is below nothing where nobody knows that folder; an absolute one is what it is', () => {
    for (const serverFolder of [null, 'relative', '']) {
      expect(below('src/a', { under: ['src', '/'], serverFolder })).toBe(false);
      expect(below('/w/project/src/a', { under: ['src'], serverFolder })).toBe(true);
      expect(below('/etc/passwd', { under: ['src'], serverFolder })).toBe(false);
    }
  });
});

describe('values that rules check', () => {
  test.each([
    // rule, arguments, what is broken
    [{ allow: ['main', 'feature/*'] }, { path: 'main' }, null],
    [{ allow: ['main', 'feature/*'] }, { path: 'feature/x/y' }, null],
    [{ allow: ['main'] }, { path: 'mainly' }, 'allow'],
    [{ allow: ['main'] }, {}, 'allow'],
    [{ allow: ['*'] }, { path: {} }, 'allow'],
    [{ allow: ['*'] }, { path: [] }, 'allow'],
    [{ allow: ['*'] }, { path: [['a'], 'b'] }, null],
    [{ allow: ['a'] }, { path: ['a', 'b'] }, 'allow'],
    [{ allow: ['7'] }, { path: 7 }, null],
    [{ allow: ['true'] }, { path: true }, null],
    [{ allow: ['null'] }, { path: null }, null],
    [{ deny: ['*secret*'] }, {}, null],
    [{ deny: ['*secret*'] }, { path: 'a secret b' }, 'deny'],
    [{ deny: ['*secret*'] }, { path: { a: [{ b: 'secret' }] } }, 'deny'],
    [{ deny: ['*secret*'] }, { path: { secret: 1 } }, 'deny'],
    [{ deny: ['7'] }, { path: [1, 7] }, 'deny'],
    [{ deny: ['7'] }, { other: 7 }, null],
    [{ under: ['src'] }, {}, 'under'],
    [{ maxLength: 3 }, {}, null],
    [{ maxLength: 3 }, { path: 'abc' }, null],
    [{ maxLength: 3 }, { path: 'abcd' }, 'maxLength'],
    [{ maxLength: 3 }, { path: ['abc', 'def'] }, null],
    [{ maxLength: 3 }, { path: { ab: 'cd' } }, 'maxLength'],
    [{ maxLength: 3 }, { path: 1_000 }, 'maxLength'],
    // Several checks in one rule all count.
    [{ allow: ['a*'], deny: ['*b'] }, { path: 'ab' }, 'deny'],
    [{ allow: ['a*'], maxLength: 1 }, { path: 'ab' }, 'maxLength'],
  ])('%j of %j breaks %j', (more, args, check) => {
    expect(broken(more, args)).toBe(check);
  });

  test.each([
    ['options.target', { options: { target: 'bad' } }, 'deny'],
    ['options.target', { 'options.target': 'bad' }, 'deny'],
    ['options.target', { options: {}, 'options.target': 'bad' }, 'deny'],
    ['options.target', { options: [{ target: 'good' }, { target: 'bad' }] }, 'deny'],
    ['options.target', { options: 'bad' }, null],
    ['options.target', { target: 'bad' }, null],
    ['a.b.c', { 'a.b': { c: 'bad' } }, 'deny'],
    ['a.b.c', { a: { 'b.c': 'bad' } }, 'deny'],
  ])('the path %s in %j breaks %j', (argument, args, check) => {
    expect(broken({ argument, deny: ['bad'] }, args)).toBe(check);
  });

  test('an argument that one element of a list lacks is not there', () => {
    const items = [{ path: 'a' }, {}];
    expect(broken({ argument: 'items.path', allow: ['a'] }, { items })).toBe('allow');
    expect(broken({ argument: 'items.path', deny: ['b'] }, { items })).toBeNull();
  });

  test('inherited properties are not arguments', () => {
    for (const argument of ['toString', 'constructor.name', '__proto__'])
      expect(broken({ argument, allow: ['*'] }, {})).toBe('allow');
    expect(broken({ argument: '__proto__', deny: ['x'] }, JSON.parse('{"__proto__":"x"}'))).toBe('deny');
    expect(broken({ allow: ['*'] }, Object.create({ path: 'a' }))).toBe('allow');
  });

  test('arguments that are no object pass nothing, none at all are an empty one', () => {
    for (const args of ['text', 7, true, [], ['a']]) {
      expect(broken({ deny: ['x'] }, args)).toBe('deny');
      expect(broken({ maxLength: 9 }, args)).toBe('maxLength');
    }
    for (const args of [undefined, null]) {
      expect(broken({ deny: ['x'] }, args)).toBeNull();
      expect(broken({ allow: ['*'] }, args)).toBe('allow');
    }
  });

  test('a value that is too deep or too large to be checked passes no rule', () => {
    let deep: unknown = 'x';
    for (let level = 0; level < 5_000; level++) deep = level % 2 ? [deep] : { a: deep };
    expect(broken({ deny: ['y'] }, { path: deep })).toBe('deny');
    let lists: unknown = 'x';
    for (let level = 0; level < 50_000; level++) lists = [lists];
    expect(broken({ deny: ['y'] }, { path: lists })).toBe('deny');
    expect(broken({ deny: ['y'] }, { path: { a: lists } })).toBe('deny');
    expect(broken({ maxLength: 9_999 }, { path: { a: Array(100_001).fill(1) } })).toBe('maxLength');
    expect(broken({ deny: ['y'] }, { path: Array(100_001).fill('x') })).toBe('deny');
  });
});

test('a rule counts for its tools only, and the first broken one is named', () => {
  const only = { tool: ['write', 'move_*'], allow: ['a'] };
  expect(broken(only, {}, 'read')).toBeNull();
  expect(broken(only, {}, 'write')).toBe('allow');
  expect(broken(only, {}, 'move_file')).toBe('allow');
  const rules = [
    rule({ deny: ['x'] }),
    rule({ argument: 'to', allow: ['a'] }),
    rule({ argument: 'at', allow: ['a'] }),
  ];
  expect(brokenRule(rules, 'read', { path: 'y' }, ORIGINS)).toEqual({ rule: 'allow', argument: 'to' });
  expect(brokenRule([], 'read', { path: 'y' }, ORIGINS)).toBeNull();
});
