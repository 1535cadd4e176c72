import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findSandbox } from './sandbox.ts';
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

test('a sandbox is verified once and works', async () => {
  const [one, other] = [realSandbox(), realSandbox()];
  expect(await one).toBe(await other);
  expect(await run('return 1')).toMatchObject({ ok: true });
});

test('without bubblewrap the error says what to install', { tags: ['E5'] }, async () => {
  const found = await findSandbox({ PATH: folder }, guest);
  expect(found).toMatchObject({
    missing: expect.stringContaining('bubblewrap (bwrap) was not found in PATH'),
  });
  expect(JSON.stringify(found)).toMatch(
    /apt install bubblewrap.*dnf install bubblewrap.*pacman -S bubblewrap/,
  );
  expect(await findSandbox({}, guest)).toHaveProperty('missing');
});

test('a bubblewrap that only root can replace is preferred, wherever it is in PATH', async () => {
  const early = bubblewrap('early', `exec ${await realBubblewrap()} "$@"`);
  const both = [early.PATH, process.env.PATH].join(':');
  expect(await findSandbox({ PATH: both }, guest)).toMatchObject({ bubblewrap: await realBubblewrap() });
  expect(await findSandbox(early, guest)).toMatchObject({ bubblewrap: join(early.PATH, 'bwrap') });
});

test('a bubblewrap without namespaces is refused with its own error message', async () => {
  const denied = bubblewrap('denied', 'echo "bwrap: No permissions to create a new namespace" >&2; exit 1');
  const found = await findSandbox(denied, guest);
  expect(found).toMatchObject({
    missing: expect.stringContaining('No permissions to create a new namespace'),
  });
  expect(JSON.stringify(found)).toMatch(/user namespaces/);
});

test('a bubblewrap that ends without a message is refused', async () => {
  expect(await findSandbox(bubblewrap('silent', 'exit 0'), guest)).toMatchObject({
    missing: expect.stringContaining('ended without a message'),
  });
});

test('a bubblewrap that does not isolate the program is refused', { tags: ['E5'] }, async () => {
  const script = `while [ "$1" != -- ]; do
  if [ "$1" = --ro-bind ] && [ "$3" = /node ]; then node=$2; fi
  if [ "$1" = --ro-bind ] && [ "$3" = /guest.cjs ]; then guest=$2; fi
  shift
done
exec "$node" "$guest"`;
  expect(await findSandbox(bubblewrap('fake', script), guest)).toMatchObject({
    missing: expect.stringContaining(
      'they share the namespaces user, mnt, pid, net, ipc, uts with this machine',
    ),
  });
});

test('an older bubblewrap is used without the option it lacks', async () => {
  const old =
    'case "$*" in *--disable-userns*) echo "bwrap: Unknown option --disable-userns" >&2; exit 1;; esac';
  const found = await findSandbox(bubblewrap('old', `${old}\nexec ${await realBubblewrap()} "$@"`), guest);
  if ('missing' in found) throw new Error(found.missing);
  expect(found.command(LIMITS.memoryMb)).not.toContain('--disable-userns');
  expect(await run('return 1', { sandbox: found })).toMatchObject({ ok: true });
});

test('a missing guest script is reported', async () => {
  expect(await findSandbox(process.env, join(folder, 'none.cjs'))).toMatchObject({
    missing: expect.stringContaining('none.cjs'),
  });
});

const realBubblewrap = async () => (await realSandbox()).bubblewrap;
