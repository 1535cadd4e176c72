import { chmodSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findBubblewrap } from './bubblewrap.ts';
import { createSandboxes } from './sandboxes.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-bubblewrap-'));
afterAll(() => rmSync(folder, { recursive: true }));
const real = findBubblewrap(process.env.PATH ?? '')!;

/** A bubblewrap of ours in a PATH of its own. */
function bubblewrap(name: string, script: string): string {
  const path = mkdtempSync(join(folder, name));
  writeFileSync(join(path, 'bwrap'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(path, 'bwrap'), 0o755);
  return path;
}

const problemOf = (path: string) => createSandboxes({ path, rooms: null }).problem('full');

test('the real one has no problem, and is proven once', async () => {
  const log = join(folder, 'log');
  const sandboxes = createSandboxes({
    path: bubblewrap('counted', `echo x >>'${log}'; exec ${real} "$@"`),
    rooms: null,
  });
  expect(await Promise.all([sandboxes.problem('full'), sandboxes.problem('full')])).toEqual([null, null]);
  expect(await sandboxes.problem('full')).toBeNull();
  expect(readFileSync(log, 'utf8')).toBe('x\n');
});

test('without one the problem says what to install', async () => {
  expect(await problemOf(folder)).toMatchObject({
    reason: 'bubblewrap (bwrap) was not found in PATH',
    suggestions: [expect.stringContaining('apt install bubblewrap'), expect.any(String)],
  });
});

test('on another system than Linux the problem says what is missing', { tags: ['I1'] }, async () => {
  const path = process.env.PATH!;
  expect(await createSandboxes({ path, rooms: null, platform: 'darwin' }).problem('full')).toEqual({
    reason: 'Sandboxes are made of Linux namespaces by bubblewrap, and this system (darwin) has neither',
    suggestions: [expect.stringContaining('on Linux'), 'Or run without one: sandbox: off.'],
  });
});

test('a bwrap without user namespaces is refused with its own message', async () => {
  const path = bubblewrap('denied', 'echo "bwrap: No permissions to create a new namespace" >&2; exit 1');
  expect(await problemOf(path)).toMatchObject({
    reason: expect.stringContaining('No permissions to create a new namespace'),
    suggestions: [expect.stringContaining('user namespaces'), expect.any(String)],
  });
});

test('a bwrap that runs the program without any sandbox is refused', {
  tags: ['leaving-the-sandbox'],
}, async () => {
  const path = bubblewrap('fake', 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"');
  expect(await problemOf(path)).toMatchObject({
    reason: expect.stringContaining('they share the namespaces user, mnt, pid, ipc, uts with this machine'),
  });
});

test.each([
  ['shows a folder of the machine', `--bind '${folder}' /squad-seen`, 'they see /squad-seen of this machine'],
  ['lets programs write to one', '--bind /usr /usr', 'they can write to /usr of this machine'],
])('a bwrap that %s is refused', async (_what, added, reason) => {
  const script = `for arg; do shift; [ "$arg" = --remount-ro ] && set -- "$@" ${added}; set -- "$@" "$arg"; done; exec ${real} "$@"`;
  expect(await problemOf(bubblewrap('open', script))).toMatchObject({
    reason: expect.stringContaining(reason),
  });
});

test('a bwrap that drops the filter of system calls is refused', {
  tags: ['leaving-the-sandbox'],
}, async () => {
  const script = `for arg; do shift; case $arg in --seccomp) skip=1;; *) [ "$skip" ] && skip= || set -- "$@" "$arg";; esac; done; exec ${real} "$@"`;
  expect(await problemOf(bubblewrap('unfiltered', script))).toMatchObject({
    reason: expect.stringContaining('their system calls are not filtered'),
  });
});

test('an older one is used without the option it lacks; one that lacks more is too old', async () => {
  const lacks = (option: string) =>
    `case "$*" in *${option}*) echo "bwrap: Unknown option ${option}" >&2; exit 1;; esac; exec ${real} "$@"`;
  expect(await problemOf(bubblewrap('old', lacks('--disable-userns')))).toBeNull();
  expect(await problemOf(bubblewrap('older', lacks('--json-status-fd')))).toMatchObject({
    suggestions: [expect.stringContaining('too old'), expect.any(String)],
  });
});

test('a bwrap that is replaced is tried again', async () => {
  const path = bubblewrap('replaced', `exec ${real} "$@"`);
  const sandboxes = createSandboxes({ path, rooms: null });
  expect(await sandboxes.problem('full')).toBeNull();
  writeFileSync(join(path, 'bwrap'), '#!/bin/sh\nexit 0\n');
  utimesSync(join(path, 'bwrap'), 1, 1);
  expect(await sandboxes.problem('full')).toMatchObject({ reason: expect.stringContaining('ended without') });
});
