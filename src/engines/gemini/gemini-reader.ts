import type { EngineEnd, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import { cutOffNote } from '../cut-off.ts';
import { failureKind, waitText } from '../failure-kind.ts';
import { amount, type Fields, fields, fieldsOf, text } from '../json-line.ts';
import { longLineType } from '../long-line.ts';
import { Speech } from '../speech.ts';
import { stderrEnd } from '../stderr-end.ts';
import { ToolCalls, toolDetail } from '../tool-calls.ts';
import { EDITING } from './gemini-policy.ts';

type Exit = Parameters<NonNullable<EngineReader['finish']>>[0];

/**
 * Reads `--output-format stream-json`. A `result` with status "success" is a success, unless an `error` event came
 * right before it: Gemini ends loops and blocked agents that way.
 */
export function geminiReader(): EngineReader {
  const calls = new ToolCalls((name, input) => ({
    detail: toolDetail(input),
    edits: EDITING.includes(name),
  }));
  const speech = new Speech();
  let ok = false;
  let error: string | null = null;
  /** Plain output before the first event, which explains why Gemini CLI could not start. */
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
    error = errorText(text(fields(line.error).message)) || error || 'Gemini CLI says it failed, and not why.';
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
      // The prompt is also printed as a message. A long line with it is not the answer.
      const isPrompt = /"role"\s*:\s*"user"/.test(beginning);
      if ((type === 'message' && !isPrompt) || type === 'unknown') speech.miss();
      return [];
    },
    // Only the exit code contains the API's status, so failures are reported after the exit.
    finish: async exit =>
      ok ? [] : [...speech.pause(), ...(await retryIn(exit)), ...(await failure(error ?? plain, exit))],
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: removes colours
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

/** Gemini CLI reports API failures and retries only on stderr. */
async function retryIn(exit: Exit): Promise<EngineEvent[]> {
  const found = /^Attempt \d+ failed:? ([\s\S]*?)\.+ Retrying after (\d+)ms/m.exec(
    lastAttempt((await exit.file('stderr')) ?? ''),
  );
  if (!found) return [];
  const [, said, wait] = found;
  const waitMs = Number(wait);
  const message = said!.split('\n').join(' ');
  return [
    {
      type: 'note',
      text: `The model's API failed (${message}); retry${waitText(waitMs)}`,
      // This text occurs only in quota errors.
      retry: {
        code: /suggested retry after/i.test(message) ? 'ENGINE_RATE_LIMITED' : failureKind(message),
        waitMs,
      },
    },
  ];
}

const lastAttempt = (stderr: string): string => stderr.slice(Math.max(0, stderr.lastIndexOf('Attempt ')));

async function failure(error: string | null, exit: Exit): Promise<EngineEnd[]> {
  const { exitCode } = exit;
  // Exit codes of signals, which need no explanation. Exit codes above them are statuses of the API.
  if (exitCode === null || (exitCode > 128 && exitCode < 144)) return [];
  const [told] = error === null ? await stderrEnd(exit) : [];
  const message =
    error ??
    told?.error ??
    `It ended without a result (exit code ${exitCode}), as Gemini CLI does when it is killed.`;
  return [{ type: 'end', ok: false, answer: '', error: message, code: kind(message, exitCode) }];
}

/** A few exit codes are Gemini's own. For a failed request the code is the low byte of the HTTP status. */
function kind(message: string, exitCode: number | null) {
  if (exitCode === 41) return 'ENGINE_NOT_LOGGED_IN';
  if (exitCode === 42 && /session/i.test(message)) return 'CHAT_UNKNOWN';
  const status = [401, 403, 429, 529].find(status => status % 256 === exitCode);
  return failureKind(message, status);
}

/** Extracts the API's message from `[API Error: {"error":{"message":"…"}}]`. */
function errorText(message: string | null): string {
  const inner = /^\[API Error: ([\s\S]*?)\](?=\n|$)/.exec(message ?? '')?.[1];
  const error = inner === undefined ? null : fields(fieldsOf(inner)?.error);
  const detail = text(error?.message);
  return detail ? `The API answered ${error?.code ?? 'with an error'}: ${detail}` : (message ?? '').trim();
}

/** Input includes cached tokens. Output excludes thinking, but the total includes it. */
export function usageIn(stats: Fields): EngineEvent[] {
  const input = amount(stats.input_tokens);
  const output = amount(stats.output_tokens);
  const total = amount(stats.total_tokens);
  if (!total && !input && !output) return []; // all zero: the turn did not reach a model
  const all = total !== null && input !== null ? Math.max(total - input, output ?? 0) : output;
  return [
    {
      type: 'usage',
      usage: { input, output: all, cached: amount(stats.cached), costUsd: null, costIsEstimated: false },
    },
  ];
}

/** The model that used the most tokens, because the requested name may stand for several models. */
export function modelIn(stats: Fields): EngineEvent[] {
  const used = Object.entries(fields(stats.models))
    .map(([model, figures]) => ({ model, tokens: amount(fields(figures).total_tokens) ?? 0 }))
    .filter(({ tokens }) => tokens > 0)
    .sort((a, b) => b.tokens - a.tokens);
  return used[0] ? [{ type: 'model', model: used[0].model }] : [];
}
