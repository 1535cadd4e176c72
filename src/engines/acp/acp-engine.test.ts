import { expect, test } from 'vitest';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import { ENDPOINT, rehearsal, TOKEN } from '../testing/contract.ts';
import { createAcpEngine } from './acp-engine.ts';

const ENGINE = createAcpEngine({ kind: 'acp', id: 'mine', command: ['sh', '-c', 'cat'] });

test('its command is the one of the configuration, and everything else is in its input', async () => {
  const { input } = rehearsal({ endpoint: ENDPOINT, chatId: 'c', continues: true });
  const { argv, stdin, isFed, env } = await ENGINE.command(input);
  expect(argv).toEqual([expect.stringMatching(/^\/.*\/sh$/), '-c', 'cat']);
  expect({ stdin, isFed }).toEqual({ stdin: null, isFed: true });
  expect(env).toEqual(input.env);
  expect(JSON.stringify({ argv, env })).not.toContain(TOKEN);
});

test('the engine has no model of its own choice, and does not run on other machines', async () => {
  for (const changes of [{ model: 'm' }, { options: { ...PLAIN_OPTIONS, machine: 'box' } }])
    await expect(ENGINE.command(rehearsal(changes).input)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('a program that is not there is reported with the name of the engine', async () => {
  const engine = createAcpEngine({ kind: 'acp', id: 'mine', command: ['nonesuch-agent'] });
  await expect(engine.command(rehearsal().input)).rejects.toMatchObject({
    code: 'ENGINE_NOT_FOUND',
    message: expect.stringContaining('engine mine'),
  });
});
