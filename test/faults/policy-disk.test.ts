import { spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { SettingsInForce } from '../../src/core/settings/hub-settings.ts';
import { ServerPins } from '../../src/gateway/upstream/pins.ts';
import { tempFile } from '../../src/store/fixtures/temp-file.ts';
import { openBackend, openStore } from '../../src/store/open.ts';
import { mcpConfigPath } from '../../src/workspace/gateway/mcp-config-file.ts';
import { isTrusted, trust, trustPath } from '../../src/workspace/settings/trust.ts';
import { BIN, ended, TestSquad } from '../support/squad.ts';
import { figure } from './figures.ts';
import type { Asked, Fate, Fault, Told } from './policy-changes.ts';

const FAILING_DISK = join(import.meta.dirname, '..', 'support', 'failing-disk.cjs');
const CHANGES = join(import.meta.dirname, 'policy-changes.ts');

const FATES: Fate[] = ['ENOSPC', 'EIO', 'EROFS', 'short', 'slow'];
const CODES: Record<Fate, string> = {
  ENOSPC: 'DISK_FULL',
  EIO: 'DISK_FAILED',
  EROFS: 'PERMISSION_DENIED',
  short: 'DISK_FULL',
  slow: 'never refused',
};

const NEVER = Number.MAX_SAFE_INTEGER;

const SERVER = { command: 'true', tools: ['*'] };
const OLD = JSON.stringify({ servers: { old: SERVER } });
const NEW = JSON.stringify({ servers: { old: SERVER, new: SERVER } });

/** `text` stands in the configuration before and `after` after the change; the user has trusted `trusted`. */
interface Errand {
  change: Asked['change'];
  text: string;
  trusted: string | null;
  after: string;
}
const ERRANDS: [string, Errand][] = [
  ['trust in a file', { change: 'trust', text: OLD, trusted: null, after: OLD }],
  ['trust in an edit of a file', { change: 'trust', text: NEW, trusted: OLD, after: NEW }],
  ['trust that is taken back', { change: 'untrust', text: OLD, trusted: OLD, after: OLD }],
  ['a server that is added to a trusted file', { change: 'edit', text: OLD, trusted: OLD, after: NEW }],
  ['a server that is removed from a trusted file', { change: 'edit', text: NEW, trusted: NEW, after: OLD }],
];

test.each(ERRANDS)(
  'of %s, with a disk that fails at any change, nothing is in force that was refused',
  { tags: ['R22'] },
  async (what, { change, text, trusted, after: textAfter }) => {
    const place = new Place();
    const { home, workspace, under } = place;
    const ask = startChanges();
    const attempt = (fault: Fault) => ask({ home, workspace, change, text: textAfter, fault });

    await place.lay(text, trusted);
    const plain = await attempt({ under, fate: 'slow', from: NEVER, to: NEVER });
    expect(plain.error).toBeNull();
    expect(plain.changes).toBeGreaterThan(8);
    const after = await place.state();

    const faults = faultsOf(plain.changes, under);
    let refused = 0;
    for (const fault of faults) {
      const before = await place.lay(text, trusted);
      const { error } = await attempt(fault);
      const now = await place.state();
      const context = JSON.stringify({ ...fault, error });
      if (error) {
        refused += 1;
        expect({ context, code: error.code }).toEqual({ context, code: CODES[fault.fate] });
        expect(error.message).toContain(place.root);
        // A configuration that was written but could not be trusted counts as little as one that nobody has read.
        const isHalf = now.text !== before.text;
        const left = isHalf ? { ...before, text: textAfter, counts: false } : before;
        expect({ context, ...now }).toEqual({ context, ...left });
      } else expect({ context, ...now }).toEqual({ context, ...after });
      await place.expectUsable();
    }
    expect(refused).toBeGreaterThan(plain.changes);
    figure('R22', {
      reached: faults.length,
      of: faults.length,
      told: `faults at the ${plain.changes} changes of the disk for ${what}: ${refused} refused and not in force, the others done`,
    });
  },
);

test('a command whose trust could not be written says so', { tags: ['R22'] }, async () => {
  await using squad = new TestSquad();
  const file = squad.write('.squad/mcp-config.json', OLD);
  const fault: Fault = {
    under: [`${squad.home}/trust.`, `${squad.home}/.trust.`],
    fate: 'EIO',
    from: 5,
    to: 5,
  };
  const child = spawn(process.execPath, ['--require', FAILING_DISK, BIN, 'trust', '--yes', file], {
    cwd: squad.workspace,
    env: { ...squad.env, DISK_FAULT: JSON.stringify(fault) },
  });
  const { code, stdout, stderr } = await ended(child);
  expect(code).toBe(1);
  expect(stdout).not.toContain('trusted  ');
  expect(stderr).toContain(`${trustPath(squad.home)} cannot be written. The disk failed: EIO`);
  expect(await isTrusted(squad.home, file, OLD)).toBe(false);
});

const faultsOf = (changes: number, under: string[]): Fault[] =>
  Array.from({ length: changes }, (_, from) =>
    FATES.flatMap((fate): Fault[] => [
      { under, fate, from, to: from },
      ...(fate === 'short' || fate === 'slow' ? [] : [{ under, fate, from, to: NEVER }]),
    ]),
  ).flat();

interface State {
  text: string;
  list: string;
  /** Whether what stands in the configuration now is trusted. */
  counts: boolean;
}

/** A home and a workspace with a configuration of servers. */
class Place {
  readonly root = mkdtempSync(join(tmpdir(), 'squad-policy-'));
  readonly home = join(this.root, 'home');
  readonly workspace = join(this.root, 'work');
  readonly under = [this.root];
  private readonly config = mcpConfigPath(this.workspace);

  constructor() {
    onTestFinished(() => rmSync(this.root, { recursive: true }));
  }

  async lay(text: string, trusted: string | null): Promise<State> {
    rmSync(this.home, { recursive: true, force: true });
    rmSync(this.workspace, { recursive: true, force: true });
    mkdirSync(dirname(this.config), { recursive: true });
    writeFileSync(this.config, text);
    await trust(this.home, join(this.root, 'other'), 'other');
    if (trusted !== null) await trust(this.home, this.config, trusted);
    return this.state();
  }

  async state(): Promise<State> {
    const text = readFileSync(this.config, 'utf8');
    const list = existsSync(trustPath(this.home)) ? readFileSync(trustPath(this.home), 'utf8') : '';
    return { text, list, counts: await isTrusted(this.home, this.config, text) };
  }

  /** The next change works. A lock that could not be removed is taken after a while, which has its own tests. */
  async expectUsable(): Promise<void> {
    if (readdirSync(this.home).some(name => name.endsWith('.lock'))) return;
    await trust(this.home, this.config, 'next');
    expect(await isTrusted(this.home, this.config, 'next')).toBe(true);
    expect(await isTrusted(this.home, join(this.root, 'other'), 'other')).toBe(true);
  }
}

function startChanges(): (asked: Asked) => Promise<Told> {
  const child = spawn(process.execPath, ['--require', FAILING_DISK, CHANGES], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async asked => {
    child.stdin.write(`${JSON.stringify(asked)}\n`);
    const { value } = await lines.next();
    return JSON.parse(value!) as Told;
  };
}

const STEP_BYTES = 512;
const VERSION = '1.2.3';
const KEY = { workspace: '/repo', server: 'files', source: 'a' };
const SETTING = 'limits.depth';

test('a change that the database cannot take is not in force, wherever its write is cut off', {
  tags: ['R22'],
}, async () => {
  const base = tempFile();
  await withPolicy(base, async ({ book }) => {
    await book.see([]);
    await book.see(
      Array.from({ length: 20 }, (_, i) => ({ name: `tool ${i}`, description: 'x'.repeat(500) })),
    );
  });
  let limit = 0;
  let refused = { approvals: 0, settings: 0 };
  for (let isDone = false; !isDone; limit += STEP_BYTES) {
    const file = join(dirname(base), `${limit}.db`);
    copyFileSync(base, file);
    const [approval, setting] = await changeWithin(file, limit);
    await expectSound(file);
    await withPolicy(file, async ({ book, settings }) => {
      expect(book.pins!.filter(({ state }) => state === 'approved')).toHaveLength(approval === null ? 20 : 0);
      expect(settings.isSet(SETTING)).toBe(setting === null);
    });
    for (const refusal of [approval, setting])
      if (refusal)
        expect(refusal).toMatchObject({ code: 'DISK_FULL', message: expect.stringContaining(file) });
    refused = {
      approvals: refused.approvals + (approval ? 1 : 0),
      settings: refused.settings + (setting ? 1 : 0),
    };
    isDone = approval === null && setting === null;
    rmSync(file);
  }
  expect(refused.approvals).toBeGreaterThan(20);
  expect(refused.settings).toBeGreaterThan(20);
  const steps = limit / STEP_BYTES;
  const told = `sizes, ${STEP_BYTES} bytes apart, at which the system refused to let the database grow: ${refused.approvals} approvals and ${refused.settings} settings refused and without effect`;
  figure('R22', { reached: steps, of: steps, told });
});

interface Policy {
  book: ServerPins;
  settings: SettingsInForce;
}

async function withPolicy<T>(file: string, use: (policy: Policy) => Promise<T>): Promise<T> {
  const store = await openStore({ database: file, version: VERSION, busyRetryMs: 1 });
  try {
    const book = new ServerPins(KEY, store, { now: () => 1, monotonic: () => 1 });
    const settings = new SettingsInForce(store);
    await Promise.all([book.load(), settings.load()]);
    return await use({ book, settings });
  } finally {
    await store.close();
  }
}

/** Approves what waits and changes a setting while no file may become longer; returns what each was refused with, or null. */
async function changeWithin(file: string, bytes: number): Promise<(Error | null)[]> {
  return withPolicy(file, async ({ book, settings }) => {
    const before = { pins: book.pins, depth: settings.all()[SETTING] };
    const refusalOf = (change: Promise<unknown>) =>
      change.then(
        () => null,
        (error: Error) => error,
      );
    limitFiles(bytes);
    const approval = await refusalOf(book.approve(() => true));
    const setting = await refusalOf(settings.set(SETTING, '7'));
    limitFiles('unlimited');
    if (approval) expect(book.pins).toEqual(before.pins);
    expect(settings.all()[SETTING]).toBe(setting ? before.depth : 7);
    return [approval, setting];
  });
}

/** Limits the files that this process writes: a write across the limit is cut short, and one beyond it refused. */
function limitFiles(bytes: number | 'unlimited'): void {
  const { status, stderr } = spawnSync('prlimit', [`--pid=${process.pid}`, `--fsize=${bytes}:unlimited`]);
  if (status !== 0) throw new Error(`The size of files cannot be limited here (prlimit): ${stderr}`);
}

async function expectSound(file: string): Promise<void> {
  const backend = await openBackend({ database: file, version: VERSION }, 1);
  expect(backend.fault()).toBeNull();
  await backend.close();
}
