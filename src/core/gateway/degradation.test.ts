import { describe, expect, test } from 'vitest';
import { describeServerError, startNotice, type UnavailableServer, unavailableText } from './degradation.ts';

const state = (more: Partial<UnavailableServer> = {}): UnavailableServer => ({
  server: 'github',
  fault: 'it ended with code 1',
  retryInMs: 8_000,
  others: [],
  ownTools: true,
  ...more,
});
const files = { server: 'files', tools: ['files__read', 'files__write'] };

describe('a call to a server that is out of order', () => {
  test('is answered with what, why, when again, and what there is beside it', () => {
    expect(unavailableText(state({ others: [files] }))).toBe(
      'The server github is unavailable: it ended with code 1. It is tried again in 8 s; calling it before then does not help. ' +
        'Still there for your role: files (files__read, files__write). ' +
        'Continue with your own tools where they are enough, and say in your report what could not be done without this.',
    );
  });

  test('counts a server on its way', () => {
    const others = [{ server: 'files', tools: [], isStarting: true }];
    expect(unavailableText(state({ others }))).toContain('Still there for your role: files (starting).');
  });

  test('names no way that the role does not have', () => {
    const text = unavailableText(state({ others: [{ server: 'db', tools: [] }], ownTools: false }));
    expect(text).not.toMatch(/db|Still there|own tools|gh|curl|shell/);
    expect(text).toContain('Do what can be done without it');
  });

  test.each([
    [null, 'not tried again until its configuration changes'],
    [0, 'is being tried again now'],
    [-5, 'is being tried again now'],
    [1, 'tried again in 1 s'],
    [60_000, 'tried again in 60 s'],
    [119_000, 'tried again in 119 s'],
    [3_600_000, 'tried again in 60 min'],
  ])('says of %j ms: %s', (retryInMs, words) => {
    expect(unavailableText(state({ retryInMs }))).toContain(words);
  });

  test('keeps the fault to one clause and long lists short', () => {
    expect(unavailableText(state({ fault: ' line one\nline two.. ' }))).toContain(
      'unavailable: line one line two. It',
    );
    expect(unavailableText(state({ fault: '' }))).toContain('it does not answer.');
    expect(unavailableText(state({ fault: 'x'.repeat(9_000) })).length).toBeLessThan(700);
    const tools = Array.from({ length: 50 }, (_, index) => `t${index}`);
    const others = Array.from({ length: 20 }, (_, index) => ({ server: `s${index}`, tools }));
    const text = unavailableText(state({ others }));
    expect(text).toContain('t7 and 42 more');
    expect(text).toContain('and 14 more servers');
  });
});

describe('before it begins', () => {
  test('an agent reads of each unavailable server, and once which tools it still has', () => {
    const text = startNotice([
      state({ others: [files] }),
      state({ server: 'db', fault: 'DB_URL is not set', retryInMs: null }),
    ]);
    expect(text).toBe(
      [
        'Servers of your role are unavailable:',
        '- github: it ended with code 1; it is tried again in 8 s.',
        '- db: DB_URL is not set; it is not tried again until its configuration changes.',
        'Their tools appear when they are back. Still there for your role: files (files__read, files__write). ' +
          'Continue with your own tools where they are enough, and say in your report what could not be done without this.',
      ].join('\n'),
    );
  });

  test('nothing is said when all is well', () => {
    expect(startNotice([])).toBeNull();
  });

  test('of one server it speaks as of one', () => {
    expect(startNotice([state()])).toMatch(/^A server of your role is unavailable:\n- github/);
  });
});

test('the result of a run says of a server which it was, how it failed and why, in one line', () => {
  expect(describeServerError('github', 'absent', 'the variable GITHUB_TOKEN is not set')).toBe(
    'The MCP server github was not available: the variable GITHUB_TOKEN is not set.',
  );
  expect(describeServerError('db', 'lost', 'It ended.\nIt last wrote: no')).toBe(
    'The MCP server db failed during the run: It ended. It last wrote: no.',
  );
  const long = describeServerError('db', 'failing', 'x'.repeat(5_000));
  expect(long).toMatch(/^The MCP server db kept failing: x+…\.$/);
  expect(long.length).toBeLessThan(400);
});
