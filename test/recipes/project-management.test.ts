import { afterAll, beforeAll, expect, it } from 'vitest';
import { Recipe } from './recipe.ts';
import { startTracker, type Tracker } from './tracker.ts';

const TOKEN = 'lin_api_q7W2x9ZrT4';
let tracker: Tracker;
let recipe: Recipe;

beforeAll(async () => {
  tracker = await startTracker(TOKEN);
  recipe = new Recipe('project-management', { TRACKER_MCP_URL: tracker.url, TRACKER_TOKEN: TOKEN });
  await recipe.trust();
});
afterAll(async () => {
  await recipe[Symbol.asyncDispose]();
  await tracker[Symbol.asyncDispose]();
});

const ARGUMENTS = {
  tracker__get_issue: { id: 'ENG-1' },
  tracker__create_issue: { title: 'Checkout is slow' },
  tracker__update_issue: { id: 'ENG-2', title: 'Search finds too little' },
  tracker__create_comment: { id: 'ENG-1', body: 'On it.' },
};

it.each(['planner', 'coder', 'reviewer'])(
  'the %s has what the guide says, and nothing else',
  { tags: ['B12'] },
  async role => {
    const said = await recipe.holds(role, ARGUMENTS, ['tracker__delete_issue']);
    expect(said.tracker__get_issue).toContain('The cart forgets its items');
  },
);

it("only the coder's comments are kept short", async () => {
  const body = 'x'.repeat(4_001);
  const comment = {
    method: 'tools/call',
    params: { name: 'tracker__create_comment', arguments: { id: 'ENG-1', body } },
  };
  const before = tracker.comments.length;
  const [refused] = await recipe.ask('coder', [comment]);
  expect(refused!.error ?? refused!.result!.isError).toBeTruthy();
  expect(tracker.comments).toHaveLength(before);
  const [taken] = await recipe.ask('planner', [comment]);
  expect(taken!.result!.isError ?? false).toBe(false);
  expect(tracker.comments).toHaveLength(before + 1);
});
