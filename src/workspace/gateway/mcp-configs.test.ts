import { chmod, mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { McpConfigs } from '../../core/ports/gateway.ts';
import { withLock } from '../files/file-lock.ts';
import { trust, untrust } from '../settings/trust.ts';
import { changeLock } from './change-mcp-config.ts';
import { untrustedMcpConfig } from './mcp-config-file.ts';
import { createMcpConfigs } from './mcp-configs.ts';

let root: string;
let workspace: string;
let home: string;
let file: string;
let configs: McpConfigs;
let warnings: string[];
let changes: string[];
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'squad-mcp-')));
  workspace = join(root, 'ws');
  home = join(root, 'state');
  file = join(workspace, '.squad', 'mcp-config.json');
  await mkdir(workspace);
  await mkdir(home);
  warnings = [];
  changes = [];
  configs = createMcpConfigs({ home, warn: message => warnings.push(message) });
  configs.onChange(changed => changes.push(changed));
});
afterEach(async () => {
  configs.close();
  await rm(root, { recursive: true, force: true });
});

async function put(text: string, path = file): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return text;
}
const putTrusted = async (text: string) => trust(home, file, await put(text));

const ONE = config({ one: { command: 'one', tools: ['*'] } });
const TWO = config({
  one: { command: 'one', tools: ['*'] },
  two: { type: 'http', url: 'https://two.example', tools: ['*'] },
});
function config(servers: object): string {
  return JSON.stringify({ servers, agentServers: { coder: Object.keys(servers) } }, null, 2);
}

/** Gives nobody anything, and so needs no trust. */
const NONE = config({});

const servers = async () => Object.keys((await configs.of(workspace)).config?.servers ?? {});
/** Servers of the last known configuration. Does not read the file, so only a watch can change them. */
const knownServers = () => Object.keys(configs.known(workspace)?.config?.servers ?? {});

async function until(what: string, look: () => boolean): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await new Promise(wake => setTimeout(wake, 10)))
    if (look()) return;
  throw new Error(`It did not become so in time: ${what}`);
}

describe('configuration in force', () => {
  it('is nothing without a file', async () => {
    expect(configs.known(workspace)).toBeNull();
    expect(await configs.of(workspace)).toEqual({ file, state: 'none', config: null, warnings: [] });
    expect(warnings).toEqual([]);
  });

  it('is nothing of a file that nobody has trusted, and the warning says what it would do', async () => {
    await put(TWO);
    const { state, config: inForce, warnings: said } = await configs.of(workspace);
    expect([state, inForce]).toEqual(['untrusted', null]);
    expect(said).toEqual([
      `${file} has no effect until you trust it: it would start one (one) and reach two (https://two.example). Read it, then run \`squad trust\`.`,
    ]);
    expect(warnings).toEqual(said);
  });

  it('keeps a secret of the file out of that warning', async () => {
    await put(config({ db: { type: 'http', url: 'https://me:hunter2-hunter2@db.example/mcp', tools: [] } }));
    await configs.of(workspace);
    expect(warnings.join()).toContain('db.example');
    expect(warnings.join()).not.toContain('hunter2');
  });

  it('is what the user trusted, with its defaults', async () => {
    await putTrusted(ONE);
    expect(await configs.of(workspace)).toMatchObject({
      state: 'trusted',
      config: { servers: { one: { type: 'stdio', timeout: 60_000 } }, shared: [] },
    });
    expect(configs.known(workspace)?.state).toBe('trusted');
  });

  it('needs no trust where there is nothing to give', async () => {
    await put('{ "servers": {} }');
    expect((await configs.of(workspace)).state).toBe('trusted');
  });

  it('reports each dangling reference with its place, and uses the rest', async () => {
    await putTrusted(
      '{\n  "servers": { "one": { "command": "one", "tools": ["*"] } },\n  "shared": ["one", "tow"]\n}',
    );
    expect(await servers()).toEqual(['one']);
    expect(warnings.join('\n')).toMatch(/line 3, column 21: .*tow/);
  });

  it('does not follow a link out of the workspace, and does follow one inside', {
    tags: ['symlinks-and-races'],
  }, async () => {
    const outside = join(root, 'outside.json');
    await put(ONE, outside);
    await trust(home, outside, ONE);
    await mkdir(dirname(file));
    await symlink(outside, file);
    expect(await configs.of(workspace)).toMatchObject({ state: 'invalid', config: null });
    expect(warnings.join()).toContain('leads out of the workspace');
    await rm(file);
    const inside = join(workspace, 'servers.json');
    await put(ONE, inside);
    await trust(home, inside, ONE);
    await symlink(inside, file);
    expect(await servers()).toEqual(['one']);
  });

  it('is nothing while the list of trusted files cannot be read', { tags: ['failing-open'] }, async () => {
    await putTrusted(ONE);
    await writeFile(join(home, 'trust.json'), '{ broken');
    const { state, warnings: said } = await configs.of(workspace);
    expect([state, said[0]]).toEqual(['untrusted', expect.stringContaining('trust.json, line 1, column 3')]);
  });
});

/** Everything that can be wrong with a file as a whole. */
const WRONG: [string, string | Buffer][] = [
  ...Object.entries({
    servers: [],
    agentServers: { coder: 'one' },
    shared: 'one',
    toolRestrictions: { coder: [] },
    argumentRules: [{ argument: 'a', allow: ['x'] }],
    $schema: 1,
    unknown: 1,
  }).map(([key, value]): [string, string] => [
    key,
    JSON.stringify({ ...JSON.parse(TWO), [key]: value }, null, 2),
  ]),
  ['empty', ''],
  ['only space', ' \r\n'],
  ['not an object', '[]'],
  ['null', 'null'],
  ['comments', `// hi\n${TWO}`],
  ['a key twice', TWO.replace('"servers"', '"servers": {}, "servers"')],
  ['__proto__', TWO.replace('"two"', '"__proto__"')],
  ['constructor', TWO.replace('"agentServers"', '"constructor"')],
  ['very deep', `{"servers": ${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`],
  ...Array.from({ length: Math.floor(TWO.length / 37) }, (_, index): [string, string] => [
    `cut after ${(index + 1) * 37} bytes`,
    TWO.slice(0, (index + 1) * 37),
  ]),
];

/** Each key of a server, its restrictions and its rules with a value of the wrong kind: always of the server `one`. */
const WRONG_SERVER: [string, string][] = [
  ...Object.entries({
    type: 'pipe',
    command: ['one'],
    args: 'one',
    env: { A: 1 },
    cwd: '',
    tools: '*',
    resources: [1],
    prompts: {},
    timeout: 1,
    cooldown: '60s',
    instance: 'mine',
    unknown: 1,
    url: 'https://x.example',
  }).map(([key, value]): [string, string] => [
    `server.${key}`,
    config({ two: { command: 'two', tools: ['*'] }, one: { command: 'one', tools: ['*'], [key]: value } }),
  ]),
  ...Object.entries({ url: 1, headers: [], unknown: 1, command: 'x' }).map(
    ([key, value]): [string, string] => [
      `remote.${key}`,
      config({
        two: { command: 'two', tools: ['*'] },
        one: { type: 'sse', url: 'https://x.example', tools: ['*'], [key]: value },
      }),
    ],
  ),
  ...Object.entries({
    role: 1,
    tool: [],
    argument: '',
    allow: 'x',
    deny: [],
    under: [''],
    maxLength: 0,
    unknown: 1,
  }).map(([key, value]): [string, string] => [
    `rule.${key}`,
    JSON.stringify({
      ...JSON.parse(TWO),
      argumentRules: [{ server: 'one', argument: 'a', allow: ['x'], [key]: value }],
    }),
  ]),
  [
    'a rule that checks nothing',
    JSON.stringify({ ...JSON.parse(TWO), argumentRules: [{ server: 'one', argument: 'a' }] }),
  ],
  [
    'an id that is none',
    config({ two: { command: 'two', tools: ['*'] }, 'one server': { command: 'one', tools: ['*'] } }),
  ],
  ...Object.entries({ include: 'read', exclude: [1], neither: {} }).map(([key, value]): [string, string] => [
    `restriction.${key}`,
    JSON.stringify({ ...JSON.parse(TWO), toolRestrictions: { coder: { one: { [key]: value } } } }),
  ]),
];

describe('a server that is wrong', () => {
  it.each(WRONG_SERVER)(
    'is disabled, and the rest of the file counts: %s',
    { tags: ['B5'] },
    async (_, text) => {
      await putTrusted(ONE);
      expect(await servers()).toEqual(['one']);
      await put(text);
      expect(await configs.of(workspace)).toMatchObject({ state: 'untrusted', config: null });
      await trust(home, file, text);
      const { state, config, warnings: said } = await configs.of(workspace);
      expect([state, Object.keys(config!.servers)]).toEqual(['trusted', ['two']]);
      expect(Object.keys(config!.disabled!)).toEqual([expect.stringMatching(/^one/)]);
      expect(said[0]).toMatch(/mcp-config\.json, line \d+, column \d+: /);
    },
  );

  it('is Squad itself: then it is what every run has anyway, however the file starts it', {
    tags: ['B5'],
  }, async () => {
    const squad = { type: 'local', command: 'node', args: ['./mcp-server.js'], cwd: 1, tools: ['*'] };
    const text = JSON.stringify({
      servers: { ...JSON.parse(ONE).servers, squad },
      agentServers: { coder: ['squad', 'one'] },
      shared: ['squad'],
    });
    await putTrusted(text);
    const { config, warnings: said } = await configs.of(workspace);
    expect([Object.keys(config!.servers), config!.disabled, said]).toEqual([['one'], undefined, []]);
  });
});

describe('a file that cannot be used', () => {
  it.each(WRONG)(
    'never gives more than there was before, also when it is trusted: %s',
    { tags: ['failing-open'] },
    async (_, text) => {
      await putTrusted(ONE);
      expect(await servers()).toEqual(['one']);
      await put(String(text));
      const before = await configs.of(workspace);
      expect([before.state, Object.keys(before.config?.servers ?? {})]).toEqual(['invalid', ['one']]);
      expect(before.warnings[0]).toMatch(/mcp-config\.json, line \d+, column \d+: /);
      expect(before.warnings.at(-1)).toContain('the previous version stays in force');

      // The content in force is no longer the trusted content.
      await trust(home, file, String(text));
      expect(await configs.of(workspace)).toMatchObject({ state: 'invalid', config: null });
      const fresh = createMcpConfigs({ home, warn: () => {} });
      expect(await fresh.of(workspace)).toMatchObject({ state: 'invalid', config: null });
      fresh.close();
    },
  );

  it.each([
    ['not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
    ['a NUL character', Buffer.from(`${TWO}\0`)],
    ['more than is read', Buffer.from(`${TWO}${' '.repeat(1024 * 1024)}`)],
  ])('keeps what was in force: %s', { tags: ['failing-open'] }, async (_, bytes) => {
    await putTrusted(ONE);
    await servers();
    await writeFile(file, bytes);
    expect(await configs.of(workspace)).toMatchObject({ state: 'invalid', config: { servers: { one: {} } } });
  });

  it('keeps what was in force where the file is a folder or may not be read', async () => {
    await putTrusted(ONE);
    await servers();
    await rm(file);
    await mkdir(file);
    expect((await configs.of(workspace)).state).toBe('invalid');
    expect(warnings.join()).toContain('is a folder');
    await rm(file, { recursive: true });
    await put(TWO);
    await chmod(file, 0);
    // Root reads it all the same, and nobody has trusted it.
    expect(['invalid', 'untrusted']).toContain((await configs.of(workspace)).state);
    expect(knownServers()).not.toContain('two');
  });

  it('keeps nothing that the user has taken their trust back from', async () => {
    await putTrusted(ONE);
    await servers();
    await untrust(home, file);
    await put('{');
    expect(await configs.of(workspace)).toMatchObject({ state: 'invalid', config: null });
  });

  it('is the same file with a byte order mark and with other line ends', async () => {
    await put(`\ufeff${ONE.replaceAll('\n', '\r\n')}`);
    await trust(home, file, ONE.replaceAll('\n', '\r\n'));
    expect(await servers()).toEqual(['one']);
    await put('{\r\n "servers": {},\r\n "x": 1\r\n}');
    await configs.of(workspace);
    expect(warnings.join()).toContain('line 3, column 2: the key "x" is not known');
  });
});

describe('a change', () => {
  const isNone = () => configs.known(workspace)?.state === 'trusted' && knownServers().length === 0;

  beforeEach(async () => {
    await putTrusted(ONE);
    expect(await servers()).toEqual(['one']);
    expect(changes).toEqual([]);
  });

  it('is noticed when the file is written in place, and told once', async () => {
    await writeFile(file, NONE);
    await until('no server', isNone);
    expect(changes).toEqual([workspace]);
  });

  it('is noticed when an editor puts a new file in its place', { tags: ['B8'] }, async () => {
    await put(NONE, `${file}.tmp`);
    await rename(`${file}.tmp`, file);
    await until('no server', isNone);
  });

  it('is noticed when the whole folder is replaced, and again after that', async () => {
    await put(NONE, join(workspace, 'new', 'mcp-config.json'));
    await rename(dirname(file), join(workspace, 'old'));
    await rename(join(workspace, 'new'), dirname(file));
    await until('no server', isNone);
    await writeFile(file, ONE);
    await until('one server', () => knownServers().length === 1);
  });

  it('is noticed when the folder goes and comes back', async () => {
    await rm(dirname(file), { recursive: true });
    await until('nothing', () => configs.known(workspace)?.state === 'none');
    await put(ONE);
    await until('one server', () => knownServers().length === 1);
    expect(changes).toEqual([workspace, workspace]);
  });

  it('is noticed when trust is taken back and given', async () => {
    await untrust(home, file);
    await until('nothing', () => configs.known(workspace)?.config === null);
    await trust(home, file, ONE);
    await until('one server', () => knownServers().length === 1);
    expect(changes).toEqual([workspace, workspace]);
  });

  it('that leaves in force what was is not told', async () => {
    await writeFile(file, '{');
    await until('the fault', () => configs.known(workspace)?.state === 'invalid');
    await writeFile(file, ONE);
    await until('the end of it', () => configs.known(workspace)?.state === 'trusted');
    expect(changes).toEqual([]);
    expect(warnings.filter(text => text.includes('stays in force'))).toHaveLength(1);
  });

  it('of our own is one change: nobody finds the new text without the trust in it', async () => {
    let asked = configs.of(workspace);
    await withLock(changeLock(home), async () => {
      await put(TWO);
      asked = configs.of(workspace);
      // Often enough for the question to be answered too.
      for (let round = 0; round < 50; round++)
        expect(await untrustedMcpConfig(home, workspace)).toEqual([file]);
      await trust(home, file, TWO);
    });
    expect((await asked).state).toBe('trusted');
    await until('two servers', () => knownServers().length === 2);
    expect(changes).toEqual([workspace]);
    expect(warnings).toEqual([]);
  });

  it('back to what was trusted once gives nothing', { tags: ['configuration-is-code'] }, async () => {
    await put(TWO);
    await trust(home, file, TWO);
    await until('two servers', () => knownServers().length === 2);
    await trust(home, file, ONE);
    await put(ONE);
    await until('one server', () => knownServers().length === 1);
    await put(TWO);
    await until('nothing', () => configs.known(workspace)?.state === 'untrusted');
    expect(configs.known(workspace)?.config).toBeNull();
  });

  it('is not told to who has stopped listening', async () => {
    const heard: string[] = [];
    configs.onChange(changed => heard.push(changed))();
    await writeFile(file, NONE);
    await until('a change', () => changes.length === 1);
    expect(heard).toEqual([]);
  });
});

it('a workspace whose folder comes later is watched from the first question', async () => {
  expect(await servers()).toEqual([]);
  await trust(home, file, ONE);
  await put(ONE);
  await until('one server', () => knownServers().length === 1);
  expect(changes).toEqual([workspace]);
});

it('a question sees what was written before it, however many ask', async () => {
  for (let round = 0; round < 20; round++) {
    const text = config({ [`s${round}`]: { command: 'x', tools: [] } });
    await trust(home, file, text);
    await put(text);
    expect(await Promise.all([servers(), servers(), servers()])).toEqual(Array(3).fill([`s${round}`]));
  }
});

describe('after a while', () => {
  let own: McpConfigs;
  let heard: string[];
  const other = () => join(root, 'other');
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    own = createMcpConfigs({ home, warn: () => {} });
    heard = [];
    own.onChange(changed => heard.push(changed));
    for (const path of [file, join(other(), '.squad', 'mcp-config.json')]) {
      await put(ONE, path);
      await trust(home, path, ONE);
    }
  });
  afterEach(() => {
    vi.useRealTimers();
    own.close();
  });

  it('a workspace nobody asks about is not watched any more, until somebody does', async () => {
    await own.of(workspace);
    vi.advanceTimersByTime(6 * 60_000);
    await own.of(other());
    vi.advanceTimersByTime(10 * 60_000);
    vi.useRealTimers();
    await put(NONE);
    await put(NONE, join(other(), '.squad', 'mcp-config.json'));
    await until('the change of the one that is watched', () => heard.includes(other()));
    expect(heard).toEqual([other()]);
    expect(Object.keys(own.known(workspace)!.config!.servers)).toEqual(['one']);
    await until('the other change', () => heard.includes(workspace));
  });

  // `known` would count as a question: what is heard is all that is looked at.
  it.each([
    ['that its file was narrowed', () => put(NONE)],
    ['that its trust was taken back', () => untrust(home, file)],
  ])('a workspace that is kept by a run hears %s', { tags: ['configuration-is-code'] }, async (_, change) => {
    await own.of(workspace);
    const letGo = own.keep(workspace);
    own.keep(workspace)();
    vi.advanceTimersByTime(45 * 60_000);
    vi.useRealTimers();
    await change();
    await until('the change', () => heard.includes(workspace));
    expect(Object.keys(own.known(workspace)?.config?.servers ?? {})).toEqual([]);
    letGo();
  });

  it('a workspace is not watched any more when the last run has let go of it', async () => {
    await own.of(workspace);
    const runs = [own.keep(workspace), own.keep(workspace)];
    await own.of(other());
    own.keep(other());
    vi.advanceTimersByTime(30 * 60_000);
    for (const letGo of [...runs, ...runs]) letGo();
    vi.advanceTimersByTime(16 * 60_000);
    vi.useRealTimers();
    await put(NONE);
    await put(NONE, join(other(), '.squad', 'mcp-config.json'));
    await until('the change of the one that is watched', () => heard.includes(other()));
    expect(heard).toEqual([other()]);
  });
});
