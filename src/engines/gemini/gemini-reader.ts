import type { EngineEnd, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import { cutOffNote } from '../cut-off.ts';
import { failureKind } from '../failure-kind.ts';
import { type Fields, fields, fieldsOf, text } from '../json-line.ts';
import { longLineType } from '../long-line.ts';
import { Speech } from '../speech.ts';
import { stderrEnd } from '../stderr-end.ts';
import { ToolCalls } from '../tool-calls.ts';
import { toolDetail } from '../tool-detail.ts';
import { waitWords } from '../wait-text.ts';
import { EDITING } from './gemini-policy.ts';
import { modelIn, usageIn } from './gemini-stats.ts';

type Exit = Parameters<NonNullable<EngineReader['finish']>>[0];

/**
 * Reads `--output-format stream-json`. A success is a `result` whose status is "success", unless an `error` came right
 * before it: that is how a loop or a blocked agent ends.
 */
export function geminiReader(): EngineReader {
  const calls = new ToolCalls((name, input) => ({
    detail: toolDetail(input),
    edits: EDITING.includes(name),
  }));
  const speech = new Speech();
  let ok = false;
  let error: string | null = null;
  /** What it said in no event: why it could not begin. */
  let plain: string | null = null;

  function read(line: Fields): EngineEvent[] {
    if (line.type === 'error') return noted(line);
    if (line.type === 'result') return result(line);
    error = null;
    if (line.type === 'init') return begun(line);
    if (line.type === 'message' && line.role === 'assistant') return speech.add(text(line.content) ?? '');
    if (line.type === 'tool_use')
      return [
        ...speech.restart(),
        ...calls.begin(text(line.tool_id), text(line.tool_name), fields(line.parameters)),
      ];
    return line.type === 'tool_result' ? toolEnded(line, calls) : [];
  }

  function noted(line: Fields): EngineEvent[] {
    error = text(line.message);
    return error ? [{ type: 'note', text: error }, ...cutOffNote(error)] : [];
  }

  function result(line: Fields): EngineEvent[] {
    const stats = fields(line.stats);
    const events = [...speech.pause(), ...modelIn(stats), ...usageIn(stats)];
    ok = line.status === 'success' && !error;
    if (ok) return [...events, speech.end()];
    error = wordsOf(text(fields(line.error).message)) || error || 'Gemini CLI says it failed, and not why.';
    return events;
  }

  return {
    line(line) {
      const event = fieldsOf(line);
      if (!event) plain = line.replace(COLOURS, '').trim() || plain;
      return event ? read(event) : [];
    },
    tooLong(beginning) {
      const type = longLineType(beginning);
      if (type === 'tool_use') return speech.restart();
      // The prompt is a message too, and may be long.
      const isPrompt = /"role"\s*:\s*"user"/.test(beginning);
      if ((type === 'message' && !isPrompt) || type === 'unknown') speech.miss();
      return [];
    },
    // Only the exit code says what the API answered, so a failure waits for it.
    finish: async exit =>
      ok ? [] : [...speech.pause(), ...(await retryIn(exit)), ...(await failure(error ?? plain, exit))],
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what is to be removed
const COLOURS = /\u001b\[[0-9;]*m/g;

function begun(line: Fields): EngineEvent[] {
  const chat = text(line.session_id);
  const model = text(line.model);
  return [
    ...(chat ? [{ type: 'chat' as const, id: chat }] : []),
    ...(model ? [{ type: 'model' as const, model }] : []),
  ];
}

function toolEnded(line: Fields, calls: ToolCalls): EngineEvent[] {
  if (fields(line.error).type === 'policy_violation') calls.deny(text(line.tool_id));
  return calls.end(text(line.tool_id), line.status === 'success');
}

/** Only its stderr says that the API failed and when it is asked again. */
async function retryIn(exit: Exit): Promise<EngineEvent[]> {
  const found = /^Attempt \d+ failed:? ([\s\S]*?)\.+ Retrying after (\d+)ms/m.exec(
    lastAttempt((await exit.file('stderr')) ?? ''),
  );
  if (!found) return [];
  const [, said, wait] = found;
  const waitMs = Number(wait);
  const words = said!.split('\n').join(' ');
  return [
    {
      type: 'note',
      text: `The model's API failed (${words}); retry${waitWords(waitMs)}`,
      // It says that much only of a quota.
      retry: {
        code: /suggested retry after/i.test(words) ? 'ENGINE_RATE_LIMITED' : failureKind(words),
        waitMs,
      },
    },
  ];
}

const lastAttempt = (stderr: string): string => stderr.slice(Math.max(0, stderr.lastIndexOf('Attempt ')));

async function failure(error: string | null, exit: Exit): Promise<EngineEnd[]> {
  const { exitCode } = exit;
  // A signal speaks for itself; higher codes than these are statuses of the API.
  if (exitCode === null || (exitCode > 128 && exitCode < 144)) return [];
  const [told] = error === null ? await stderrEnd(exit) : [];
  const words =
    error ??
    told?.error ??
    `It ended without a result (exit code ${exitCode}), as Gemini CLI does when it is killed.`;
  return [{ type: 'end', ok: false, answer: '', error: words, code: kind(words, exitCode) }];
}

/** Its exit codes: a few of its own, and for a failed request the HTTP status, of which only the low byte is left. */
function kind(words: string, exitCode: number | null) {
  if (exitCode === 41) return 'ENGINE_NOT_LOGGED_IN';
  if (exitCode === 42 && /session/i.test(words)) return 'CHAT_UNKNOWN';
  const status = [401, 403, 429, 529].find(status => status % 256 === exitCode);
  return failureKind(words, status);
}

/** `[API Error: {"error":{"message":"…"}}]` → what the API said. */
function wordsOf(message: string | null): string {
  const inner = /^\[API Error: ([\s\S]*?)\](?=\n|$)/.exec(message ?? '')?.[1];
  const said = inner === undefined ? null : fields(fieldsOf(inner)?.error);
  const words = text(said?.message);
  return words ? `The API answered ${said?.code ?? 'with an error'}: ${words}` : (message ?? '').trim();
}
