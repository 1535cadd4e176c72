import { z } from 'zod';
import { operation } from '../operation.ts';
import { Started, started, startMembers } from '../runs/start-runs.ts';

const task = (text: string, script: string): string => `${text}\n\n\`\`\`script\n${script.trim()}\n\`\`\`\n`;

/** Four members that work in parallel and exchange files, like a real squad. */
export const DEMO_MEMBERS: { roleId: string; task: string }[] = [
  {
    roleId: 'architect',
    task: task(
      'Decide how product titles become addresses, and write it down.',
      `
say Reading README.md.
sleep 400ms
write docs/slug.md
| # Addresses
|
| A title becomes lower case, every run of other characters than letters and digits becomes one dash,
| dashes at the ends go. Two products may not share an address.
sleep 300ms
say Decided: one pure function slug(title), in src/slug.js.
report Written to docs/slug.md: one pure function slug(title) in src/slug.js, tested with node --test.
`,
    ),
  },
  {
    roleId: 'backend-developer',
    task: task(
      'Write slug(title) as docs/slug.md says.',
      `
await docs/slug.md
say docs/slug.md is there; writing src/slug.js.
sleep 500ms
write src/slug.js
| export function slug(title) {
|   return title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
| }
run node --input-type=module -e "import { slug } from './src/slug.js'; console.log(slug('Blue Suede Shoes!'))"
report slug() is in src/slug.js and turns "Blue Suede Shoes!" into blue-suede-shoes.
`,
    ),
  },
  {
    roleId: 'frontend-developer',
    task: task(
      'Use slug(title) for the links of the product list.',
      `
await src/slug.js
sleep 300ms
write src/links.js
| import { slug } from './slug.js';
|
| export const link = title => \`<a href="/products/\${slug(title)}">\${title}</a>\`;
say The links use slug() now.
report src/links.js builds product links from slug(title).
`,
    ),
  },
  {
    roleId: 'qa-engineer',
    task: task(
      'Test slug(title) with real product names.',
      `
await src/slug.js
write test/slug.test.js
| import assert from 'node:assert/strict';
| import { test } from 'node:test';
| import { slug } from '../src/slug.js';
|
| test('spaces become dashes', () => assert.equal(slug('Blue Suede Shoes'), 'blue-suede-shoes'));
| test('accents survive as letters', () => assert.equal(slug('Crème Brûlée'), 'creme-brulee'));
sleep 400ms
say Running the tests.
try node --test
report One of two tests fails: slug('Crème Brûlée') gives cr-me-br-l-e, not creme-brulee. The rule in docs/slug.md says letters; src/slug.js knows only a to z. The test is in test/slug.test.js.
`,
    ),
  },
];

/** Starts the demo in a new temporary repository: a squad of four agents that follow a script, without a model. */
export const startDemo = operation({
  name: 'start_demo',
  route: 'POST /demo',
  input: z.strictObject({}),
  output: Started.extend({ workspace: z.string() }),
  async run(call) {
    const { folder, env } = await call.services.demo.make();
    const caller = { ...call.caller, workspace: folder, cwd: folder, env: { ...call.caller.env, ...env } };
    const members = DEMO_MEMBERS.map(member => ({ ...member, engine: 'scripted' }));
    const squad = await startMembers({ ...call, caller }, { members, metadata: { name: 'Demo' } });
    return { ...started(squad), workspace: folder };
  },
});
