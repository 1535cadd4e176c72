import type { ResolvedServer } from '../../src/core/gateway/variables.ts';
import { type Connected, createConnect } from '../../src/gateway/upstream/connect.ts';
import { createServiceTags } from '../../src/process/programs/service.ts';
import { createProcessTable } from '../../src/process/table/process-table.ts';

const connect = createConnect({
  table: createProcessTable(),
  nextTag: createServiceTags(`attacks ${process.pid}`).next,
  clientInfo: { name: 'squad', version: '1' },
});

/** Starts or reaches a server just as the hub does. */
export const openServer = (server: ResolvedServer): Promise<Connected> =>
  connect({
    id: 'server',
    server,
    events: { onNotification: () => {}, onStray: () => {} },
    startTimeoutMs: 20_000,
    redact: text => text,
  });

/** The kind of fault it ends in, or that there is none. */
export const faultOf = async (server: ResolvedServer): Promise<string> => {
  try {
    await (await openServer(server)).close();
    return 'none';
  } catch (fault) {
    return (fault as { kind?: string }).kind ?? String(fault);
  }
};
