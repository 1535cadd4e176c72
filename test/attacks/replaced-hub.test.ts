import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withoutSandbox } from '../support/confine-by-default.ts';
import { type Build, newerBuild } from '../support/newer-build.ts';
import { RunningAgent } from '../support/running-agent.ts';
import { isAlive, TestSquad, until } from '../support/squad.ts';

const squad = new TestSquad();
const newer: Build = newerBuild('99.0.0');
const evil = join(squad.root, 'evil-was-here');

/**
 * Says hello as a newer version that names a program of the agent's own, as any pid it likes, and answers the hub's
 * question which process it is. Leaves what it heard in a file.
 */
const HANDSHAKE = `
import { openSync, writeFileSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
const [home, pid, out, script, operation] = process.argv.slice(2);
const socket = connect(home + '/hub.sock');
socket.setEncoding('utf8');
let text = '';
socket.on('data', chunk => {
  text += chunk;
  const { prove } = JSON.parse(text.split('\\n')[0]);
  if (prove) writeSync(openSync(prove, 'a'), '.');
});
const hello = { squad: 1, version: operation ? '0.0.1' : '99.0.0', view: 'control', pid: Number(pid) || process.pid, cwd: '/', env: {},
  hub: { node: process.execPath, script }, startsHub: true };
socket.write(JSON.stringify(hello) + '\\n');
if (operation) socket.write(JSON.stringify({ id: 1, operation, input: {} }) + '\\n');
// Long enough for a hub that makes way: it says so at once.
setTimeout(() => socket.destroy(), 1500);
socket.on('close', () => writeFileSync(out, text || 'nothing'));
`;

beforeAll(async () => {
  // In a sandbox the hub's socket is not there.
  withoutSandbox(squad);
  await squad.unlimited();
  squad.write('hello.mjs', HANDSHAKE);
  squad.write('evil.cjs', `require('node:fs').writeFileSync(${JSON.stringify(evil)}, '')`);
});
afterAll(async () => {
  await squad[Symbol.asyncDispose]();
  newer[Symbol.dispose]();
});

/** Runs a command in an agent; what it wrote into the file `heard`, and whether the hub is still the one there was. */
async function attack(command: (heard: string) => string): Promise<{ heard: string; isSameHub: boolean }> {
  const pid = await squad.hubPid();
  const heard = join(squad.root, `heard-${process.hrtime.bigint()}`);
  await using _agent = await RunningAgent.start(squad, 'coder', `run ${command(heard)}`);
  const text = await until(
    'the attack is over',
    () => existsSync(heard) && readFileSync(heard, 'utf8').trim(),
  );
  return { heard: text, isSameHub: isAlive(pid) && (await squad.hubPid()) === pid };
}

const handshake = (heard: string, pid = 0) =>
  [process.execPath, 'hello.mjs', squad.home, pid, heard, join(squad.workspace, 'evil.cjs')].join(' ');
const DETACHED = '</dev/null >/dev/null 2>&1';

test.each<[string, (heard: string) => string]>([
  ['as it is', handshake],
  ['with an empty environment', heard => `env -i ${handshake(heard)}`],
  ['in a session of its own', heard => `setsid ${handshake(heard)}`],
  [
    'orphaned, in a session of its own, without environment and output',
    heard => `setsid -f env -i sh -c '${handshake(heard)} &' ${DETACHED}`,
  ],
  ['under the pid of a process of the user', heard => handshake(heard, process.pid)],
  ['under the pid of the hub', heard => `${handshake(heard)} `.replace(' 0 ', ' $PPID ')],
  [
    'detached, under the pid of a process of the user',
    heard => `setsid -f env -i sh -c '${handshake(heard, process.pid)} &' ${DETACHED}`,
  ],
])(
  'a handshake from inside a run does not replace the hub: %s',
  { tags: ['replacing-the-hub'] },
  async (_how, command) => {
    const { heard, isSameHub } = await attack(command);
    expect(heard).not.toContain('handover');
    expect(isSameHub).toBe(true);
    expect(existsSync(evil)).toBe(false);
  },
);

test('a run that names a process of the user as itself is still that run', {
  tags: ['replacing-the-hub'],
}, async () => {
  const { heard, isSameHub } = await attack(file => `${handshake(file, process.pid)} stop_hub`);
  expect(heard).toContain('NOT_ALLOWED');
  expect(isSameHub).toBe(true);
});

test('a client that does not prove which process it is, is refused', {
  tags: ['replacing-the-hub'],
}, async () => {
  squad.write('silent.mjs', HANDSHAKE.replace('if (prove)', 'if (false)').replace('1500', '8000'));
  const silent = handshake('FILE', process.pid).replace('hello.mjs', 'silent.mjs');
  const { heard, isSameHub } = await attack(file => `${silent.replace('FILE', file)} stop_hub`);
  expect(heard).toContain('did not prove which process it is');
  expect(isSameHub).toBe(true);
});

test.each([
  ['is refused what the user may do', 'stop_hub', false],
  ['does not replace the hub', '', false],
  ['does not replace a hub that has known no run', '', true],
])(
  'a process that an ended run left behind, while no run is running, %s',
  { tags: ['replacing-the-hub'] },
  async (_what, operation, isNewHub) => {
    squad.write('roles/keeper.md', '---\nleftovers: keep\n---\nYou keep.');
    await squad.json(['trust', '--yes', 'roles/keeper.md']);
    const [go, heard] = ['go', 'heard'].map(name => join(squad.root, `${name}-${process.hrtime.bigint()}`));
    const ask = `env -u SQUAD_RUN_ID ${handshake(heard!)} ${operation}`;
    const task = ['Leave.', '```script', `leave until [ -e ${go} ]; do sleep 0.05; done; ${ask}`, '```'];
    const env = { SQUAD_AGENTS_DIR: 'roles' };
    const ran = await squad.run(['run', '--engine', 'scripted', 'keeper', task.join('\n')], { env });
    expect(ran.code).toBe(0);
    if (isNewHub) await squad.run(['hub', 'stop']);
    const hub = await squad.hubPid();
    writeFileSync(go!, '');
    const text = await until('it is over', () => existsSync(heard!) && readFileSync(heard!, 'utf8').trim());
    expect(text).not.toContain('handover');
    if (operation) expect(text).toContain('NOT_ALLOWED');
    expect([isAlive(hub), await squad.hubPid()]).toEqual([true, hub]);
    expect(existsSync(evil)).toBe(false);
  },
);

test.each(['', 'env -i ', 'setsid '])(
  'another build that an agent runs is served by the hub there is: %s',
  async how => {
    const command = `${how}env SQUAD_HOME=${squad.home} ${process.execPath} ${newer.bin} hub status --json`;
    const { heard, isSameHub } = await attack(file => `${command} > ${file}.new; mv ${file}.new ${file}`);
    expect(isSameHub).toBe(true);
    expect(heard).not.toContain('99.0.0');
  },
);

test('the user replaces the hub while agents work', async () => {
  const pid = await squad.hubPid();
  await using agent = await RunningAgent.start(squad, 'coder');
  const { version } = await squad.json<{ version: string }>(['hub', 'start'], { bin: newer.bin });
  expect([version, isAlive(pid)]).toEqual(['99.0.0', false]);
  expect(await squad.statusOf(agent.id)).toBe('running');
});
