import { SquadError } from '../schema/error.ts';
import type { LiveRun, RunMaterial } from './live-run.ts';
import { turnInput } from './plan.ts';
import type { Executor, RunFiles } from './ports.ts';
import { lastLine } from './text.ts';

/** Opening a chat is bookkeeping, not work: a command that takes longer hangs. */
const PATIENCE_MS = 60_000;
/** The turn before the first: it has its own folder, so its output is never mistaken for the agent's. */
const CHAT_TURN = 0;

/** The id of a new chat: minted for engines that take ours, otherwise the last non-empty line its command prints. */
export async function openChat(
  entry: LiveRun,
  material: RunMaterial,
  files: RunFiles,
  executor: Executor,
): Promise<string> {
  const { run, engine } = entry;
  if (engine.newChat === null)
    throw new SquadError('CHAT_FAILED', `The ${engine.id} engine cannot open a chat`);
  if (engine.newChat.kind === 'minted') return engine.newChat.mint();
  const turn = { runId: run.id, number: CHAT_TURN };
  const command = await engine.newChat.command(
    turnInput(run, material.prompt, material.promptFile, material.env),
  );
  await files.prepare(turn, material.prompt);
  const process = await executor.start(
    { ...turn, command: { ...command, stdin: null }, cwd: run.directory, hardLimitMs: PATIENCE_MS },
    { keepLeftovers: false },
  );
  entry.process = process;
  const end = await process.ended;
  entry.process = null;
  const [out, err] = await Promise.all([
    files.page(turn, 'stdout', -64 * 1024, 64 * 1024),
    files.page(turn, 'stderr', -2000, 2000),
  ]);
  const id = lastLine(out.text);
  if (end.exitCode === 0 && id) return id;
  const why =
    end.spawnError ?? (end.exitCode === 0 ? 'it printed no id' : `exit code ${end.exitCode ?? 'unknown'}`);
  throw new SquadError(
    'CHAT_FAILED',
    `The create-chat command failed: ${why}${err.text ? `: ${err.text.trim()}` : ''}`,
    {
      suggestions: [
        'Run the create-chat command by hand: it must exit 0 and print the chat id as its last line.',
      ],
    },
  );
}
