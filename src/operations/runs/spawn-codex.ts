import { operation } from '../operation.ts';
import { RunResult } from './run-result.ts';
import { SPAWN_TOOL, spawnOne } from './spawn-one.ts';
import { runRequest, SpawnCodex } from './spawn-request.ts';

export const spawnCodex = operation({
  name: 'spawn_codex',
  route: 'POST /tools/spawn_codex',
  agents: 'spawn',
  tool: {
    title: 'Spawn Codex',
    description: 'Run Codex on a prompt, with project context, and wait: tests, builds, scripts.',
    needs: 'codex',
    ...SPAWN_TOOL,
  },
  input: SpawnCodex,
  output: RunResult,
  run: (call, input) => spawnOne(call, { ...runRequest(input), engine: 'codex' }, input),
});
