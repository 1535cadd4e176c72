import { statSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import type { Run } from '../schema/run.ts';
import type { Worktree } from '../schema/worktree.ts';
import { RemoteCode } from './code.ts';
import { Link } from './link.ts';

const COMMIT = 'a'.repeat(40);
let link: Link;
afterEach(() => link.close('removed'));

/** Takes back work from a box that says it has a bundle of this size, and sends this many bytes of it. */
async function take(size: number, sent: number) {
  const hello =
    '{"squad":"runner","protocol":1,"machine":"m_1","base":"/b","node":"/n","programs":"/p","os":"linux","cpus":2,"now":5,"boot":5}';
  const collected = `{ tip: "${COMMIT}", work: "${COMMIT}", bundle: "transfer/x", size: ${size} }`;
  const runner = `
    const send = (head, body = "") => process.stdout.write(JSON.stringify(body ? { ...head, bytes: body.length } : head) + "\\n" + body);
    console.log(${JSON.stringify(hello)});
    require("node:readline").createInterface({ input: process.stdin }).on("line", line => {
      const { id, op, from, max } = JSON.parse(line);
      if (op === "collect") send({ id, ok: ${collected} });
      if (op === "get") send({ id, ok: { size: ${size} } }, "x".repeat(Math.max(0, Math.min(max, ${sent} - from))));
    });`;
  link = new Link({
    argv: ['/bin/sh', '-c', `read -r ignored; exec '${process.execPath}' -e '${runner}'`],
    ...{ env: { PATH: '/usr/bin:/bin' }, cwd: '/', script: 'ignored\n', program: Buffer.alloc(0) },
    ...{ onHello: () => {}, onCall: () => {}, onState: () => {} },
  });
  const came: number[] = [];
  const code = new RemoteCode({
    link: () => link,
    isInUse: () => false,
    travel: {
      names: () => ({ repo: 'r', worktree: 'w', ref: 'refs/x' }),
      have: async () => [COMMIT],
      pack: async () => {
        throw new Error('nothing is sent');
      },
      unpack: async (_, { bundle }) => {
        came.push(statSync(bundle!).size);
        return null;
      },
    },
  });
  const run = { id: 'run_1', options: { machine: 'box' } } as Run;
  const end = await code.take(run, { path: '/none/w' } as Worktree).then(
    () => null,
    (error: Error) => error,
  );
  return { end, came };
}

test('a bundle of 10 GB is refused before any of it is fetched', { tags: ['hostile-box'] }, async () => {
  expect(await take(10 * 1024 ** 3, 10 * 1024 ** 3)).toMatchObject({
    end: { code: 'GIT_FAILED', message: expect.stringMatching(/on box is 10.* at most 2/) },
    came: [],
  });
});

test('a bundle that ends early is not given to git', { tags: ['hostile-box'] }, async () => {
  expect(await take(700_000, 300_000)).toMatchObject({
    end: { code: 'GIT_FAILED', message: expect.stringContaining('cut off') },
    came: [],
  });
});

test('a bundle arrives whole', { tags: ['H3'] }, async () => {
  expect(await take(700_000, 700_000)).toEqual({ end: null, came: [700_000] });
});
