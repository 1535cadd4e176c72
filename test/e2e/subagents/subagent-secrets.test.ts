import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { mock } from '../../engines/model-server/script.ts';
import { FORMS } from '../../servers/hostile/secrets.ts';
import { errorOf, ownServer, Subagents, said } from '../../support/subagents.ts';

/** Of a length that base64 does not change its edges, and with letters that a URL spells otherwise. */
const SECRETS = {
  MODEL_KEY: 'sk-of+the/model-0123456789',
  TEAM_TOKEN: 'token+of/the-team-987654321',
  SERVICE_TOKEN: 'token+of/the-service-55555555',
  GATE_PASS: 'pass+of/the-gate-444444444',
};
const variable = (name: string) => `\${${name}}`;

test('secrets of the model’s provider and of a server are in no result of a call', {
  tags: ['E10'],
}, async () => {
  await using subagents = await Subagents.start({ ...SECRETS, MCP_LOG_LEVEL: 'debug' });
  const { squad, model } = subagents;
  subagents.write('curious', {
    more: {
      models: [
        {
          ref: 'main',
          id: 'claude-test',
          type: 'anthropic',
          base_url: model.url.replace('//', `//me:${variable('GATE_PASS')}@`),
          api_key_env: 'MODEL_KEY',
          patchRequest: { includeHeaders: { 'x-team': `team ${variable('TEAM_TOKEN')}` } },
        },
      ],
    },
    servers: {
      telling: ownServer('telling'),
      other: { ...ownServer('echo'), env: { ITS_TOKEN: variable('SERVICE_TOKEN') } },
    },
  });
  const client = await subagents.client('curious');
  await client.ask('logging/setLevel', { level: 'debug' });
  const answer = await said(
    client,
    client.call('curious', { prompt: mock([{ call: 'tell' }, { text: 'done' }], 'curious') }),
  );
  expect(answer).toMatchObject({ text: 'done', isError: false });
  const [run] = await subagents.runs();
  const conversation = await squad.run(['conversation', 'print', run!.id]);
  const log = await squad.run(['log', run!.id]);
  const { toolResults } = await model.waitForRequest(({ tag, step }) => tag === 'curious' && step === 1);
  await client.close();
  await squad.run(['hub', 'stop']);

  const told: Record<string, string> = {
    model: JSON.stringify(toolResults),
    client: JSON.stringify(client.messages),
    conversation: conversation.stdout,
    log: log.stdout,
    ...filesIn(squad.home),
  };
  // The model did get the environment of the server, with the secrets masked.
  expect(told.model).toContain('[secret MODEL_KEY]');
  expect(told.model).toContain(squad.home);
  for (const name of ['TEAM_TOKEN', 'GATE_PASS']) expect(told['hub.log']).toContain(`[secret ${name}]`);
  expectNoneOf(SECRETS, told);
});

test('a secret in an address stays secret when the provider repeats it', { tags: ['E10'] }, async () => {
  const secrets = {
    GATE_PASS: 'pass+of/the-gate-444444444',
    QUERY_KEY: 'key+of/the-query-333333333',
    ADDRESS_PASS: 'pass+of/the-address-222222',
  };
  const { GATE_PASS, QUERY_KEY, ADDRESS_PASS } = secrets;
  const [gate, query, address] = await Promise.all([
    repeating(GATE_PASS),
    repeating(QUERY_KEY),
    repeating(ADDRESS_PASS),
  ]);
  await using subagents = await Subagents.start({
    ...{ GATE_PASS, QUERY_KEY, OPENAI_API_KEY: 'sk-0123456789', MCP_LOG_LEVEL: 'debug' },
    OPENAI_BASE_URL: `http://me:${encodeURIComponent(ADDRESS_PASS)}@${address.host}/v1`,
  });
  const { squad } = subagents;
  const told: Record<string, string> = {};
  for (const [name, base_url] of Object.entries({
    password: `http://me:${variable('GATE_PASS')}@${gate.host}/v1`,
    query: `http://${query.host}/v1?key=${variable('QUERY_KEY')}`,
    variable: undefined,
  })) {
    subagents.write(name, { more: { models: [{ ref: 'main', id: 'm', type: 'openai', base_url }] } });
    const client = await subagents.client(name);
    const refused = await errorOf(client, client.call(name, { prompt: 'hello' }));
    expect(refused.code).toBe('ENGINE_NOT_LOGGED_IN');
    expect(refused.message).toMatch(/answered 401: nobody knows .*\[secret /);
    const run = refused.details!.run_id;
    told[`the client of ${name}`] = JSON.stringify(client.messages);
    told[`the log of ${name}`] = (await squad.run(['log', run])).stdout;
    told[`the conversation of ${name}`] = (await squad.run(['conversation', 'print', run])).stdout;
    await client.close();
  }
  await squad.run(['hub', 'stop']);
  // It was asked with what is hidden.
  expect(gate.asked).toEqual([`Basic ${Buffer.from(`me:${GATE_PASS}`).toString('base64')}`]);
  expectNoneOf(secrets, { ...told, ...filesIn(squad.home) });
});

/** A provider that refuses everybody, and says what it should not, in every spelling. */
async function repeating(secret: string): Promise<{ host: string; asked: (string | undefined)[] }> {
  const asked: (string | undefined)[] = [];
  const message = `nobody knows ${Object.values(FORMS)
    .map(spelt => spelt(secret))
    .join(' ')}`;
  const server = createServer((request, response) => {
    asked.push(request.headers.authorization);
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message } }));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

function expectNoneOf(secrets: Record<string, string>, told: Record<string, string>): void {
  for (const [where, text] of Object.entries(told))
    for (const [name, value] of Object.entries(secrets))
      for (const [form, spelt] of Object.entries(FORMS))
        expect(text.includes(core(form, spelt(value))), `${name} as ${form} in ${where}`).toBe(false);
}

/** Part of an encoded secret that does not depend on the text around it. */
const core = (form: string, spelt: string): string =>
  form.startsWith('base64') ? spelt.replace(/=+$/, '').slice(4, -4) : spelt;

/** Every file below a folder, as letters, by its path there. */
function filesIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return Object.fromEntries(
    files
      .filter(file => statSync(join(folder, file), { throwIfNoEntry: false })?.isFile())
      .map(file => [file, readFileSync(join(folder, file), 'latin1')]),
  );
}
