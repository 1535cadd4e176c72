import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { figure } from '../faults/figures.ts';
import { TestSquad, until } from '../support/squad.ts';
import { startAndWait, wholeStream } from '../support/tools.ts';
import { type Agent, startAgents } from './agents.ts';
import { configure, upstreamsOf } from './config-file.ts';
import { hostileCommands } from './corpus/commands.ts';
import { inBatches } from './in-batches.ts';
import { faultOf } from './open-server.ts';
import { Recorded, toolNamed } from './recorded.ts';

const squad = new TestSquad();
const sentinel = join(squad.root, 'pwned');
const ALL = hostileCommands(`touch ${sentinel}`);
/** Texts that can be an argument or a variable: those without a null byte. */
const SAYABLE = ALL.filter(text => !text.includes('\0'));
/** Without a slash, so that a folder can be called so. */
const NAMES = hostileCommands('touch pwned').filter(name => !/[/\0]/.test(name));

const kept = new Recorded(squad.root, 'kept', { tools: ALL.map(name => toolNamed(name)) });
let agent: Agent;
let web: { url: string; headers: IncomingHttpHeaders[]; close(): void };

beforeAll(async () => {
  await squad.unlimited();
  web = await startWeb();
  await configure(squad, {
    servers: {
      kept: kept.block({
        args: SAYABLE,
        env: Object.fromEntries(SAYABLE.map((text, at) => [`HOSTILE_${at}`, text])),
      }),
      ...Object.fromEntries(batches(headerValues(), 50).map((values, at) => [`web-${at}`, remote(values)])),
      nul: { command: 'true', args: [ALL.find(text => text.includes('\0'))!], tools: ['*'] },
      break: remote(['a\r\nX-Other: b']),
    },
    agentServers: { coder: ['kept'], reviewer: batches(headerValues(), 50).map((_, at) => `web-${at}`) },
    shared: ['nul', 'break'],
  });
  [agent] = (await startAgents(squad, 'coder', 'reviewer')) as [Agent, Agent];
  await until('its tools are there', async () => (await agent.theirs()).length > 0);
});
afterAll(async () => {
  web.close();
  await squad[Symbol.asyncDispose]();
});

const nothingRan = () => {
  expect(existsSync(sentinel)).toBe(false);
  expect(readdirSync(squad.workspace)).not.toContain('pwned');
};

test('there are more than five hundred texts that a shell would run', {
  tags: ['R28', 'shell-and-command-injection'],
}, () => {
  expect(new Set(ALL).size).toBeGreaterThan(500);
  figure('R28', { reached: new Set(ALL).size, of: 500, told: 'commands, none was run' });
});

describe('a configuration that is full of commands', () => {
  test('hands arguments and variables to its server byte for byte', {
    tags: ['shell-and-command-injection'],
  }, () => {
    const [start] = kept.starts();
    expect(start!.args).toEqual(SAYABLE);
    expect(SAYABLE.map((_, at) => start!.env[`HOSTILE_${at}`])).toEqual(SAYABLE);
    nothingRan();
  });

  test('sends header values as they are', { tags: ['shell-and-command-injection'] }, async () => {
    const seen = await until('every server received a request', () => {
      const values = new Set(web.headers.flatMap(headers => Object.values(headers)));
      return headerValues().every(value => values.has(value)) && values;
    });
    expect(seen.size).toBeGreaterThan(300);
    nothingRan();
  });

  test('is refused by name where a value can be no argument or no header', {
    tags: ['shell-and-command-injection'],
  }, async () => {
    const faults = await until('they have been looked at', async () => {
      const found = (await upstreamsOf(squad)).filter(({ server }) => ['nul', 'break'].includes(server));
      return found.every(({ fault }) => fault !== null) && found;
    });
    expect(faults.map(({ fault }) => fault).sort()).toEqual([
      expect.stringContaining('a header of break has a line break'),
      expect.stringContaining('hold a NUL character'),
    ]);
  });

  test('starts no program by a name that holds a command', {
    tags: ['shell-and-command-injection'],
  }, async () => {
    const env = { PATH: '/usr/bin:/bin' };
    const faults = await Promise.all(
      SAYABLE.map(command => faultOf({ kind: 'stdio', command, args: [], cwd: squad.workspace, env })),
    );
    expect(faults).toEqual(SAYABLE.map(() => 'start'));
    nothingRan();
  });

  test('starts a server in a folder whose name is a command', {
    tags: ['shell-and-command-injection'],
  }, async () => {
    const folders = NAMES.filter((_, at) => at % 50 === 0);
    for (const name of folders) {
      const cwd = join(squad.root, 'folders', name);
      mkdirSync(cwd, { recursive: true });
      const there = new Recorded(squad.root, 'there', { tools: [toolNamed('say')] });
      const { command, args, env } = there.block();
      expect(await faultOf({ kind: 'stdio', command, args, cwd, env })).toBe('none');
      expect(there.starts().at(-1)!.cwd).toBe(cwd);
      expect(readdirSync(cwd)).toEqual([]);
    }
    nothingRan();
  });
});

describe('an agent that sends commands', () => {
  test('as arguments has them handed on byte for byte', {
    tags: ['shell-and-command-injection'],
  }, async () => {
    const name = (await agent.theirs())[0]!;
    const args = { list: ALL, map: Object.fromEntries(ALL.map(text => [text, text])) };
    const { message } = await agent.call(name, args);
    expect(message.error).toBeUndefined();
    expect(kept.asked().at(-1)!.params.arguments).toEqual(args);
    nothingRan();
  });

  test('as the name of a tool reaches the tool that its server calls so, or nothing', async () => {
    const before = kept.asked().length;
    await inBatches(ALL, async name => {
      const { status, message } = await agent.call(`kept__${name}`);
      expect([name, status, message.error?.code]).toEqual([name, expect.any(Number), expect.any(Number)]);
    });
    expect(kept.asked()).toHaveLength(before);
    const listed = await agent.theirs();
    expect(listed.length).toBeGreaterThan(300);
    for (const name of listed.slice(0, 100)) await agent.call(name);
    const called = kept.asked().slice(before);
    expect(called).toHaveLength(100);
    expect(called.filter(({ params }) => !ALL.includes(params.name as string))).toEqual([]);
    nothingRan();
  });
});

describe('a person who starts agents', () => {
  test('with a command for a role gets the error that there is no such role', {
    tags: ['shell-and-command-injection'],
  }, async () => {
    const client = await squad.client({ env: { RUN_TEMPLATE: 'cat' } });
    const codes = new Set<string>();
    await inBatches(ALL, async roleId => {
      const result = await client.callTool({
        name: 'start_squad_members',
        arguments: { members: [{ roleId, task: 'x' }] },
      });
      expect(result.isError).toBe(true);
      codes.add((result.structuredContent as { error: { code: string } }).error.code);
    });
    expect([...codes]).toEqual(['ROLE_UNKNOWN']);
    nothingRan();
  });

  test('with commands for a task has them reach the agent byte for byte', {
    tags: ['shell-and-command-injection'],
  }, async () => {
    const task = SAYABLE.join('\n');
    for (const RUN_TEMPLATE of ['cat', 'printf %s "<%= task %>"', 'cat <%= promptFile %>']) {
      const client = await squad.client({ env: { RUN_TEMPLATE } });
      const { members } = await startAndWait(client, { members: [{ roleId: 'coder', task }] });
      expect(members[0]!.status).toBe('completed');
      expect(await wholeStream(client, members[0]!.memberId, 'stdout')).toContain(task);
    }
    nothingRan();
  });
});

/** Values a header can hold: one line of letters everybody has, without space at its ends. */
function headerValues(): string[] {
  return SAYABLE.filter(text => /^[!-~](?:[ -~]*[!-~])?$/.test(text));
}

function remote(values: string[]) {
  const headers = Object.fromEntries(values.map((value, at) => [`X-Hostile-${at}`, value]));
  return { type: 'http', url: web.url, headers, tools: ['*'] };
}

function batches<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, at) =>
    list.slice(at * size, (at + 1) * size),
  );
}

/** Keeps the headers of every request and answers none. */
async function startWeb() {
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    headers.push(request.headers);
    request.resume();
    response.writeHead(401).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    headers,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
