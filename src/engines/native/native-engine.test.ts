import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { TurnInput } from '../../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import { AgentRequest } from '../../schema/agent-protocol.ts';
import { McpConfig } from '../../schema/mcp-config.ts';
import { ENDPOINT, rehearsal } from '../testing/contract.ts';
import { createNativeEngine } from './native-engine.ts';
import { nativeSubagent } from './testing/native-subagent.ts';

const PROGRAM = { node: '/usr/bin/node', agentScript: '/opt/squad/agent.cjs', compileCache: '/squad/cache' };
const ordinary = createNativeEngine(PROGRAM, { subagent: null, inputs: [] });
const KEYS = { ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o', GEMINI_API_KEY: 'g' };
const env = (more: Record<string, string> = KEYS) => ({ PATH: '/usr/bin:/bin', ...more });

async function requestFor(
  engine: typeof ordinary,
  changes: Partial<TurnInput>,
  chatFolder = '/squad/chat',
): Promise<AgentRequest> {
  const { input, written } = rehearsal(changes);
  input.files = { ...input.files, chatFolder };
  const { argv } = await engine.command(input);
  expect(argv).toEqual(['/usr/bin/node', '/opt/squad/agent.cjs', '/squad/turn/agent-request.json']);
  return AgentRequest.parse(JSON.parse(written.get('agent-request.json')!));
}

describe('an ordinary run', () => {
  test.each([
    ['anthropic/claude-x', 'anthropic', 'claude-x', 'ANTHROPIC_API_KEY'],
    ['openai/meta/llama-3:70b', 'openai', 'meta/llama-3:70b', 'OPENAI_API_KEY'],
    ['responses/gpt-x', 'responses', 'gpt-x', 'OPENAI_API_KEY'],
    ['google/gemini-x', 'google', 'gemini-x', 'GEMINI_API_KEY'],
  ])('%s', async (model, type, id, apiKeyEnv) => {
    const request = await requestFor(ordinary, { model, env: env(), endpoint: ENDPOINT });
    expect(request).toMatchObject({
      model: { type, id, apiKeyEnv, baseUrl: null },
      endpoint: { url: ENDPOINT.url, token: ENDPOINT.token },
      inputs: [],
    });
  });

  test('the key may be where the SDK of Google looks for it', async () => {
    const keys = env({ GOOGLE_GENERATIVE_AI_API_KEY: 'g' });
    const { model } = await requestFor(ordinary, { model: 'google/gemini-x', env: keys });
    expect(model.apiKeyEnv).toBe('GOOGLE_GENERATIVE_AI_API_KEY');
  });

  test('an effort is how hard the model thinks', async () => {
    const options = { ...PLAIN_OPTIONS, effort: 'high' };
    const { model } = await requestFor(ordinary, { model: 'openai/x', env: env(), options });
    expect(model.generation).toEqual({ thinking: 'high' });
  });

  test.each([null, '', 'claude-x', 'acme/x', 'anthropic/', 'anthropic/ ', '/x'])(
    'the model %j is refused',
    async model => {
      await expect(requestFor(ordinary, { model, env: env() })).rejects.toMatchObject({
        code: 'MODEL_NOT_SET',
        suggestions: [expect.stringContaining('anthropic/…')],
      });
    },
  );

  test('a key that is not there, or is empty, is refused by its name', async () => {
    for (const keys of [env({}), env({ ANTHROPIC_API_KEY: '' })])
      await expect(requestFor(ordinary, { model: 'anthropic/x', env: keys })).rejects.toMatchObject({
        code: 'API_KEY_MISSING',
        message: expect.stringContaining('ANTHROPIC_API_KEY'),
      });
  });

  test('its agent keeps the variables of the providers, and nothing else', () => {
    const kept = ['ANTHROPIC_API_KEY', 'OPENAI_BASE_URL', 'GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'];
    for (const name of kept) expect(ordinary.needsVariable(name)).toBe(true);
    for (const name of ['GITHUB_TOKEN', 'AWS_SECRET_ACCESS_KEY'])
      expect(ordinary.needsVariable(name)).toBe(false);
  });
});

describe('a subagent', () => {
  const model = { ...nativeSubagent().model, type: 'anthropic' as const, apiKeyEnv: 'TEAM_KEY' };

  test('is asked as its file says, with the files of the call', async () => {
    const codeMode = { timeoutMs: 1000, memoryMb: 64, outputChars: 100, excludedTools: [] };
    const subagent = nativeSubagent({ model, codeMode });
    const engine = createNativeEngine(PROGRAM, { subagent, inputs: ['a.png'] });
    const asked = { env: env({ TEAM_KEY: 'k' }), model: 'openai/other' };
    expect(await requestFor(engine, asked)).toMatchObject({
      ...{ model, systemPrompt: 'You review.', codeMode, maxTurns: 20, endpoint: null },
      ...{ inputs: ['a.png'], continues: false },
    });
    await expect(requestFor(engine, { env: env() })).rejects.toMatchObject({ code: 'API_KEY_MISSING' });
    expect(engine.needsVariable('TEAM_KEY')).toBe(true);
    expect(engine.needsVariable('ANTHROPIC_API_KEY')).toBe(false);
  });

  test('has an endpoint only where it has servers', () => {
    const servers = McpConfig.parse({ servers: {} });
    const has = (subagent: ReturnType<typeof nativeSubagent>) =>
      createNativeEngine(PROGRAM, { subagent, inputs: [] }).wantsEndpoint;
    expect(has(nativeSubagent())).toBe(false);
    expect(has(nativeSubagent({ servers }))).toBe(true);
    expect(ordinary.wantsEndpoint).toBe(true);
  });
});

test('an existing chat is resumed, without the files of its beginning; an unknown chat is refused', async () => {
  const chatFolder = mkdtempSync(join(tmpdir(), 'squad-chat-'));
  onTestFinished(() => rmSync(chatFolder, { recursive: true }));
  const engine = createNativeEngine(PROGRAM, { subagent: nativeSubagent(), inputs: ['a.png'] });
  const later = { chatId: 'chat_0123456789', continues: true };
  await expect(requestFor(engine, later, chatFolder)).rejects.toMatchObject({ code: 'CHAT_UNKNOWN' });
  writeFileSync(join(chatFolder, 'chat.jsonl'), '{}');
  expect(await requestFor(engine, later, chatFolder)).toMatchObject({ continues: true, inputs: [] });
});
