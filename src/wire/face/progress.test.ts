import { describe, expect, it } from 'vitest';
import { progressReporter } from './progress.ts';

type Notice = { params?: Record<string, unknown> };

function reporterTo(notify: (notice: Notice) => Promise<void>, signal = new AbortController().signal) {
  return progressReporter('token', notify, signal);
}

/** Everything that could happen without a further event has happened. */
const settled = () => new Promise(resolve => setImmediate(resolve));

describe('a progress reporter', () => {
  it('sends one notice at a time, and finishes when the last is on its way', async () => {
    const sent: unknown[] = [];
    const taken: (() => void)[] = [];
    const reporter = reporterTo(notice => {
      sent.push(notice.params?.message);
      return new Promise(resolve => taken.push(resolve));
    });
    void reporter.report('a');
    void reporter.report('b');
    let finished = false;
    const finishing = reporter.finish().then(() => {
      finished = true;
    });
    await settled();
    expect([sent, finished]).toEqual([['a'], false]);
    taken[0]?.();
    await settled();
    expect([sent, finished]).toEqual([['a', 'b'], false]);
    taken[1]?.();
    await finishing;
  });

  it('says nothing after the end, after an abort, or to a client that did not ask', async () => {
    const sent: Notice[] = [];
    const notify = async (notice: Notice) => void sent.push(notice);
    const ended = reporterTo(notify);
    await ended.finish();
    await ended.report('too late');
    await reporterTo(notify, AbortSignal.abort()).report('aborted');
    await progressReporter(undefined, notify, new AbortController().signal).report('not asked for');
    expect(sent).toEqual([]);
  });

  it.each([
    [
      [undefined, undefined],
      [0, 1],
    ],
    [
      [5, 5, 4, 6],
      [5, 6, 7, 8],
    ],
    [
      [-3, 0.5, 0.75],
      [0, 0.5, 0.75],
    ],
    [
      [Number.NaN, Number.POSITIVE_INFINITY],
      [0, 1],
    ],
  ])('turns the values %j into rising ones', async (values, expected) => {
    const sent: unknown[] = [];
    const reporter = reporterTo(async notice => void sent.push(notice.params?.progress));
    for (const value of values) await reporter.report('x', value);
    expect(sent).toEqual(expected);
  });

  it('lets the call go on when the client cannot be reached', async () => {
    const reporter = reporterTo(() => Promise.reject(new Error('gone')));
    await reporter.report('x');
    await reporter.finish();
  });
});
