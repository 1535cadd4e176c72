import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Recipe } from './recipe.ts';
import { type SlackApi, startSlackApi } from './slack-api.ts';

const TOKEN = 'xoxb-4417-kN8vQ2';
const folder = mkdtempSync(join(tmpdir(), 'squad-slack-'));
let slack: SlackApi;
let recipe: Recipe;

beforeAll(async () => {
  slack = await startSlackApi(TOKEN);
  slack.writeDetour(join(folder, 'detour.mjs'));
  const variables = { SLACK_BOT_TOKEN: TOKEN, SLACK_TEAM_ID: 'T0SQUAD0001' };
  recipe = new Recipe('communication', variables, [`--import=${join(folder, 'detour.mjs')}`]);
  await recipe.trust();
});
afterAll(async () => {
  await recipe[Symbol.asyncDispose]();
  await slack[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const channel_id = 'C0SQUAD0001';
const ARGUMENTS = {
  slack__slack_get_channel_history: { channel_id },
  slack__slack_get_thread_replies: { channel_id, thread_ts: '1.0' },
  slack__slack_post_message: { channel_id, text: 'Done.' },
  slack__slack_reply_to_thread: { channel_id, thread_ts: '1.0', text: 'Done.' },
};

it.each(['planner', 'coder', 'reviewer'])('the %s has what the guide says, and nothing else', async role => {
  const said = await recipe.holds(role, ARGUMENTS, ['slack__slack_add_reaction', 'slack__slack_get_users']);
  expect(said.slack__slack_get_channel_history).toContain('Ship it on Friday');
});

it('nobody writes to another channel', { tags: ['B12'] }, async () => {
  const post = (args: object) => ({
    method: 'tools/call',
    params: { name: 'slack__slack_post_message', arguments: { text: 'Hello', ...args } },
  });
  slack.calls.length = 0;
  const answers = await recipe.ask('planner', [
    post({ channel_id: 'C0GENERAL01' }),
    post({}),
    post({ channel_id }),
  ]);
  const refused = answers.map(({ error, result }) => Boolean(error ?? result!.isError));
  expect(refused).toEqual([true, true, false]);
  expect(slack.calls).toEqual([`chat.postMessage ${channel_id}`]);
});
