import { killTree, type Leftover } from '../table/kill-tree.ts';
import type { ProcessTable } from '../table/process-table.ts';
import { createTurnTree, type TurnTree } from '../turns/turn-tree.ts';

/** From TERM to KILL. */
export const TERM_MS = 3000;

/** A service's processes, found like a turn's. Its first process leaves no record, so it is one among the others. */
export function createServiceTree(table: ProcessTable, service: string, leaderPid: number): TurnTree {
  const tree = createTurnTree(table, { service }, leaderPid);
  return {
    async members() {
      const { wrapper, others } = await tree.members();
      return { wrapper: null, others: wrapper ? [wrapper, ...others] : others };
    },
    wrapperEnded: tree.wrapperEnded,
  };
}

/** Ends what services left behind whose hub is no more. Returns what could not be ended, normally nothing. */
export async function sweepServices(
  table: ProcessTable,
  isOurs: (tag: string) => boolean,
): Promise<Leftover[]> {
  const tags = (await table.snapshot()).services().filter(isOurs);
  const killAt = performance.now() + TERM_MS;
  const survivors = await Promise.all(
    tags.map(tag => killTree(table, createServiceTree(table, tag, 0), () => killAt)),
  );
  return survivors.flat();
}
