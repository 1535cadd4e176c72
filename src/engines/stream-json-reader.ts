import type { EngineEvent, EngineReader, LimitReset } from '../core/ports/engine.ts';
import { CUT_OFF_AT_LIMIT, cutOffNote } from './cut-off.ts';
import { failureKind, waitText } from './failure-kind.ts';
import { type Fields, fields, fieldsOf, list, number, text } from './json-line.ts';
import { epochMs } from './limit-reset.ts';
import { answerTooLong, longLineType } from './long-line.ts';
import { stderrEnd } from './stderr-end.ts';
import { type OwnFailure, streamJsonEnd } from './stream-json-end.ts';
import { type Counted, MessageUsage, type Tokens, usageEvent } from './stream-json-usage.ts';
import { ToolCalls, toolDetail } from './tool-calls.ts';

export interface StreamJsonDialect {
  /** Tools whose purpose is to change a file. */
  editing: readonly string[];
  messageTokens(usage: Fields): Tokens;
  /** `before` is the total of earlier results. A turn has several results if a sub-agent runs longer than the agent. */
  resultCount(result: Fields, before: Counted | null): Counted;
  ownFailure?: OwnFailure;
  /** Whether this is an error text that the CLI prints instead of an answer. */
  isOwnText?(text: string): boolean;
  /** Events from the CLI's own chat file for a turn without a result. */
  unfinished?(
    chatId: string,
    exit: Parameters<NonNullable<EngineReader['finish']>>[0],
  ): Promise<EngineEvent[]>;
}

/** Reads Claude Code's `--output-format stream-json`, which other CLIs imitate. Only `result` ends a turn. */
export function streamJsonReader(dialect: StreamJsonDialect): EngineReader {
  const calls = new ToolCalls((name, input) => ({
    detail: toolDetail(input),
    edits: dialect.editing.includes(name),
  }));
  const usage = new MessageUsage(dialect.messageTokens);
  let counted: Counted | null = null;
  let ended = false;
  let chat: string | null = null;
  /** Reset time of the usage limit that the CLI last reported as used up. */
  let reset: LimitReset | null = null;

  function said(line: Fields): EngineEvent[] {
    const message = fields(line.message);
    // The CLI's own message about a failed request. It is skipped, because the result repeats it.
    if (message.model === '<synthetic>') return [];
    // Text of a sub-agent is not this agent's answer.
    const isOwn = text(line.parent_tool_use_id) === null;
    const events = list(message.content).flatMap((part): EngineEvent[] => {
      if (part.type === 'text' && isOwn) return spoken(part.text, dialect);
      if (part.type === 'tool_use') return calls.begin(text(part.id), text(part.name), fields(part.input));
      return [];
    });
    // A result replaces the usage counted so far, until another result comes.
    return ended ? events : [...events, ...usage.add(message)];
  }

  return {
    line(line) {
      const event = fieldsOf(line);
      if (event?.type === 'assistant') return said(event);
      if (event?.type === 'user') return [...toolResults(event, calls), ...cutOffBefore(event)];
      if (event?.type === 'system') {
        chat ??= text(event.session_id);
        return system(event, calls);
      }
      if (event?.type === 'rate_limit_event') reset = resetOf(fields(event.rate_limit_info)) ?? reset;
      if (event?.type !== 'result') return [];
      ended = true;
      const count = dialect.resultCount(event, counted);
      const used = usageEvent(count);
      if (used.length > 0) counted = count;
      const end = streamJsonEnd(event, dialect);
      if (reset && end.code === 'ENGINE_RATE_LIMITED') end.reset = reset;
      return [...used, ...cutOffNote(text(event.stop_reason)), end];
    },
    tooLong(beginning) {
      const type = longLineType(beginning);
      // Only a long result matters, because it repeats the messages. Claude Code writes the type of a result last, so
      // a cut result has an unknown type.
      if (type !== 'result' && type !== 'unknown') return [];
      ended = true;
      return [answerTooLong()];
    },
    async finish(exit) {
      if (ended) return [];
      const recorded = chat === null ? [] : await dialect.unfinished?.(chat, exit);
      return [...(recorded ?? []), ...(await stderrEnd(exit))];
    },
  };
}

/** Claude Code reports its limits also while they allow more requests. */
function resetOf({ status, resetsAt }: Fields): LimitReset | null {
  const at = number(resetsAt);
  return status === 'rejected' && at !== null ? { at: epochMs(at) } : null;
}

const toolResults = (line: Fields, calls: ToolCalls): EngineEvent[] =>
  list(fields(line.message).content)
    .filter(part => part.type === 'tool_result')
    .flatMap(part => calls.end(text(part.tool_use_id), part.is_error !== true));

/** Returns notes for a message that the CLI itself sends to the model after an incomplete answer. */
const cutOffBefore = (line: Fields): EngineEvent[] =>
  line.isSynthetic === true && text(line.parent_tool_use_id) === null
    ? list(fields(line.message).content).flatMap(part => cutOffNote(text(part.text)))
    : [];

function system(line: Fields, calls: ToolCalls): EngineEvent[] {
  if (line.subtype === 'init') return begun(line);
  if (line.subtype === 'api_retry') return [apiRetry(line)];
  // Qwen Code makes the model continue an answer that reached the output limit.
  if (line.subtype === 'retry' && fields(line.data).preserveText === true)
    return [{ type: 'note', text: CUT_OFF_AT_LIMIT, isForResult: true }];
  if (line.subtype !== 'permission_denied') return [];
  calls.deny(text(line.tool_use_id));
  return [{ type: 'note', text: `Permission refused: ${text(line.tool_name) ?? 'a tool'}` }];
}

function begun(line: Fields): EngineEvent[] {
  const events: EngineEvent[] = [];
  const chat = text(line.session_id);
  const model = text(line.model);
  if (chat) events.push({ type: 'chat', id: chat });
  if (model) events.push({ type: 'model', model });
  for (const { name, status } of list(line.mcp_servers))
    if (status === 'failed' || status === 'needs-auth')
      events.push({
        type: 'note',
        text: `The MCP server ${text(name) ?? ''} could not be reached: ${status}`,
      });
  return events;
}

function apiRetry(line: Fields): EngineEvent {
  const status = number(line.error_status);
  const waitMs = number(line.retry_delay_ms);
  const count = [number(line.attempt), number(line.max_retries)]
    .filter(figure => figure !== null)
    .join(' of ');
  const failed = `The model's API failed${status === null ? '' : ` with ${status}`}`;
  return {
    type: 'note',
    text: `${failed}; ${`retry ${count}`.trimEnd()}${waitText(waitMs)}`,
    retry: { code: failureKind(text(line.error) ?? '', status ?? undefined), waitMs },
  };
}

function spoken(value: unknown, { isOwnText }: StreamJsonDialect): EngineEvent[] {
  const content = text(value);
  if (!content) return [];
  return [isOwnText?.(content) ? { type: 'note', text: content } : { type: 'text', text: content }];
}
