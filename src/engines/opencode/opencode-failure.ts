import type { EngineEnd, EngineFailure, EngineReader } from '../../core/ports/engine.ts';
import { failureKind } from '../failure-kind.ts';
import { type Fields, fields, number, text } from '../json-line.ts';
import { stderrEnd } from '../stderr-end.ts';
import { readLog } from './opencode-log.ts';

type Exit = Parameters<NonNullable<EngineReader['finish']>>[0];

/** Failure from the `error` event, or from the log if the event only refers to it. */
export async function apiFailure(error: Fields, exit: Exit): Promise<EngineEnd> {
  const data = fields(error.data);
  const said =
    text(data.message) || text(error.message) || text(error.name) || 'opencode says it failed, and not why.';
  if (error.name === 'ProviderAuthError') return failed(said, 'ENGINE_NOT_LOGGED_IN');
  const ref = text(data.ref);
  const message = ref ? (causeIn(await readLog(exit), ref) ?? (await withModel(said, exit))) : said;
  const unusable = /Model not found: [^/\s]+\/(\S+)\. Did you mean: (.*)\?$/.exec(message);
  // opencode knows the requested model, but cannot use it.
  if (unusable && unusable[2]!.split(', ').includes(unusable[1]!))
    return failed(`${message} The model is known; its provider has no key.`, 'ENGINE_NOT_LOGGED_IN');
  return failed(message, failureKind(message, number(data.statusCode) ?? undefined));
}

/** Extracts the message from `… ref=err_1 error="ProviderModelNotFoundError: Model not found: x/y." cause=…`. */
function causeIn(log: string, ref: string): string | null {
  const line = log.split('\n').findLast(line => line.includes('message=failed') && line.includes(ref));
  return /error="(?:\w+Error: )?((?:[^"\\]|\\.)+)"/.exec(line ?? '')?.[1] ?? null;
}

/**
 * opencode may exit before it has logged the cause of an error. The most frequent cause is the model, so the message
 * names the model.
 */
async function withModel(said: string, exit: Exit): Promise<string> {
  const model = /"--model=([^"]+)"/.exec((await exit.file('command.json')) ?? '')?.[1];
  return model === undefined
    ? said
    : `${said} The model was ${model}; \`opencode models\` lists those that opencode knows.`;
}

export const wasKilled = ({ exitCode }: Exit): boolean => exitCode === null || exitCode > 128;

/** Failure of a turn that reported no error but did not finish. */
export async function unfinished(reason: string | null, exit: Exit): Promise<EngineEnd[]> {
  if (wasKilled(exit)) return []; // a signal needs no explanation
  const [told] = reason === null ? await stderrEnd(exit) : [];
  if (told?.error && /^Error: Session not found$/m.test(told.error))
    return [{ ...told, code: 'CHAT_UNKNOWN' }];
  return [told ?? failed(whyNot(reason, exit.exitCode), 'ENGINE_FAILED')];
}

function whyNot(reason: string | null, exitCode: number | null): string {
  if (reason === 'tool-calls')
    return `It ended in the middle of its work, after a tool call and without an answer (exit code ${exitCode}). opencode does that when a permission was refused.`;
  if (reason === 'length') return "Its answer was cut off at the model's output limit.";
  if (reason === 'stop') return `It answered, and then ended with exit code ${exitCode}.`;
  if (reason !== null) return `Its last step ended with "${reason}" (exit code ${exitCode}).`;
  return `It ended without an answer (exit code ${exitCode}).`;
}

const failed = (error: string, code: EngineFailure): EngineEnd => ({
  type: 'end',
  ok: false,
  answer: '',
  error,
  code,
});
