/**
 * Runs inside an empty network namespace. For each named CLI, measures the time until the scripted model gets its first
 * request, through Squad and started directly. Prints one line of JSON.
 */
import type { CliName } from '../scripts/engine-clis.ts';
import { agentHome } from '../test/engines/agent-home.ts';
import { bareCommand } from '../test/engines/bare/command.ts';
import { startBare } from '../test/engines/bare/run.ts';
import { EngineSquad } from '../test/engines/engine-squad.ts';
import { mock } from '../test/engines/model-server/script.ts';
import { interleave, type Pair } from './measure.ts';

const PAIRS = 5;
const REQUEST_TIMEOUT_MS = 60_000;

const [, , ...names] = process.argv;
const pairs: Record<string, Pair> = {};
for (const name of names as CliName[]) pairs[name] = await measure(name);
process.stdout.write(`${JSON.stringify(pairs)}\n`);
process.exit(0);

async function measure(name: CliName): Promise<Pair> {
  await using it = await EngineSquad.start([name]);
  using place = agentHome();
  let count = 0;
  const timed = async (begin: (prompt: string) => Promise<() => Promise<unknown>>): Promise<number> => {
    const tag = `${name}-${count++}`;
    const start = Date.now();
    const end = await begin(`Say ok. ${mock([{ text: 'ok' }], tag)}`);
    const { at } = await it.server.waitForRequest(call => call.tag === tag, REQUEST_TIMEOUT_MS);
    await end();
    return at - start;
  };
  // Awaited here, so that the measurement ends before everything is cleaned up.
  return await interleave(
    () =>
      timed(async prompt => {
        const { spawn_id } = await it.begin(name, prompt);
        return () => it.end(spawn_id);
      }),
    () =>
      timed(async prompt => {
        const command = bareCommand(name, { ...place, url: it.server.url });
        const { ended } = startBare(command, place.cwd, prompt);
        return () => ended;
      }),
    { pairs: PAIRS, warmUps: 1 },
  );
}
