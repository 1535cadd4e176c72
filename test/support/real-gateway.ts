import { realTimers } from '../../src/base/clock.ts';
import { GatewayFixture } from '../../src/gateway/testing/gateway-fixture.ts';
import { createConnect } from '../../src/gateway/upstream/connect.ts';
import { createServiceTags } from '../../src/process/programs/service.ts';
import { createProcessTable } from '../../src/process/table/process-table.ts';

/** A gateway of its own in this process, with real servers and real time. `log` is what servers write to theirs. */
export function realGateway(
  config: unknown,
  variables: Record<string, string> = {},
): GatewayFixture & { log: string[] } {
  const log: string[] = [];
  const connect = createConnect({
    table: createProcessTable(),
    nextTag: createServiceTags(`tests ${process.pid}`).next,
    clientInfo: { name: 'squad', version: '1' },
    onStderr: (server, line) => log.push(`${server}: ${line}`),
  });
  const fixture = new GatewayFixture({
    connect,
    config,
    variables,
    timers: realTimers,
    workspace: process.cwd(),
  });
  return Object.assign(fixture, { log });
}
