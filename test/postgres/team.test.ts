import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { createProgram } from '../../src/cli/main.ts';
import { query } from '../../src/store/fixtures/temp-database.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { runInShell, shellBlocks } from '../support/shell-blocks.ts';
import { TestSquad } from '../support/squad.ts';

const root = resolve(import.meta.dirname, '../..');
const examples = join(root, 'examples', 'postgresql');
const GUIDE = 'docs/guides/hub/team-database.md';

const folder = mkdtempSync(join(tmpdir(), 'squad-team-'));
const certificates = join(folder, 'certificates');
let server: PostgresServer;

beforeAll(async () => {
  execFileSync('sh', [join(examples, 'make-certificates.sh'), 'localhost'], { cwd: folder, stdio: 'ignore' });
  server = await startPostgres({
    settings: ['ssl=on', 'ssl_cert_file=FILES/server.crt', 'ssl_key_file=FILES/server.key'],
    files: Object.fromEntries(['server.crt', 'server.key'].map(name => [name, join(certificates, name)])),
  });
  // The statements of the guide.
  const [, statements = ''] = /```sql\n([\s\S]*?)```/.exec(readFileSync(join(root, GUIDE), 'utf8')) ?? [];
  for (const statement of statements.split(';\n')) if (statement.trim()) await query(server.url, statement);
});
afterAll(async () => {
  await server.remove();
  rmSync(folder, { recursive: true });
});

test('the commands of the guide set up a database, its users and a hub', { tags: ['H8'] }, async () => {
  const squad = new TestSquad({ SQUAD_DATABASE_URL: '', SQUAD_HUB_LINGER_MS: '600000' });
  onTestFinished(() => squad[Symbol.asyncDispose]());
  cpSync(examples, join(squad.workspace, 'examples', 'postgresql'), { recursive: true });
  const passwords = [
    ['squad_owner', 'choose-one'],
    ['squad_hub', 'choose-another'],
  ].map(([user, password]) => `localhost:${server.port}:squad:${user}:${password}\n`);
  writeFileSync(join(squad.env.HOME!, '.pgpass'), passwords.join(''), { mode: 0o600 });
  for (const block of shellBlocks(GUIDE)) {
    const lines = block
      .replaceAll('@db.example.com', `@localhost:${server.port}`)
      .replaceAll('/etc/squad/ca.crt', join(certificates, 'ca.crt'));
    // demo.test.ts runs the demo.
    const ran = await runInShell(squad, lines, async ({ words, ...where }) =>
      words[0] === 'cluster' ? { code: 0, stdout: '', stderr: '' } : squad.run(words, where),
    );
    const { code } = ran;
    expect({ block, code, said: code === 0 ? '' : ran.stdout + ran.stderr }).toEqual({
      block,
      code: 0,
      said: '',
    });
  }
  const { runIds } = await squad.json<{ runIds: string[] }>([
    ...['run', '--engine', 'scripted', 'coder', 'Say hello', '--detach'],
  ]);
  await expect.poll(() => squad.statusOf(runIds[0]!)).toBe('completed');
  const team = new URL(server.url);
  team.pathname = '/squad';
  expect(await query(team.href, `select tableowner from pg_tables where tablename = 'runs'`)).toEqual([
    { tableowner: 'squad_owner' },
  ]);
  // The hub itself has the user with few rights.
  const users = `select distinct usename, ssl from pg_stat_activity join pg_stat_ssl using (pid)
    where application_name like 'squad home%'`;
  expect(await query(team.href, users)).toEqual([{ usename: 'squad_hub', ssl: true }]);
});

/** Commands of Squad in a file that another program runs. */
function expectKnown(text: string): void {
  const commands = [...text.matchAll(/\bsquad ((?:hub )?[a-z]+)$/gm)].map(([, words]) => words!.split(' '));
  expect(commands.length).toBeGreaterThan(0);
  for (const words of commands) {
    let command: ReturnType<typeof createProgram> | undefined = createProgram(() => {});
    for (const word of words) command = command?.commands.find(each => each.name() === word);
    expect({ words, isKnown: command !== undefined }).toEqual({ words, isKnown: true });
  }
}

test.each([
  ['squad-hub.service', 'squad-hub.service', ['--user']],
  ['squad-hub@.service', 'squad-hub@root.service', []],
])('the unit %s is valid, and its commands exist', { tags: ['H8'] }, async (name, as, options) => {
  const text = readFileSync(join(examples, name), 'utf8');
  expectKnown(text.replaceAll(/^#.*$/gm, ''));
  expect(text.match(/^\[.*\]$/gm)).toEqual(['[Unit]', '[Service]', '[Install]']);
  // Without it, systemd would end the agents with the hub.
  expect(text).toContain('KillMode=process');
  expect(existsSync(join(root, /blob\/main\/(\S+)/.exec(text)![1]!))).toBe(true);
  const file = join(folder, as);
  writeFileSync(file, text);
  const checked = spawnSync('systemd-analyze', ['verify', ...options, file], {
    encoding: 'utf8',
    env: { ...process.env, XDG_RUNTIME_DIR: folder },
  });
  const isInstalled = (checked.error as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT';
  if (isInstalled) expect(checked).toMatchObject({ status: 0, stderr: '' });
});

interface Service {
  image: string;
  ports: string[];
  environment: Record<string, string>;
  secrets: string[];
  volumes: string[];
  entrypoint: string[];
  healthcheck: { test: string[] };
}

test('the compose file names files that exist, and a server with TLS', { tags: ['H8'] }, () => {
  const text = readFileSync(join(examples, 'compose.yaml'), 'utf8');
  const { services, volumes, secrets, ...others } = parse(text) as {
    services: Record<string, Service>;
    volumes: Record<string, null>;
    secrets: Record<string, { file: string }>;
  };
  const { postgres } = services;
  expect([Object.keys(services), Object.keys(others)]).toEqual([['postgres'], []]);
  expect(postgres!.image).toMatch(/^postgres:1[4-9]$/);
  expect(postgres!.secrets).toEqual(Object.keys(secrets));
  const mounts = postgres!.volumes.map(volume => volume.split(':')[0]!);
  expect(mounts.filter(name => !name.startsWith('.'))).toEqual(Object.keys(volumes));
  const made = existsSync(join(certificates, 'server.key')) ? ['./certificates'] : [];
  for (const mount of mounts.filter(name => name.startsWith('./')))
    expect(existsSync(join(examples, mount)) || made.some(each => mount.startsWith(each))).toBe(true);
  const script = postgres!.entrypoint.at(-1)!;
  expect(postgres!.entrypoint.slice(0, 2)).toEqual(['sh', '-c']);
  expect(spawnSync('sh', ['-n', '-c', script]).status).toBe(0);
  expect(script).toContain('exec docker-entrypoint.sh postgres -c ssl=on');
  // The same users as in the guide.
  const users = readFileSync(join(examples, 'create-users.sh'), 'utf8').match(/create role \w+ login/g);
  const guide = readFileSync(join(root, GUIDE), 'utf8');
  for (const user of users!) expect(guide).toContain(user);
});
