/**
 * Host process of code mode for tests that kill it. Prints `begun` when its program calls a tool. Without a program it
 * prints `begun` when the prepared sandbox has started.
 */
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
