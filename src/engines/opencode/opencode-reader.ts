import type { EngineEnd, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import { cutOffNote } from '../cut-off.ts';
import { type Fields, fields, fieldsOf, number, text } from '../json-line.ts';
import { longLineType } from '../long-line.ts';
import { Speech } from '../speech.ts';
import { toolDetail } from '../tool-detail.ts';
import { apiFailure, unfinished, wasKilled } from './opencode-failure.ts';
import {
  chatInLog,
  type EndedCall,
  failedRequest,
  readLog,
  runningCalls,
  sinceLastRequest,
} from './opencode-log.ts';
import { StepUsage } from './opencode-usage.ts';

/**
 * Reads `--format json`. There is no end event: a turn is done when its last step ended with "stop", unless another event or
 * the exit code says otherwise.
 */
export function opencodeReader(): EngineReader {
  const usage = new StepUsage();
  const speech = new Speech();
  const ended: EndedCall[] = [];
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
        ended.push(endedCall(part));
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
      // A signal that came after the answer takes nothing back.
      if (reason === 'stop' && (exit.exitCode === 0 || wasKilled(exit))) return [];
      const log = await readLog(exit);
      const id = chat ?? chatInLog(log, await exit.file('command.json'));
      const last = id === null ? [] : sinceLastRequest(log, id);
      const told = await unfinished(reason, exit);
      return [
        ...runningCalls(last, ended),
        ...failedRequest(last),
        ...(told.length === 0 && hasAnswered ? [KILLED_LATER] : told),
      ];
    },
  };
}

/** It had ended a step with "stop", and then began another one. */
const KILLED_LATER: EngineEnd = {
  type: 'end',
  ok: false,
  answer: '',
  error: 'It was killed in the middle of its work.',
  code: 'ENGINE_FAILED',
};

const EDITING = ['edit', 'write', 'patch', 'apply_patch', 'multiedit'];

function endedCall({ tool, state }: Fields): EndedCall {
  const name = text(tool) ?? '';
  const { start, end } = fields(fields(state).time);
  return {
    permission: EDITING.includes(name) ? 'edit' : name,
    start: number(start) ?? 0,
    end: number(end) ?? Number.POSITIVE_INFINITY,
  };
}

/** A call is reported once, when it is over. */
function toolUsed({ tool, state }: Fields): EngineEvent[] {
  const name = text(tool);
  if (!name) return [];
  const { status, input, error, metadata } = fields(state);
  // A command that failed is a call that worked, to it.
  const ok = status === 'completed' && (number(fields(metadata).exit) ?? 0) === 0;
  const denied =
    !ok && /rejected permission|prevents you from using|permission (?:was )?denied/i.test(text(error) ?? '');
  return [
    {
      type: 'tool',
      name,
      detail: shortened(toolDetail(fields(input))),
      ...(EDITING.includes(name) && { edits: true }),
    },
    { type: 'tool_end', name, ok, ...(denied && { denied }) },
  ];
}

const shortened = (words: string): string =>
  words.length > 500 ? `${words.slice(0, 500).toWellFormed()}…` : words;
