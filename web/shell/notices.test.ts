import { describe, expect, it } from 'vitest';
import type { RunId } from '../../src/schema/ids.ts';
import type { RunStatus } from '../../src/schema/run.ts';
import { askNotice, failureNotice } from './notices.ts';

const run = { roleId: 'tester', subagent: null, engine: 'claude', title: 'Property tests' };
const ended = (status: RunStatus) =>
  failureNotice({ runId: 'run_1' as RunId, body: { type: 'run.ended', status } as never }, run);

describe('a notice', () => {
  it('of a question says who asks and what, on one short line, and leads to it', () => {
    const question = `Allow\n\u202e\u001b[31mthis?${' really'.repeat(40)}`;
    const { body, ...rest } = askNotice({ id: 'ask_1' as never, question }, run);
    expect(rest).toEqual({ tag: 'ask_1', title: 'tester needs you', href: '/inbox#ask_1' });
    expect(body).toMatch(/^Allow .*…$/);
    expect(body.length).toBeLessThanOrEqual(140);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be there
    expect(body).not.toMatch(/[\u0000-\u001f\u202e]/);
  });

  it('of a run that failed leads to it', () => {
    expect(ended('error')).toEqual({
      ...{ tag: 'run_1', title: 'tester failed', body: 'Property tests', href: '/r/run_1' },
    });
    expect(ended('timeout')?.title).toBe('tester timed out');
    expect(ended('lost')?.title).toBe('tester lost');
  });

  it('is none of a run that did its work or that somebody ended', () => {
    for (const status of ['completed', 'cancelled', 'terminated', 'abandoned'] as const)
      expect(ended(status)).toBeNull();
  });

  it('of a run that is not loaded yet has a name all the same', () => {
    expect(askNotice({ id: 'ask_1' as never, question: 'Well?' }, undefined).title).toBe('A run needs you');
  });
});
