import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findSandbox } from './find-sandbox.ts';
import { LIMITS, realSandbox, run } from './testing/sandboxes.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-sandbox-'));
afterAll(() => rmSync(folder, { recursive: true }));
const guest = join(import.meta.dirname, '..', '..', 'dist', 'code-guest.cjs');

/** A bubblewrap of ours in a PATH of its own. */
function bubblewrap(name: string, script: string): { PATH: string } {
  const path = mkdtempSync(join(folder, name));
  writeFileSync(join(path, 'bwrap'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(path, 'bwrap'), 0o755);
  return { PATH: path };
}

test('what is found is proven once and works', async () => {
  const [one, other] = [realSandbox(), realSandbox()];
  expect(await one).toBe(await other);
  expect(await run('return 1')).toMatchObject({ ok: true });
});

test('without bubblewrap it says what to install', async () => {
  const found = await findSandbox({ PATH: folder }, guest);
  expect(found).toMatchObject({
    missing: expect.stringContaining('bubblewrap (bwrap) was not found in PATH'),
  });
  expect(JSON.stringify(found)).toMatch(
    /apt install bubblewrap.*dnf install bubblewrap.*pacman -S bubblewrap/,
  );
  expect(await findSandbox({}, guest)).toHaveProperty('missing');
});

test('one that only root can replace comes before others, wherever it is in PATH', async () => {
  const early = bubblewrap('early', `exec ${await realBubblewrap()} "$@"`);
  const both = [early.PATH, process.env.PATH].join(':');
  expect(await findSandbox({ PATH: both }, guest)).toMatchObject({ bubblewrap: await realBubblewrap() });
  expect(await findSandbox(early, guest)).toMatchObject({ bubblewrap: join(early.PATH, 'bwrap') });
});

test('one that may not make namespaces is none, and its words are passed on', async () => {
  const denied = bubblewrap('denied', 'echo "bwrap: No permissions to create a new namespace" >&2; exit 1');
  const found = await findSandbox(denied, guest);
  expect(found).toMatchObject({
    missing: expect.stringContaining('No permissions to create a new namespace'),
  });
  expect(JSON.stringify(found)).toMatch(/user namespaces/);
});

test('one that says nothing and runs nothing is none', async () => {
  expect(await findSandbox(bubblewrap('silent', 'exit 0'), guest)).toMatchObject({
    missing: expect.stringContaining('ended without a word'),
  });
});

test('one that starts the program and keeps nothing apart is none', async () => {
  const script = `while [ "$1" != -- ]; do
  if [ "$1" = --ro-bind ] && [ "$3" = /node ]; then node=$2; fi
  if [ "$1" = --ro-bind ] && [ "$3" = /guest.cjs ]; then guest=$2; fi
  shift
done
exec "$node" "$guest"`;
  expect(await findSandbox(bubblewrap('fake', script), guest)).toMatchObject({
    missing: expect.stringContaining('it shares user, mnt, pid, net, ipc, uts with this machine'),
  });
});

test('an older one that lacks an option is used without it', async () => {
  const old =
    'case "$*" in *--disable-userns*) echo "bwrap: Unknown option --disable-userns" >&2; exit 1;; esac';
  const found = await findSandbox(bubblewrap('old', `${old}\nexec ${await realBubblewrap()} "$@"`), guest);
  if ('missing' in found) throw new Error(found.missing);
  expect(found.command(LIMITS.memoryMb)).not.toContain('--disable-userns');
  expect(await run('return 1', { sandbox: found })).toMatchObject({ ok: true });
});

test('a guest that is not there is told, not hidden', async () => {
  expect(await findSandbox(process.env, join(folder, 'none.cjs'))).toMatchObject({
    missing: expect.stringContaining('none.cjs'),
  });
});

const realBubblewrap = async () => (await realSandbox()).bubblewrap;
