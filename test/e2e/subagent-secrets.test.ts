import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mock } from '../engines/model-server/script.ts';
import { FORMS } from '../servers/hostile/secrets.ts';
import { ownServer, Subagents, said } from '../support/subagents.ts';

/** Of a length that base64 does not change its edges, and with letters that a URL spells otherwise. */
const SECRETS = {
  MODEL_KEY: 'sk-of+the/model-0123456789',
  TEAM_TOKEN: 'token+of/the-team-987654321',
  SERVICE_TOKEN: 'token+of/the-service-55555555',
};

test('what only the model’s provider and a server are to know is in nothing that comes of a call', async () => {
  await using subagents = await Subagents.start({ ...SECRETS, MCP_LOG_LEVEL: 'debug' });
  const { squad, model } = subagents;
  const variable = (name: keyof typeof SECRETS) => `\${${name}}`;
  subagents.write('curious', {
    more: {
      models: [
        {
          ref: 'main',
          id: 'claude-test',
          type: 'anthropic',
          base_url: model.url,
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
  // It was told of its environment, and that is what a server of it has.
  expect(told.model).toContain('[secret MODEL_KEY]');
  expect(told.model).toContain(squad.home);
  expect(told['hub.log']).toContain('[secret TEAM_TOKEN]');
  for (const [where, text] of Object.entries(told))
    for (const [name, value] of Object.entries(SECRETS))
      for (const [form, spelt] of Object.entries(FORMS))
        expect(text.includes(core(form, spelt(value))), `${name} as ${form} in ${where}`).toBe(false);
});

/** What must be the same wherever in a longer text it stands. */
const core = (form: string, spelt: string): string =>
  form.startsWith('base64') ? spelt.replace(/=+$/, '').slice(4, -4) : spelt;

/** Every file below a folder, as letters, by its path there. */
function filesIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return Object.fromEntries(
    files
      .filter(file => statSync(join(folder, file)).isFile())
      .map(file => [file, readFileSync(join(folder, file), 'latin1')]),
  );
}
