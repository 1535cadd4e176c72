import type { CodeModeOptions, CodeRunner } from './code-mode.ts';
import { declare } from './declarations.ts';
import { runInSandbox } from './run-in-sandbox.ts';
import type { Sandbox } from './sandbox.ts';
import { nameTools } from './tool-names.ts';

/** Runs programs that a model writes, each in a process of its own, with these tools and nothing else. */
export function createCodeRunner({
  tools,
  limits,
  sandbox,
}: CodeModeOptions & { sandbox: Sandbox }): CodeRunner {
  const named = nameTools(tools);
  return {
    declarations: declare(named),
    run: (program, signal) => runInSandbox({ program, tools: named, limits, sandbox, signal }),
  };
}
