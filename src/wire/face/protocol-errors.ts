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

/** Lists are short and sent whole, so no cursor can be one of ours. */
export function refuseCursor(params: { cursor?: string } | undefined): void {
  if (params?.cursor !== undefined) throw invalidParams('Unknown cursor: this list is sent in one page.');
}

/** An error of ours keeps its code and suggestions in `data`, without a stack; an error of another server stays unchanged. */
export function asProtocolError(thrown: unknown): ProtocolError {
  if (thrown instanceof ProtocolError) return thrown;
  const said = saidElsewhere(thrown);
  if (said) return new ProtocolError(said.code, said.message, said.data);
  const error = asSquadError(thrown);
  const shape = error.toShape();
  const code = shape.kind === 'usage' ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
  return new ProtocolError(code, error.message, shape);
}

/** The same for a call of a tool, which every error of it names. Data of another server that is no object stays as it was. */
export function toolCallError(thrown: unknown, tool: string): ProtocolError {
  const { code, message, data = {} } = asProtocolError(thrown);
  return new ProtocolError(code, message, isObject(data) ? { ...data, tool_name: tool } : data);
}

function saidElsewhere(thrown: unknown): { code: number; message: string; data?: unknown } | null {
  if (thrown instanceof UpstreamFault) return thrown.error;
  // An abort has a number too, which is not one of the protocol.
  if (typeof thrown !== 'object' || thrown === null || thrown instanceof DOMException) return null;
  const { code, message, data } = thrown as { code?: unknown; message?: unknown; data?: unknown };
  return Number.isSafeInteger(code) && typeof message === 'string'
    ? { code: code as number, message, data }
    : null;
}
