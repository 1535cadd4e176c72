import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { figure } from '../faults/figures.ts';
import { hostileBlock } from '../servers/start.ts';
import { TestSquad, until } from '../support/squad.ts';
import { storedEvents } from '../support/stored.ts';
import { type Agent, startAgents } from './agents.ts';
import { configure, upstreamsOf } from './config-file.ts';
import { holders } from './files-in.ts';
import { Recorded, toolNamed } from './recorded.ts';

/** Forty, some with letters that every encoding writes otherwise. */
const CANARIES = Array.from(
  { length: 40 },
  (_, at) => `${at % 4 === 0 ? '"ß&\\/+ ' : ''}cnry${at}-${randomBytes(9).toString('hex')}`,
);
const variable = (at: number) => `\${CANARY_${at}}`;
/** Literal ones stand in the file itself, under names that say what they are. */
const plain = (at: number) => CANARIES[at]!.replace(/^.*cnry/, 'cnry');

const squad = new TestSquad({
  MCP_LOG_LEVEL: 'debug',
  ...Object.fromEntries(CANARIES.map((value, at) => [`CANARY_${at}`, value])),
});

/** How a secret can be written, and which letters of that are nobody else's. */
const FORMS: { write(value: string): string; find(value: string): string }[] = [
  ...[
    (value: string) => value,
    (value: string) => Buffer.from(value).toString('hex'),
    (value: string) => encodeURIComponent(value),
    (value: string) => JSON.stringify(value).slice(1, -1),
  ].map(form => ({ write: form, find: form })),
  // The first and the last letters depend on what is around.
  ...['', 'x', 'xy'].map(before => ({
    write: (value: string) => Buffer.from(before + value).toString('base64'),
    find: (value: string) =>
      Buffer.from(before + value)
        .toString('base64')
        .slice(before ? 4 : 0, -4),
  })),
];
const ALL_FORMS = [...new Set(CANARIES.flatMap((value, at) => [value, plain(at)]))].flatMap(value =>
  FORMS.map(({ find }) => find(value)),
);
const written = (values: string[]) =>
  values.flatMap(value => FORMS.map(({ write }) => write(value))).join(' | ');

const kept = new Recorded(squad.root, 'kept');
const seen: string[] = [];
let web: Server;
let agent: Agent;

beforeAll(async () => {
  web = createServer((request, response) => {
    request.resume();
    // It quotes all that it was sent, as bad servers do.
    response.writeHead(500).end(JSON.stringify([request.headers, request.url, written(CANARIES)]));
  });
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  const { port } = web.address() as { port: number };
  kept.offers({
    tools: [{ ...toolNamed('say'), description: `Knows ${CANARIES.slice(0, 15).join(' ')}` }],
    says: written(CANARIES.slice(0, 15)),
    tells: CANARIES.slice(0, 15).join(' '),
  });
  await squad.unlimited();
  await configure(squad, {
    servers: {
      kept: kept.block({
        args: [0, 1, 2, 3, 4].map(variable),
        env: Object.fromEntries(
          [5, 6, 7, 8, 9, 10, 11, 12, 13, 14].map(at => [`V${at}`, `x ${variable(at)} y`]),
        ),
      }),
      web: {
        type: 'http',
        url: `http://user:${plain(15)}@127.0.0.1:${port}/mcp?api_key=${plain(16)}&token=${plain(17)}`,
        headers: {
          Authorization: `Bearer ${plain(18)}`,
          'X-Api-Key': plain(19),
          ...Object.fromEntries([21, 22, 23, 25, 26].map(at => [`X-Custom-${at}`, variable(at)])),
        },
        tools: ['*'],
      },
      dies: hostileBlock('secret-at-death', { env: { SECRET: variable(27) } }),
      errs: hostileBlock('secret-in-error', { env: { SECRET: variable(29) } }),
      tells: hostileBlock('secret-in-progress', { env: { SECRET: variable(30) } }),
      argv: hostileBlock('secret-in-arguments', { env: { SECRET: variable(31), API_TOKEN: plain(32) } }),
      bad: { command: variable(33), args: [variable(34)], tools: ['*'], cwd: `/no/such/${variable(35)}` },
    },
    shared: ['kept', 'web', 'dies', 'errs', 'tells', 'argv', 'bad'],
  });
  [agent] = (await startAgents(squad, 'coder')) as [Agent];
  await until('its tools are there', async () => (await agent.theirs()).length >= 4);
});
afterAll(async () => {
  web.closeAllConnections();
  web.close();
  await squad[Symbol.asyncDispose]();
});

/** Secrets from variables that the configuration uses. Agents have the others in the environment of the user. */
const NOT_TO_AGENTS = [...Array(36).keys()].filter(at => (at < 15 || at > 20) && ![24, 28, 32].includes(at));

const hits = (text: string) => ALL_FORMS.filter(form => text.includes(form));

test('there are forty secrets, and the servers have theirs', { tags: ['R29'] }, () => {
  expect(new Set(CANARIES).size).toBe(40);
  figure('R29', {
    reached: 40,
    of: 40,
    told: 'canaries through every feature, 0 found where agents or users read',
  });
  const [start] = kept.starts();
  expect(start!.args).toEqual(CANARIES.slice(0, 5));
  expect(start!.env.V14).toBe(`x ${CANARIES[14]} y`);
});

test('a server is given its own and none of the others', { tags: ['secret-leakage'] }, () => {
  const { env } = kept.starts()[0]!;
  const others = CANARIES.filter((_, at) => at > 14);
  expect(Object.values(env).filter(value => others.some(other => value.includes(other)))).toEqual([]);
});

test('no answer an agent gets has one, in any form', { tags: ['secret-leakage'] }, async () => {
  const names = await agent.theirs();
  const answers = [
    await agent.ask('tools/list'),
    await agent.ask('server/discover'),
    await agent.ask('resources/list'),
  ];
  for (const name of [...names, 'web__x', 'dies__echo', 'bad__x'])
    for (const _meta of [{}, { progressToken: 1 }])
      answers.push(await agent.ask('tools/call', { name, arguments: { nonce: 'n' }, ..._meta }));
  seen.push(...answers.map(({ body }) => body));
  expect(kept.asked().length).toBeGreaterThan(0);
  expect(hits(seen.join('\n'))).toEqual([]);
});

test("no agent is given what the configuration's variables hold", { tags: ['secret-leakage'] }, () => {
  const environments = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(pid => {
      try {
        const text = readFileSync(`/proc/${pid}/environ`, 'utf8');
        return text.includes(`SQUAD_RUN_ID=${agent.id}`) ? [text] : [];
      } catch {
        return []; // ended meanwhile, or another user's
      }
    });
  expect(environments.length).toBeGreaterThan(0);
  const leaked = NOT_TO_AGENTS.filter(at => environments.some(text => text.includes(CANARIES[at]!)));
  expect(leaked).toEqual([]);
});

describe('nothing that Squad tells the user has one', { tags: ['secret-leakage'] }, () => {
  test.each(['', '--json'])('%s', async json => {
    await until('all have been tried', async () =>
      (await upstreamsOf(squad)).every(({ health }) => health !== 'starting'),
    );
    const words = [
      ...[
        ['mcp', 'status'],
        ['mcp', 'tools', '--role', 'coder'],
        ['mcp', 'approve'],
        ['mcp', 'lint'],
        ['doctor'],
        ['trust'],
      ],
      ...[
        ['audit', '-n', '1000'],
        ['audit', 'verify'],
        ['ls'],
        ['show', agent.id],
        ['log', agent.id],
        ['hub', 'status'],
        ['hub', 'log', '-n', '100000'],
      ],
      ...[['config', 'show'], ['team'], ['roles']],
    ];
    const told = await Promise.all(words.map(each => squad.run(json === '' ? each : [...each, json])));
    for (const [at, { stdout, stderr }] of told.entries())
      expect([words[at], hits(stdout + stderr)]).toEqual([words[at], []]);
    expect(hits(JSON.stringify(await storedEvents(squad)))).toEqual([]);
  });
});

test('while the run is running, they are in one file of its folder, which only the user can read', {
  tags: ['secret-leakage'],
}, () => {
  const allowed = ['variables.json', 'environment.json'].map(name =>
    join(squad.home, 'runs', agent.id, name),
  );
  expect(holders(squad.home, ALL_FORMS).filter(file => !allowed.includes(file))).toEqual([]);
  const environment = readFileSync(allowed[1]!, 'utf8');
  expect(NOT_TO_AGENTS.filter(at => environment.includes(JSON.stringify(CANARIES[at]).slice(1, -1)))).toEqual(
    [],
  );
});

test('after its end no file of the home has one, in any form', {
  tags: ['R29', 'secret-leakage'],
}, async () => {
  await squad.run(['cancel', agent.id]);
  await squad.run(['hub', 'stop']);
  expect(holders(squad.home, ALL_FORMS)).toEqual([]);
});
