import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { PolicyReport } from '../../../src/cli/setup/policy/report.ts';
import { cliProfile } from '../../../src/engines/cli-profiles.ts';
import { ended, TestSquad } from '../../support/squad.ts';

function newSquad(): TestSquad {
  const squad = new TestSquad();
  onTestFinished(() => squad[Symbol.asyncDispose]());
  return squad;
}

function setUser(squad: TestSquad, settings: object): void {
  const folder = join(squad.env.HOME!, '.config', 'squad');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify(settings));
}

async function prove(squad: TestSquad, args = ['--json'], env = {}) {
  const child = squad.start(['doctor', '--policy', ...args], { env });
  child.stdin!.end();
  const ran = await ended(child);
  nothingIsLeft(squad, child.pid!);
  return ran;
}

async function report(squad: TestSquad, env = {}): Promise<PolicyReport & { code: number | null }> {
  const { code, stdout, stderr } = await prove(squad, ['--json'], env);
  expect(stderr).toBe('');
  return { code, ...JSON.parse(stdout) };
}

const ruleOf = (report: PolicyReport, level: string, rule: string) =>
  report.levels.find(each => each.level === level)!.rules.find(each => each.rule === rule)!;

/** What depends on the machine; everything else has to succeed without a sandbox, or it proves nothing. */
function mayFailAnyway(): string[] {
  const isRoot = process.getuid!() === 0;
  const ptraceScope = '/proc/sys/kernel/yama/ptrace_scope';
  const isTraceable = isRoot || !existsSync(ptraceScope) || readFileSync(ptraceScope, 'utf8').trim() === '0';
  const hasNetwork = Object.values(networkInterfaces()).some(all => all?.some(({ internal }) => !internal));
  return [
    ...(isRoot
      ? []
      : ['write-etc', 'write-usr', 'make-device', 'kernel-settings', 'control-groups', 'open-devices']),
    ...(isTraceable ? [] : ['read-memory']),
    ...(hasNetwork ? [] : ['network-devices']),
    // Without the module of the kernel.
    ...(existsSync('/dev/vsock') ? [] : ['reach-vm-host']),
    ...(existsSync('/dev/kmsg') ? [] : ['open-devices']),
    ...(existsSync('/proc/keys') && readFileSync('/proc/keys', 'utf8') !== '' ? [] : ['kernel-keys']),
  ];
}

/** Everything that a proof makes outside its own folder has its number in its name. */
const traces = (pid: number): string[] =>
  ['/tmp', '/var/tmp', '/dev/shm', '/run', '/etc', '/usr/local'].flatMap(folder =>
    readdirSync(folder).filter(name => name.startsWith(`squadmark${pid}x`)),
  );
const processesWith = (text: string): string[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(text);
      } catch {
        return false; // ended meanwhile
      }
    });

function nothingIsLeft(squad: TestSquad, pid: number): void {
  expect(readdirSync(squad.home).filter(name => name.startsWith('doctor-'))).toEqual([]);
  expect(processesWith(join(squad.home, 'doctor-'))).toEqual([]);
  expect(traces(pid)).toEqual([]);
}

test('every probe that succeeds without a sandbox is refused in both levels', {
  tags: ['I3', 'F5', 'leaving-the-sandbox'],
}, async () => {
  const squad = newSquad();
  const found = await report(squad);
  expect(found.problems).toEqual([]);
  expect(found).toMatchObject({ ok: true, code: 0, control: { fault: null } });
  expect(found.notMeasured.filter(id => !mayFailAnyway().includes(id))).toEqual([]);
  expect(found.probes.filter(({ gotThrough }) => gotThrough.length > 0)).toEqual([]);
  for (const { rules } of found.levels)
    for (const { rule, heldBy, counted } of rules.filter(({ note }) => note === null)) {
      expect({ rule, heldBy }).toEqual({ rule, heldBy: 'system' });
      expect(counted).toBeGreaterThan(0);
    }
  expect(ruleOf(found, 'strict', 'network').heldBy).toBe('system');
  expect(ruleOf(found, 'workspace', 'network')).toMatchObject({ heldBy: 'advisory', counted: 0 });
  const rulesOf = (id: string) => found.engines.find(engine => engine.id === id)!.rules;
  expect(rulesOf('qwen')).toContainEqual(
    expect.objectContaining({ rule: 'permission: edit', heldBy: 'advisory', inSandbox: 'system' }),
  );
  expect(rulesOf('codex')).toContainEqual(
    expect.objectContaining({ rule: 'tools', heldBy: 'advisory', inSandbox: 'advisory' }),
  );
});

test('the rules of an agent CLI are shown with the version that they were tried with', {
  tags: ['F5'],
}, async () => {
  const squad = newSquad();
  // The output for a machine without bubblewrap, which has these rules too.
  const env = withoutBubblewrap(squad);
  const newer = cliProfile('qwen').versions!.tested.replace(/\d+$/, last => String(Number(last) + 1));
  for (const [name, version] of [
    ['codex', cliProfile('codex').versions!.tested],
    ['qwen', newer],
  ]) {
    writeFileSync(join(squad.root, 'bin', name!), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 });
  }
  const { code, stdout } = await prove(squad, [], env);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^strict network: models\n {2}advisory: .*bubblewrap \(bwrap\) was not found in\s+PATH/m,
  );
  expect(stdout).toMatch(/^ {2}claude tried with [\d.]+$/m);
  expect(stdout).toMatch(/^ {2}codex tried with [\d.]+, which is installed$/m);
  expect(stdout).toMatch(new RegExp(`^ {2}qwen tried with [\\d.]+, not with the installed ${newer}$`, 'm'));
  expect(stdout).toMatch(/^ {2}cursor never tried$/m);
  // A rule that was never tried is not said to be enforced.
  expect(/^ {2}cursor.*\n(?: {4}.*\n)+/m.exec(stdout)![0]).not.toContain('by the engine');
});

test('a setting that opens the sandbox is reported as a hole', {
  tags: ['I3', 'F5', 'leaving-the-sandbox'],
}, async () => {
  const squad = newSquad();
  setUser(squad, { sandboxRead: [join(squad.env.HOME!, '.ssh'), '/sys'] });
  const found = await report(squad);
  expect(found).toMatchObject({ ok: false, code: 1 });
  for (const level of ['workspace', 'strict'])
    expect(ruleOf(found, level, 'reads')).toMatchObject({
      heldBy: 'advisory',
      gotThrough: ['read-ssh-key', 'read-sys'],
    });
  expect(ruleOf(found, 'strict', 'writes').heldBy).toBe('system');
  expect(found.problems).toContain('strict does not hold: an agent can read an SSH key (read-ssh-key).');
});

test('without bubblewrap nothing is enforced, which is an error only where the settings ask for a level', {
  tags: ['I3', 'F5'],
}, async () => {
  const squad = newSquad();
  const env = withoutBubblewrap(squad);
  setUser(squad, { sandbox: 'strict' });
  const found = await report(squad, env);
  expect(found).toMatchObject({ ok: false, code: 1, problems: [expect.stringContaining('ask for strict')] });
  for (const { rules } of found.levels)
    expect(new Set(rules.map(({ heldBy }) => heldBy))).toEqual(new Set(['advisory']));
  const [rule] = found.engines
    .find(({ id }) => id === 'qwen')!
    .rules.filter(each => each.rule === 'permission: edit');
  expect(rule).toMatchObject({ heldBy: 'advisory', inSandbox: 'advisory' });
});

test('Ctrl-C leaves no process, no file and no listener behind', { tags: ['I3'] }, async () => {
  const squad = newSquad();
  const child = squad.start(['doctor', '--policy']);
  const end = ended(child);
  await expect.poll(() => turnsBelow(squad), { timeout: 60_000 }).toBeGreaterThan(0);
  child.kill('SIGINT');
  expect((await end).code).toBe(130);
  nothingIsLeft(squad, child.pid!);
});

/** An environment with every program of the system but this one, in a folder `bin`. */
function withoutBubblewrap(squad: TestSquad): { PATH: string } {
  const bin = join(squad.root, 'bin');
  mkdirSync(bin);
  for (const name of readdirSync('/usr/bin').filter(name => name !== 'bwrap'))
    symlinkSync(join('/usr/bin', name), join(bin, name));
  return { PATH: `${dirname(process.execPath)}:${bin}` };
}

/** Turns of runs of the proof that have begun. */
const turnsBelow = (squad: TestSquad): number =>
  existsSync(squad.home)
    ? readdirSync(squad.home, { recursive: true }).filter(path =>
        /doctor-.*\/turn-1\/pid$/.test(String(path)),
      ).length
    : 0;
