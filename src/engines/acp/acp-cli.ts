/** The Agent Client Protocol in CLIs that use it only to ask the user. */
import type { DriverStart, EngineReader } from '../../core/ports/engine.ts';
import type { RunOptions } from '../../schema/run.ts';
import { fieldsOf } from '../json-line.ts';
import { type AcpTraits, acpDriver } from './acp-driver.ts';
import { type AcpDialect, acpReader } from './acp-reader.ts';

/** True if the CLI has to ask the user. The hub can write the input file only on its own machine. */
export const asksOverAcp = ({
  approvals,
  permission,
  machine,
}: Pick<RunOptions, 'approvals' | 'permission' | 'machine'>): true | undefined =>
  (approvals === 'ask' && permission !== 'full' && machine === null) || undefined;

/** Driver of a CLI that has its permissions in its own settings, and Squad's MCP server unless `start` has it. */
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
