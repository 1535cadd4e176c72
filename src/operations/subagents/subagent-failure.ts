import { isErrorCode, SquadError } from '../../schema/error.ts';
import type { Run, RunError } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Subagent } from '../../schema/subagent.ts';

export interface HowItEnded {
  /** Of one that was cancelled: whoever called it, a hub that stops, or somebody else by the name they go by; null: nobody knows. */
  stoppedBy: 'caller' | 'hub' | { client: string } | null;
  /** There is a conversation to look at. */
  wasTalk: boolean;
}

/** A call of a subagent that came to nothing, for whoever called it: what happened, what to do about it, and where all of it is. */
export function subagentFailure(run: Run, subagent: Subagent, end: HowItEnded): SquadError {
  const { id, status } = run;
  const { code, message } = run.error ?? withoutError(run, subagent, end);
  return new SquadError(isErrorCode(code) ? code : 'ENGINE_FAILED', message, {
    suggestions: [
      ...(NEXT[code]?.(subagent, run) ?? []),
      end.wasTalk
        ? `\`squad conversation print ${shellWord(id)}\` shows what was said.`
        : `\`squad log ${shellWord(id)}\` shows all of it.`,
    ],
    details: { run_id: id, status },
  });
}

function withoutError({ status, startedAt }: Run, { name }: Subagent, { stoppedBy }: HowItEnded): RunError {
  if (status === 'timeout')
    return {
      code: 'TIMEOUT',
      message: `${name} ${startedAt === null ? 'had not started' : 'was not done'} when its time was up`,
    };
  if (status === 'cancelled')
    return { code: 'CANCELLED', message: `${name} was stopped before it was done: ${wish(stoppedBy)}` };
  return { code: 'ENGINE_FAILED', message: `${name} ended as ${status}` };
}

function wish(by: HowItEnded['stoppedBy']): string {
  if (by === 'caller') return 'its call was cancelled';
  if (by === 'hub') return 'the hub was stopped';
  if (by === null) return 'it was cancelled';
  if (by.client === 'terminal') return 'somebody cancelled it in a terminal (`squad cancel`)';
  if (by.client === 'page') return 'somebody cancelled it at the page';
  return `${by.client} cancelled it`;
}

const NEXT: Readonly<Record<string, ((subagent: Subagent, run: Run) => string[]) | undefined>> = {
  TIMEOUT: ({ file }, { startedAt }) =>
    startedAt === null
      ? [
          `If it waited for a place (\`squad ls\` shows who has one): call it again later, allow more at once (\`squad config set limits.concurrency N\`) or more time (\`defaults.timeout\` in ${file}).`,
        ]
      : [`Ask for less at once, or allow more: \`defaults.timeout\` in ${file}.`],
  TURN_LIMIT: ({ file }) => [`Ask for less at once, or allow more: \`defaults.maxTurns\` in ${file}.`],
  ENGINE_NOT_LOGGED_IN: ({ model }) =>
    model.apiKeyEnv === null ? [] : [`Look at the key in ${model.apiKeyEnv}: its provider refused it.`],
  ENGINE_RATE_LIMITED: () => ['Nothing is tried again by itself: call it again later.'],
  OUTPUT_MISMATCH: () => ['Nothing is tried again by itself: call it again, or say more in the prompt.'],
};
