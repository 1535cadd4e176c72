import { operation } from '../operation.ts';
import { RunResult } from './run-result.ts';
import { SPAWN_TOOL, spawnOne } from './spawn-one.ts';
import { runRequest, SpawnClaude } from './spawn-request.ts';

export const spawnClaude = operation({
  name: 'spawn_claude',
  route: 'POST /tools/spawn_claude',
  agents: 'spawn',
  tool: {
    title: 'Spawn Claude',
    description: 'Run Claude Code on a prompt, with project context, and wait: analysis, research, code.',
    needs: 'claude',
    ...SPAWN_TOOL,
  },
  input: SpawnClaude,
  output: RunResult,
  run: (call, input) => spawnOne(call, { ...runRequest(input), engine: 'claude' }, input),
});
