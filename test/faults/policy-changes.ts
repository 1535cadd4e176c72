/** With `failing-disk.cjs` loaded: makes the change of each line that it is sent, with the fault that the line names, and answers with its error. */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { asSquadError, type ErrorShape } from '../../src/schema/error.ts';
import { changeMcpConfig } from '../../src/workspace/gateway/change-mcp-config.ts';
import { mcpConfigPath } from '../../src/workspace/gateway/mcp-config-file.ts';
import { trust, untrust } from '../../src/workspace/settings/trust.ts';

/** Injected fault of a disk write: an error, an error after half of the bytes, or a long wait. */
export type Fate = 'ENOSPC' | 'EIO' | 'EROFS' | 'short' | 'slow';

/** Changes of the disk that fail: one, or all from that one on. */
export interface Fault {
  under: string[];
  fate: Fate;
  from: number;
  to: number;
}

export interface Asked {
  home: string;
  workspace: string;
  change: 'trust' | 'untrust' | 'edit';
  /** Of the configuration after an edit. */
  text: string;
  fault: Fault;
}

export interface Told {
  error: ErrorShape | null;
  /** How many changes of the disk it took. */
  changes: number;
}

declare const failDisk: (fault: Pick<Fault, 'under'>) => number;

async function change({ home, workspace, change, text }: Asked): Promise<unknown> {
  const file = mcpConfigPath(workspace);
  if (change === 'edit') return changeMcpConfig(home, workspace, () => text);
  return change === 'trust' ? trust(home, file, readFileSync(file, 'utf8')) : untrust(home, file);
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line) as Asked;
  failDisk(asked.fault);
  const error = await change(asked).then(
    () => null,
    thrown => asSquadError(thrown).toShape(),
  );
  const changes = failDisk({ under: [] });
  console.log(JSON.stringify({ error, changes } satisfies Told));
}
