import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newSchema, query } from '../../src/store/fixtures/temp-database.ts';
import { ended, isAlive, TestSquad, until } from '../support/squad.ts';

function newSquad(): TestSquad {
  const squad = new TestSquad({ SQUAD_DATABASE_URL: '' });
  // Everything that the demo makes is below this folder.
  squad.env.TMPDIR = squad.root;
  // Where tests run as root, the server runs as another user.
  chmodSync(squad.root, 0o711);
  onTestFinished(() => squad[Symbol.asyncDispose]());
  return squad;
}

const madeBy = (squad: TestSquad) =>
  readdirSync(squad.root).filter(name => /^squad-(cluster|demo)-/.test(name));

/** Processes that name this folder in their command line or environment. */
const processesIn = (folder: string): string[] =>
  readdirSync('/proc').filter(pid => {
    if (!/^\d+$/.test(pid) || !isAlive(Number(pid))) return false;
    return ['cmdline', 'environ'].some(file => {
      try {
        return readFileSync(join('/proc', pid, file), 'utf8').includes(folder);
      } catch {
        return false; // it has just gone
      }
    });
  });

test('the demo shows three hubs, the end of one, and its takeover, and leaves nothing behind', {
  tags: ['H8'],
  // The takeover alone takes half a minute.
  timeout: 400_000,
}, async () => {
  const squad = newSquad();
  const url = new URL(await newSchema());
  url.searchParams.delete('options');
  const schemas = () => query(url.href, `select 1 from pg_namespace where nspname like 'squad\\_%'`);
  const { code, stdout, stderr } = await squad.run(['cluster', 'demo', '--json'], {
    env: { SQUAD_DATABASE_URL: url.href },
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { runs, killed, repaired, folder } = JSON.parse(stdout);
  expect(runs.map(({ status }: { status: string }) => status)).toEqual(Array(4).fill('completed'));
  expect(killed).toMatchObject({
    ok: false,
    problems: [
      { message: expect.stringContaining('hub-3 is not running, and 1 of its runs have not ended') },
    ],
  });
  expect(repaired).toMatchObject({ ok: true, hubs: [{}, {}, {}] });
  expect([existsSync(folder), madeBy(squad), await schemas()]).toEqual([false, [], []]);
  expect(processesIn(folder)).toEqual([]);
});

test('Ctrl-C ends the demo with its server, hubs and agents', {
  tags: ['H8'],
  timeout: 400_000,
}, async () => {
  const squad = newSquad();
  const child = squad.start(['cluster', 'demo']);
  const end = ended(child);
  // A hub serves, and an agent is starting or running.
  await until(
    'hub-1 has runs',
    () => {
      const folder = madeBy(squad).find(name => name.startsWith('squad-cluster-'));
      return (
        child.exitCode !== null ||
        (folder && existsSync(join(squad.root, folder, 'hub-1', 'runs', '.database.json')))
      );
    },
    200_000,
  );
  child.kill('SIGINT');
  const { code, stdout, stderr } = await end;
  expect({ code, stderr }).toEqual({ code: 130, stderr: '' });
  expect(stdout).toContain('a server of its own');
  expect(madeBy(squad)).toEqual([]);
  expect(processesIn(join(squad.root, 'squad-cluster-'))).toEqual([]);
});
