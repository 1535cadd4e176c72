/** A host for tests that kill it: says so on its output once its program calls or, without one, what it starts ahead is up. */
import { createCodeRunner } from '../code-runner.ts';
import { LIMITS, realSandbox, tool } from './sandboxes.ts';

const [program] = process.argv.slice(2);
const begun = tool('begun', async () => console.log('begun'));
const hang = tool('hang', () => new Promise(() => {}));
const runner = createCodeRunner({ tools: [begun, hang], limits: LIMITS, sandbox: await realSandbox() });
if (program === undefined) {
  await runner.prepare();
  console.log('begun');
} else await runner.run(`await tools.begun(); ${program}`, new AbortController().signal);
