import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { asSquadError } from '../schema/error.ts';

export const invalidParams = (message: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message);

/** Lists are short and sent whole, so no cursor can be one of ours. */
export function refuseCursor(params: { cursor?: string } | undefined): void {
  if (params?.cursor !== undefined) throw invalidParams('Unknown cursor: this list is sent in one page.');
}

/** What a face throws keeps its code and its next steps in `data`, and never its stack. */
export function asProtocolError(thrown: unknown): ProtocolError {
  if (thrown instanceof ProtocolError) return thrown;
  const error = asSquadError(thrown);
  const shape = error.toShape();
  const code = shape.kind === 'usage' ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
  return new ProtocolError(code, error.message, shape);
}
