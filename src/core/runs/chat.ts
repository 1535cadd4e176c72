import { SquadError } from '../../schema/error.ts';
import { jsonLength } from '../output/digest.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Executor, LiveTurn, TurnEnd } from '../ports/turns.ts';
import { lastLine } from '../text.ts';
import type { LiveRun, RunMaterial } from './live-run.ts';
import { HARD_LIMIT_GRACE_MS } from './outcome.ts';
import { turnFiles, turnInput } from './turn-input.ts';

/** Opening a chat is bookkeeping, not work: a command that takes longer hangs. */
const PATIENCE_MS = 60_000;
/** It has nothing to save that would need longer. */
const STOP_GRACE_MS = 1_000;
/** An id comes back in results, which have a size to keep. In characters of JSON. */
export const LONGEST_CHAT_ID = 1_000;
/** The turn before the first: it has its own folder, so its output is never mistaken for the agent's. */
const CHAT_TURN = 0;

/** The id of a new chat: the last non-empty line its command prints. */
export async function openChat(
  entry: LiveRun,
  material: RunMaterial,
  files: RunFiles,
  executor: Executor,
): Promise<string> {
  const { run, engine } = entry;
  if (engine.newChat?.kind !== 'command')
    throw new SquadError('CHAT_FAILED', `The ${engine.id} engine cannot open a chat`);
  const turn = { runId: run.id, number: CHAT_TURN };
  const command = await engine.newChat.command(turnInput(run, material, null, turnFiles(files, turn, run)));
  await files.prepare(turn, material.prompt);
  const limitMs = Math.min(PATIENCE_MS, run.timeoutMs);
  const process = await executor.start(
    {
      ...turn,
      command: { ...command, stdin: null },
      cwd: run.directory,
      hardLimitMs: limitMs + HARD_LIMIT_GRACE_MS,
    },
    { keepLeftovers: false },
  );
  entry.process = process;
  // It may have been asked for while there was no process to tell.
  if (entry.stop !== null) process.stop(STOP_GRACE_MS);
  const { end, wasTooSlow } = await endWithin(limitMs, process);
  entry.process = null;
  const [out, err] = await Promise.all([
    files.page(turn, 'stdout', -64 * 1024, 64 * 1024),
    files.page(turn, 'stderr', -2000, 2000),
  ]);
  const id = lastLine(out.text);
  const why = wasTooSlow
    ? `it took longer than ${limitMs / 1000} s`
    : (end.spawnError ?? (end.exitCode === 0 ? faultOf(id) : `exit code ${end.exitCode ?? 'unknown'}`));
  if (why === null) return id!;
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

/** The hub's own limit. The wrapper's comes later, for when there is no hub. */
async function endWithin(limitMs: number, process: LiveTurn): Promise<{ end: TurnEnd; wasTooSlow: boolean }> {
  let wasTooSlow = false;
  const timer = setTimeout(() => {
    wasTooSlow = true;
    process.stop(STOP_GRACE_MS);
  }, limitMs).unref();
  const end = await process.ended;
  clearTimeout(timer);
  return { end, wasTooSlow };
}

function faultOf(id: string | null): string | null {
  if (id === null) return 'it printed no id';
  const length = jsonLength(id);
  if (length > LONGEST_CHAT_ID)
    return `the id it printed is ${length} characters of JSON; at most ${LONGEST_CHAT_ID} fit`;
  if (/\p{Cc}/u.test(id)) return 'the id it printed holds a control character';
  // What cannot be read comes as this character: the id would not be the one that was printed.
  if (id.includes('\ufffd')) return 'the id it printed is not UTF-8';
  return null;
}
