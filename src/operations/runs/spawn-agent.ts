import { operation } from '../operation.ts';
import { RunResult } from './run-result.ts';
import { SPAWN_TOOL, spawnOne } from './spawn-one.ts';
import { runRequest, StatefulAgent, StatelessAgent } from './spawn-request.ts';

export const spawnAgent = operation({
  name: 'spawn_agent',
  route: 'POST /tools/spawn_agent',
  agents: 'spawn',
  tool: {
    title: 'Spawn agent',
    description:
      'Run an agent on a prompt, with project context, and wait. engine: claude, codex, gemini, opencode, copilot, qwen, cursor or one of your own; none is the configured one.',
    ...SPAWN_TOOL,
    stateless: { input: StatelessAgent },
  },
  input: StatefulAgent,
  output: RunResult,
  run: (call, input) => spawnOne(call, runRequest(input), input),
});
