import { NATIVE } from '../../schema/conversation.ts';
import { CLI_IDS } from '../../schema/engine-spec.ts';
import type { RunError } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { REVIEW_LIMIT } from '../../schema/shown-status.ts';
import type { HubClient } from '../hub-client.ts';
import { guideUrl, withOwnCommand } from '../own-command.ts';

interface EndedRun {
  id: string;
  engine: string;
  error: RunError | null;
}

/** How to log in to each engine. */
export type Logins = ReadonlyMap<string, string>;

/** Next step after a failed run, as a sentence. Null if only the log of the run can help. */
export function nextStep(run: EndedRun, logins: Logins): string | null {
  const step = stepAfter(run, logins);
  return step === null ? null : withOwnCommand(step);
}

function stepAfter({ id, engine, error }: EndedRun, logins: Logins): string | null {
  switch (error?.code) {
    case 'ENGINE_NOT_LOGGED_IN':
      return `${logins.get(engine) ?? 'Log in to this engine, or set its API key.'}${guide(engine)} Then: squad retry ${shellWord(id)}`;
    case 'ENGINE_RATE_LIMITED':
      return `Wait, then: squad retry ${shellWord(id)}. To run fewer agents at once: squad config set limits.concurrency N`;
    case 'BUDGET_EXCEEDED':
      return `Raise the budget that the message names (${guideUrl('guides/cost.md')}), then: squad retry ${shellWord(id)}`;
    case 'STALLED':
      return `${whyCommand(engine)} ${id} shows how far it got. Raise or remove \`stall\` in its role.`;
    case 'OUTPUT_MISMATCH':
      return `squad show ${shellWord(id)} shows its answer. Make the schema or the task clearer, then: squad retry ${shellWord(id)}`;
    case 'SETUP_FAILED':
      return `Fix \`worktree\` in .squad/squad.json; the message names the log of the set-up. Then: squad retry ${shellWord(id)}`;
    case REVIEW_LIMIT:
      return error?.message ?? null;
    case 'CHAT_UNKNOWN':
      return 'The engine does not know this chat. Omit the chat id to start a new one.';
    default:
      return null;
  }
}

/** The command that best shows why a run of this engine failed. */
export const whyCommand = (engine: string): string =>
  withOwnCommand(engine === NATIVE ? 'squad conversation print' : 'squad log');

const guide = (engine: string): string =>
  (CLI_IDS as readonly string[]).includes(engine)
    ? ` Set-up: ${guideUrl(`guides/engines/${engine}.md`)}.`
    : '';

/** Login hints, requested only if a run failed because nobody is logged in. */
export async function loginHints(client: HubClient, errors: (RunError | null)[]): Promise<Logins> {
  if (!errors.some(error => error?.code === 'ENGINE_NOT_LOGGED_IN')) return new Map();
  const { engines } = await client.call('inspect_engines', { look: false });
  return new Map(engines.map(({ id, login }) => [id, login]));
}
