import { join } from 'node:path';
import { mock } from '../engines/model-server/script.ts';
import type { ModelServer } from '../engines/model-server/server.ts';
import { RawMcp } from './raw-mcp.ts';
import type { TestSquad } from './squad.ts';
import { nested, ownServer, said } from './subagents.ts';

/** A subagent that plans a change and asks another one about the code, as people would have it. Returns the run of its call. */
export async function planChange(squad: TestSquad, { url }: ModelServer): Promise<string> {
  const write = (name: string, description: string, mcpServers: object) =>
    squad.write(`${name}.subagent.yaml`, JSON.stringify(fileOf(name, description, mcpServers, url), null, 2));
  const explore = write('explore_code', 'Answers a question about the code.', { files: ownServer('files') });
  const plan = write('plan_change', 'Plans the smallest change that does it.', {
    files: ownServer('files'),
    explore: nested(explore),
  });
  // The script of the model is in files that the prompt attaches: a conversation stores only their names.
  squad.write('reports/slow-server.txt', `Uploads of 40 MB stop after 30 s.\n${mock(PLANNED)}\n`);
  squad.write('reports/question.txt', `See src/upload.ts.\n${mock(EXPLORED)}\n`);
  const client = await RawMcp.legacy(squad, { args: ['serve', '--config', plan] });
  const prompt = 'Uploads fail when the server is slow. Plan the smallest change that makes them reliable.';
  const inputs = [join('reports', 'slow-server.txt')];
  await said(client, client.call('plan_change', { prompt, inputs }));
  await client.close();
  const { conversations } = await squad.json<{ conversations: { run: string }[] }>([
    ...['conversation', 'list', '--subagent', 'plan_change'],
  ]);
  return conversations[0]!.run;
}

const fileOf = (name: string, description: string, mcpServers: object, url: string) => ({
  version: '1.0',
  models: [
    {
      ...{ ref: 'sonnet', id: 'claude-sonnet-4-5', type: 'anthropic' },
      ...{ base_url: url, api_key_env: 'MODEL_KEY' },
    },
  ],
  subagent: { name, description },
  defaults: { model: 'sonnet' },
  mcpServers,
});

const usage = (input: number, output: number, cached: number) => ({ usage: { input, output, cached } });

const PLANNED = [
  {
    text: 'First what an upload does today.',
    calls: [
      { call: 'list_directory', arguments: { path: 'src' } },
      { call: 'read_text_file', arguments: { path: 'src/upload.ts' } },
    ],
    ...usage(2_400, 130, 0),
  },
  {
    text: 'One request, and nobody tries again. Who relies on its failing at once?',
    call: 'explore_code',
    arguments: {
      prompt: 'Which callers of upload() expect it to fail at once? Name the lines.',
      inputs: ['reports/question.txt'],
    },
    ...usage(2_900, 160, 2_300),
  },
  {
    text: [
      'A retry around the one request is enough:',
      '',
      '1. src/retry.ts: try three times, with a pause that doubles.',
      '2. src/upload.ts: wrap the request in it. No caller expects a failure at once.',
      '3. A test that gives up after the third attempt.',
    ].join('\n'),
    ...usage(3_400, 240, 2_800),
  },
];

const EXPLORED = [
  { call: 'read_text_file', arguments: { path: 'src/upload.ts' }, ...usage(1_200, 60, 0) },
  { text: 'None: upload() is exported and not called in src yet.', ...usage(1_400, 40, 1_100) },
];
