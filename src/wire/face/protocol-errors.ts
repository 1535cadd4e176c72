import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { isObject } from '../../base/json.ts';
import { asSquadError } from '../../schema/error.ts';
import { UpstreamFault } from '../upstream/link.ts';

export const invalidParams = (message: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message);

export const unknownTool = (name: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`, { tool_name: name });

export const internalError = (message: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InternalError, message);

/** Lists are short and sent as one page, so every cursor is invalid. */
export function refuseCursor(params: { cursor?: string } | undefined): void {
  if (params?.cursor !== undefined) throw invalidParams('Unknown cursor: this list is sent in one page.');
}

/** Squad's own errors keep code and suggestions in `data`, without a stack. Errors of another server stay unchanged. */
export function asProtocolError(thrown: unknown): ProtocolError {
  if (thrown instanceof ProtocolError) return thrown;
  const foreign = foreignError(thrown);
  if (foreign) return new ProtocolError(foreign.code, foreign.message, foreign.data);
  const error = asSquadError(thrown);
  const shape = error.toShape();
  const code = shape.kind === 'usage' ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
  return new ProtocolError(code, error.message, shape);
}

/**
 * Error of a tool call. Its `data` contains the name of the tool, unless another server sent data that is not an
 * object.
 */
export function toolCallError(thrown: unknown, tool: string): ProtocolError {
  const { code, message, data = {} } = asProtocolError(thrown);
  return new ProtocolError(code, message, isObject(data) ? { ...data, tool_name: tool } : data);
}

function foreignError(thrown: unknown): { code: number; message: string; data?: unknown } | null {
  if (thrown instanceof UpstreamFault) return thrown.error;
  // An AbortError has a number as its code, but it is no JSON-RPC code.
  if (typeof thrown !== 'object' || thrown === null || thrown instanceof DOMException) return null;
  const { code, message, data } = thrown as { code?: unknown; message?: unknown; data?: unknown };
  return Number.isSafeInteger(code) && typeof message === 'string'
    ? { code: code as number, message, data }
    : null;
}
