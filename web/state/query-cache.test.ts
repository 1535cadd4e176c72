import { expect, test } from 'vitest';
import { QueryCache } from './query-cache.ts';

/** Answers when the test says so. */
function desk() {
  const asked: {
    answer(value: string): Promise<void>;
    refuse(why: Error): Promise<void>;
    signal: AbortSignal;
  }[] = [];
  const settled = () => new Promise<void>(done => setImmediate(done));
  const ask = (signal: AbortSignal) =>
    new Promise<string>((resolve, reject) =>
      asked.push({
        signal,
        answer(value) {
          resolve(value);
          return settled();
        },
        refuse(why) {
          reject(why);
          return settled();
        },
      }),
    );
  return { asked, ask };
}

test('two that look at the same are answered by one question', async () => {
  const { asked, ask } = desk();
  const cache = new QueryCache<Error>();
  const [first] = cache.use('board', ask);
  const [second] = cache.use('board', ask);
  expect(asked).toHaveLength(1);
  await asked[0]!.answer('runs');
  expect(first.state.value).toEqual({ data: 'runs', error: null, isLoading: false });
  expect(second.state.value.data).toBe('runs');
});

test('asked for anew, the old answer stays until the new one is there', async () => {
  const { asked, ask } = desk();
  const [query] = new QueryCache<Error>().use('board', ask);
  await asked[0]!.answer('old');
  query.reload();
  expect(query.state.value).toEqual({ data: 'old', error: null, isLoading: true });
  await asked[1]!.refuse(new Error('no'));
  expect(query.state.value).toMatchObject({ data: 'old', error: { message: 'no' }, isLoading: false });
});

test('never two at a time, and what is wanted meanwhile is asked once afterwards', async () => {
  const { asked, ask } = desk();
  const [query] = new QueryCache<Error>().use('board', ask);
  query.reload();
  query.reload();
  query.reload();
  expect(asked).toHaveLength(1);
  await asked[0]!.answer('old');
  await expect.poll(() => asked.length).toBe(2);
  await asked[1]!.answer('new');
  expect(query.state.value.data).toBe('new');
  expect(asked).toHaveLength(2);
});

test('a view that returns sees the last answer at once, and requests it anew', async () => {
  const { asked, ask } = desk();
  const cache = new QueryCache<Error>();
  const [, release] = cache.use('board', ask);
  await asked[0]!.answer('kept');
  release();
  const [again] = cache.use('board', ask);
  expect(again.state.value.data).toBe('kept');
  expect(asked).toHaveLength(2);
});

test('an unused answer is forgotten after a while, and not waited for', async () => {
  const { asked, ask } = desk();
  const cache = new QueryCache<Error>();
  for (let number = 0; number < 40; number++) cache.use(`query ${number}`, ask)[1]();
  expect(asked[0]!.signal.aborted).toBe(true);
  expect(asked.at(-1)!.signal.aborted).toBe(false);
});

test('after a reset only those that are looked at and old are asked for', async () => {
  const { asked, ask } = desk();
  const cache = new QueryCache<Error>();
  cache.use('new', ask);
  cache.use('old', ask);
  const [, release] = cache.use('unused', ask);
  for (const [index, data] of ['new', 'old', 'unused'].entries()) await asked[index]!.answer(data);
  release();
  cache.reloadAll(data => data !== 'new');
  expect(asked).toHaveLength(4);
});
