/** The Agent Client Protocol in CLIs that use it only to ask the user. */
import type { DriverStart, EngineReader } from '../../core/ports/engine.ts';
import { fieldsOf } from '../json-line.ts';
import { type AcpTraits, acpDriver } from './acp-driver.ts';
import { type AcpDialect, acpReader } from './acp-reader.ts';

/**
 * Driver of a CLI that Squad configures by the CLI's own settings: they contain the permissions, and Squad's MCP server
 * unless `start` has an endpoint.
 */
export const cliDriver = (start: DriverStart, traits: AcpTraits) =>
  acpDriver(start, { ...traits, asksForRest: true });

/** Reads the lines of the protocol, and those of a turn that only reads its prompt. */
export function cliReader(oneShot: EngineReader, dialect: AcpDialect): EngineReader {
  const acp = acpReader(dialect);
  let isAcp = false;
  return {
    line(line) {
      isAcp ||= fieldsOf(line)?.jsonrpc === '2.0';
      return (isAcp ? acp : oneShot).line(line);
    },
    tooLong: beginning => (isAcp ? acp : oneShot).tooLong?.(beginning) ?? [],
    finish: async exit => (await (isAcp ? acp : oneShot).finish?.(exit)) ?? [],
  };
}
