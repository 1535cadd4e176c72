import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { plainRequest } from '../../src/gateway/testing/gateway-fixture.ts';
import { freePort } from '../support/free-port.ts';
import { realGateway } from '../support/real-gateway.ts';

const PROGRAM = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
const ALL = { tools: ['*'], resources: ['*'], prompts: ['*'] };

interface Reached extends AsyncDisposable {
  block: object;
}

/** With sessions, as most servers have them that are made with the SDK of the older era. */
async function listening(transport: string, type: string, path: string): Promise<Reached> {
  const port = await freePort();
  const child = spawn(process.execPath, [PROGRAM, transport], {
    env: { PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exit = once(child, 'exit');
  for await (const line of createInterface(child.stderr)) if (line.includes(String(port))) break;
  return {
    block: { type, url: `http://127.0.0.1:${port}${path}`, ...ALL },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

it.each([
  [
    'as a child',
    async (): Promise<Reached> => ({
      block: { command: process.execPath, args: [PROGRAM], ...ALL },
      [Symbol.asyncDispose]: async () => {},
    }),
  ],
  ['over streamable HTTP, with a session', () => listening('streamableHttp', 'http', '/mcp')],
  ['over the HTTP transport before it', () => listening('sse', 'sse', '/sse')],
])("the protocol's own example server has all it offers %s", { timeout: 60_000 }, async (_, reach) => {
  await using server = await reach();
  await using fixture = realGateway({ servers: { all: server.block }, shared: ['all'] });
  const run = fixture.run();
  fixture.gateway.prepare(run);
  const view = fixture.view(run);
  const request = plainRequest();

  const tools = (await view.tools()).map(({ name }) => name);
  expect(tools).toEqual(expect.arrayContaining(['all__echo', 'all__get-sum', 'all__get-structured-content']));
  const call = (name: string, args: object, asked = request) =>
    view.call(name, { name, arguments: args }, asked);
  expect(await call('all__echo', { message: 'hello' })).toMatchObject({ content: [{ text: 'Echo: hello' }] });
  expect(await call('all__get-sum', { a: 2, b: 'two' })).toMatchObject({ isError: true });
  expect(await call('all__get-structured-content', { location: 'New York' })).toMatchObject({
    structuredContent: { temperature: 33 },
  });
  const steps: number[] = [];
  await call(
    'all__trigger-long-running-operation',
    { duration: 0.1, steps: 3 },
    plainRequest({ progress: ({ progress }) => steps.push(progress) }),
  );
  expect(steps).toEqual([1, 2, 3]);

  const uri = 'all+demo://resource/dynamic/text/1';
  expect((await view.resourceTemplates()).map(each => each.uriTemplate)).toContain(
    'all+demo://resource/dynamic/text/{resourceId}',
  );
  expect(await view.readResource(uri, { uri }, request)).toMatchObject({ contents: [{ uri }] });
  await expect(view.readResource('all+demo://none', {}, request)).rejects.toThrow('not found');

  expect((await view.prompts()).map(({ name }) => name)).toContain('all__args-prompt');
  const prompt = { name: 'all__args-prompt', arguments: { city: 'Paris' } };
  expect(JSON.stringify(await view.getPrompt(prompt.name, prompt, request))).toContain('Paris');
  const ref = { type: 'ref/prompt', name: 'all__completable-prompt' };
  const completed = await view.complete({ ref, argument: { name: 'department', value: 'E' } }, request);
  expect(completed).toMatchObject({ completion: { values: ['Engineering'] } });
});
