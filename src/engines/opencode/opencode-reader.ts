import { join } from 'node:path';
import type { EngineEnd, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import type { Usage } from '../../schema/run.ts';
import { cutOffNote } from '../cut-off.ts';
import { amount, type Fields, fields, fieldsOf, number, sum, text } from '../json-line.ts';
import { longLineType } from '../long-line.ts';
import { Speech } from '../speech.ts';
import { toolDetail } from '../tool-calls.ts';
import { recordedTurn } from './opencode-database.ts';
import { apiFailure, unfinished, wasKilled } from './opencode-failure.ts';
import { DATA_PATH_FILE, failedRequest, readLog } from './opencode-log.ts';

type Exit = Parameters<NonNullable<EngineReader['finish']>>[0];

/**
 * Reads `--format json`. There is no end event: a turn succeeded if its last step ended with "stop", unless another event or
 * the exit code says otherwise.
 */
export function opencodeReader(): EngineReader {
  const usage = new StepUsage();
  const speech = new Speech();
  /** Ids of the tool calls that were reported. */
  const reported = new Set<unknown>();
  let chat: string | null = null;
  let reason: string | null = null;
  let error: Fields | null = null;
  let hasAnswered = false;

  function chatOf(line: Fields): EngineEvent[] {
    const id = text(line.sessionID);
    if (chat !== null || !id) return [];
    chat = id;
    return [{ type: 'chat', id }];
  }

  function read(line: Fields): EngineEvent[] {
    const part = fields(line.part);
    switch (line.type) {
      case 'step_start':
        reason = null;
        error = null;
        return speech.restart();
      case 'text':
        return [...speech.add(text(part.text) ?? ''), ...speech.pause()];
      case 'tool_use':
        reported.add(part.callID);
        return toolUsed(part);
      case 'step_finish':
        reason = text(part.reason);
        return [...usage.add(part), ...cutOffNote(reason), ...(reason === 'stop' ? [answered()] : [])];
      case 'error':
        error = fields(line.error);
        return [];
      default:
        return [];
    }
  }

  /**
   * Events of tool calls come only when the calls end. opencode's database contains the calls that were still
   * running, and the chat of a turn without output.
   */
  async function unreported(exit: Exit): Promise<{ chat: string | null; events: EngineEvent[] }> {
    const folder = await exit.file(DATA_PATH_FILE);
    const given = /"--(session|title)","([^"]+)"/.exec((await exit.file('command.json')) ?? '');
    const known = chat ?? (given?.[1] === 'session' ? given[2]! : null);
    if (folder === null || (known === null && !given)) return { chat: known, events: [] };
    try {
      const turn = { path: join(folder, 'opencode.db'), chat: known, title: given?.[2] ?? null };
      const recorded = await recordedTurn(turn);
      const running = recorded.calls.filter(({ callID }) => !reported.has(callID));
      return { chat: recorded.chat, events: running.flatMap(call => toolBegun(call)) };
    } catch (thrown) {
      return { chat: known, events: [callsUnknown(thrown)] };
    }
  }

  function answered(): EngineEnd {
    hasAnswered = true;
    return speech.end();
  }

  return {
    line(line) {
      const event = fieldsOf(line);
      return event ? [...chatOf(event), ...read(event)] : [];
    },
    tooLong(beginning) {
      const type = longLineType(beginning);
      if (type !== null && type !== 'tool_use') speech.miss();
      return [];
    },
    async finish(exit) {
      if (error) return [await apiFailure(error, exit)];
      // A signal after the final answer does not invalidate the answer.
      if (reason === 'stop' && (exit.exitCode === 0 || wasKilled(exit))) return [];
      const { chat: id, events } = await unreported(exit);
      const told = await unfinished(reason, exit);
      return [
        ...events,
        ...(id === null ? [] : failedRequest(await readLog(exit), id)),
        ...(told.length === 0 && hasAnswered ? [KILLED_LATER] : told),
      ];
    },
  };
}

/** End of a turn that was killed in a later step, although an earlier step had ended with "stop". */
const KILLED_LATER: EngineEnd = {
  type: 'end',
  ok: false,
  answer: '',
  error: 'It was killed in the middle of its work.',
  code: 'ENGINE_FAILED',
};

const EDITING = ['edit', 'write', 'patch', 'apply_patch', 'multiedit'];

const callsUnknown = (thrown: unknown): EngineEvent => ({
  type: 'note',
  text: `Tool calls that were running at the end are not counted: opencode's database could not be read (${(thrown as Error).message}).`,
  isForResult: true,
});

function toolBegun({ tool, state }: Fields): EngineEvent[] {
  const name = text(tool);
  if (!name) return [];
  const detail = shortened(toolDetail(fields(fields(state).input)));
  return [{ type: 'tool', name, detail, ...(EDITING.includes(name) && { edits: true }) }];
}

/** opencode reports a tool call once, at its end. */
function toolUsed(part: Fields): EngineEvent[] {
  const name = text(part.tool);
  if (!name) return [];
  const { status, error, metadata } = fields(part.state);
  // opencode counts a failed command as a successful tool call.
  const ok = status === 'completed' && (number(fields(metadata).exit) ?? 0) === 0;
  const denied =
    !ok && /rejected permission|prevents you from using|permission (?:was )?denied/i.test(text(error) ?? '');
  return [...toolBegun(part), { type: 'tool_end', name, ok, ...(denied && { denied }) }];
}

const shortened = (words: string): string =>
  words.length > 500 ? `${words.slice(0, 500).toWellFormed()}…` : words;

/** Adds up usage, because each step reports only its own. */
export class StepUsage {
  #total: Usage = { input: null, output: null, cached: null, costUsd: null, costIsEstimated: false };

  add(part: Fields): EngineEvent[] {
    const tokens = fields(part.tokens);
    const cache = fields(tokens.cache);
    // Input excludes cached tokens, output excludes reasoning.
    const input = sum(amount(tokens.input), amount(cache.read), amount(cache.write));
    const output = sum(amount(tokens.output), amount(tokens.reasoning));
    if (!input && !output) return [];
    const { costIsEstimated, ...before } = this.#total;
    this.#total = {
      input: sum(before.input, input),
      output: sum(before.output, output),
      cached: sum(before.cached, amount(cache.read)),
      // opencode reports 0 for a model without a price, although the cost is unknown.
      costUsd: sum(before.costUsd, amount(part.cost) || null),
      costIsEstimated,
    };
    return [{ type: 'usage', usage: this.#total }];
  }
}
