/**
 * Runs the real agent CLIs against the scripted model, and stores their output for the tests of the readers: `node
 * scripts/record-transcripts.ts [names…]` writes test/fixtures/transcripts/<cli>/.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { agentHome } from '../test/engines/agent-home.ts';
import { bareCommand } from '../test/engines/bare/command.ts';
import { copilotUsageFile } from '../test/engines/bare/copilot.ts';
import { startBare } from '../test/engines/bare/run.ts';
import { type ModelServer, startModelServer } from '../test/engines/model-server/server.ts';
import { inNamespace } from '../test/engines/namespace.ts';
import { scrubber } from '../test/engines/scrub.ts';
import { CASES, type Case } from '../test/engines/transcript-cases.ts';
import { ALL_CLIS, type CliName, cliAt, installCli } from './engine-clis.ts';

const RUN_TIMEOUT_MS = 60_000;
const INSIDE = 'SQUAD_RECORDING';

const root = join(import.meta.dirname, '..');
const names = process.argv.length > 2 ? (process.argv.slice(2) as CliName[]) : ALL_CLIS;

if (process.env[INSIDE]) {
  await using server = await startModelServer();
  for (const name of names) await record(name, server);
} else {
  for (const name of names) await installCli(name);
  const [program, ...args] = inNamespace([process.execPath, import.meta.filename, ...names]);
  const inside = spawnSync(program!, args, { stdio: 'inherit', env: { ...process.env, [INSIDE]: '1' } });
  process.exitCode = inside.status ?? 1;
}

async function record(name: CliName, server: ModelServer): Promise<void> {
  const folder = join(root, 'test', 'fixtures', 'transcripts', name);
  mkdirSync(folder, { recursive: true });
  const ends: Record<string, unknown> = {};
  for (const one of CASES.filter(({ only }) => !only || only.includes(name)))
    Object.assign(ends, await recordCase(name, one, server, folder));
  // How each case ended, and the tokens that the model counted. The readers must find the same in the output.
  const index = { version: cliAt(name).version, cases: ends };
  writeFileSync(join(folder, 'index.json'), `${JSON.stringify(index, null, 2)}\n`);
}

/** A case starts the CLI once, or twice if it resumes a chat. */
async function recordCase(name: CliName, one: Case, server: ModelServer, folder: string) {
  using place = agentHome();
  const scrub = scrubber({ ...place, url: server.url, root });
  const ends: Record<string, unknown> = {};
  let chat: string | undefined;
  for (const [number, turn] of one.turns.entries()) {
    const label = number === 0 ? one.name : `${one.name}-${number + 1}`;
    const tag = `${name}-${label}`;
    const command = bareCommand(name, { ...place, url: server.url, chat, ...one.options });
    const run = startBare(
      { ...command, argv: [...command.argv, ...(one.more ?? [])] },
      place.cwd,
      turn.prompt(tag, place.cwd),
    );
    const limit = setTimeout(() => process.kill(-run.pid, 'SIGKILL'), RUN_TIMEOUT_MS);
    if (turn.stopWhen) {
      await turn.stopWhen(place.cwd);
      process.kill(-run.pid, 'SIGTERM');
    }
    const { code, signal, stdout, stderr } = await run.ended;
    clearTimeout(limit);
    const { answers, ...counted } = server.usage({ tag });
    ends[label] = { code, signal, answers, ...counted, stderr: scrub(stderr).slice(-1500) };
    writeFileSync(join(folder, `${label}.jsonl`), scrub(stdout));
    const usage = copilotUsageFile(place.home);
    if (existsSync(usage))
      writeFileSync(join(folder, `${label}.usage.json`), scrub(readFileSync(usage, 'utf8')));
    chat = chatOf(stdout);
    console.log(`${name} ${label}: ${signal ?? code}, ${answers} answers, ${stdout.length} bytes`);
  }
  return ends;
}

/** The id of the chat. Each CLI has its own name for this field. */
function chatOf(stdout: string): string | undefined {
  return /"(?:session_id|thread_id|sessionID|sessionId)":"([^"]+)"/.exec(stdout)?.[1];
}
