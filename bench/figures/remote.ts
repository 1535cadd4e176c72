import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestBox } from '../../test/support/box.ts';
import { BenchSquad } from '../bench-squad.ts';
import { Fifo } from '../fifo.ts';
import { type Figure, paired } from '../figure.ts';
import { restartHub } from '../hub-line.ts';
import type { McpClient } from '../mcp-client.ts';
import { interleave, timed } from '../measure.ts';
import { clientForStarts, untilBegun } from '../start-pair.ts';

const MAX_OVER_MS = 3;
const MIN_SHARE = 0.5;
const BYTES = 200e6;
const START_PAIRS = 100;
const PULL_PAIRS = 10;
const MAX_WAIT_MS = 2_000;
const RESTART_PAIRS = 5;

/** Another machine over ssh: here a second sshd, so without the time that a network takes. */
export const remote: Figure = {
  name: 'remote',
  title: 'Runs on another machine over an open connection, against the same here',
  async measure() {
    const squad = new BenchSquad();
    const box = new TestBox(squad);
    const others = ['second', 'third'].map(name => new TestBox(squad, name));
    try {
      await box.start();
      box.describe(box.address.port);
      await squad.squad('machines', 'add', 'box', 'box', '--ssh-config', box.sshConfig, '--slots', '8');
      const rows = [await starts(squad, box), await pulls(squad, box)];
      return [...rows, await restarts(squad, others)];
    } finally {
      for (const other of others) {
        other.network.close();
        await other.stop();
      }
      await box.remove(squad);
    }
  },
};

const member = (client: McpClient, cwd: string, roleId: 'there' | 'here') =>
  client.tool('start_squad_members', { members: [{ roleId, task: 'begin', isolation: 'none', cwd }] });

function client(squad: BenchSquad, env: Record<string, string>): Promise<McpClient> {
  const roles = join(squad.root, 'roles');
  mkdirSync(roles, { recursive: true });
  writeFileSync(join(roles, 'there.md'), '---\nmachine: box\n---\nYou work.\n');
  writeFileSync(join(roles, 'here.md'), 'You work.\n');
  return clientForStarts(squad, { ...env, SQUAD_AGENTS_DIR: roles });
}

async function starts(squad: BenchSquad, box: TestBox) {
  const fifo = new Fifo(join(squad.root, 'started'));
  const { env } = squad.agent([`echo >${fifo.path}`]);
  const asking = await client(squad, env);
  const pair = await interleave(
    () => untilBegun(fifo, () => member(asking, box.home, 'there')),
    () => untilBegun(fifo, () => member(asking, squad.workspace, 'here')),
    { pairs: START_PAIRS, warmUps: 10 },
  );
  await asking.close();
  fifo.close();
  return paired('start of an agent there, against here', 'ms', pair, {
    target: `≤ +${MAX_OVER_MS} ms`,
    isMet: ({ over }) => over! <= MAX_OVER_MS,
  });
}

/** Megabytes per second from the first byte that the agent writes there to the answer here, against `ssh BOX cat`. */
async function pulls(squad: BenchSquad, box: TestBox) {
  const source = join(squad.root, 'source');
  execFileSync('sh', ['-c', `seq 1 999999999 | head -c ${BYTES} >${source} && sync ${source}`]);
  const { env } = squad.agent([`cat ${source}`]);
  const asking = await client(squad, env);
  const rate = (ms: number) => BYTES / 1e6 / (ms / 1000);
  const target = join(squad.root, 'copy');
  const ssh = `ssh -F ${box.sshConfig} box cat ${source} >${target}`;
  const pair = await interleave(
    async () => rate(await timed(() => member(asking, box.home, 'there'))),
    async () => rate(await timed(async () => execFileSync('sh', ['-c', ssh]))),
    { pairs: PULL_PAIRS, warmUps: 1 },
  );
  await asking.close();
  const [run] = (await squad.squad<{ runs: { id: string }[] }>('ls', '--all')).runs;
  const output = join(squad.home, 'runs', run!.id, 'turn-1', 'stdout');
  if (statSync(output).size !== BYTES || !readFileSync(output).equals(readFileSync(source)))
    throw new Error('What was pulled is not what was written');
  return paired('200 MB of output, from the start to the answer, against ssh cat', 'MB/s', pair, {
    target: `≥ ${MIN_SHARE} ×`,
    isMet: ({ ratio }) => ratio! >= MIN_SHARE,
  });
}

/** Start of a killed hub that has a run on each of two boxes, while one of them says nothing, against both at hand. */
async function restarts(squad: BenchSquad, boxes: TestBox[]) {
  const fifo = new Fifo(join(squad.root, 'begun'));
  const { env } = squad.agent([`echo >${fifo.path}`, 'exec sleep 3600']);
  const roles = join(squad.root, 'waiting');
  mkdirSync(roles);
  for (const [at, box] of boxes.entries()) {
    await box.start();
    await squad.squad('machines', 'add', `other${at}`, 'box', '--ssh-config', box.sshConfig);
    writeFileSync(join(roles, `wait${at}.md`), `---\nmachine: other${at}\n---\nYou wait.\n`);
  }
  // With this timeout the calls return as soon as the agents have started.
  const asking = squad.client({ ...env, MCP_TOOL_TIMEOUT: '2', SQUAD_AGENTS_DIR: roles });
  await asking.initialize();
  const members = boxes.map((box, at) => ({
    ...{ roleId: `wait${at}`, task: 'wait', isolation: 'none', cwd: box.home },
  }));
  await asking.tool('start_squad_members', { members });
  await fifo.take(boxes.length);
  await asking.close();
  fifo.close();
  const [away] = boxes;
  const pair = await interleave(
    async () => {
      away!.network.hold();
      const { answeredMs } = await restartHub(squad);
      away!.network.release();
      return answeredMs;
    },
    async () => (await restartHub(squad)).answeredMs,
    { pairs: RESTART_PAIRS, warmUps: 1 },
  );
  return paired('hub spawn to the first answer with 1 of 3 boxes away, against none', 'ms', pair, {
    target: `≤ +${MAX_WAIT_MS} ms`,
    isMet: ({ over }) => over! <= MAX_WAIT_MS,
  });
}
