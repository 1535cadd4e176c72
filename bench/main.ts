/** `npm run bench [name…]`: measures what Squad costs, and compares each figure with the minimum for the same work. */
import { agentLoop } from './figures/agent-loop.ts';
import { agentStart } from './figures/agent-start.ts';
import { bigOutput, outputWall } from './figures/big-output.ts';
import { blockedStore } from './figures/blocked-store.ts';
import { board } from './figures/board.ts';
import { codeMode } from './figures/code-mode.ts';
import { coldStart } from './figures/cold-start.ts';
import { commandStart } from './figures/command-start.ts';
import { engineStart } from './figures/engine-start.ts';
import { eventRate } from './figures/event-rate.ts';
import { firstRequest } from './figures/first-request.ts';
import { gatewayCall } from './figures/gateway-call.ts';
import { gatewayFanIn } from './figures/gateway-fan-in.ts';
import { gatewayList } from './figures/gateway-list.ts';
import { gatewayMemory } from './figures/gateway-memory.ts';
import { hostileFiles } from './figures/hostile-files.ts';
import { idleMemory } from './figures/idle-memory.ts';
import { manyAgents } from './figures/many-agents.ts';
import { overlap } from './figures/overlap.ts';
import { queuedRuns } from './figures/queued-runs.ts';
import { recovery } from './figures/recovery.ts';
import { remote } from './figures/remote.ts';
import { reports } from './figures/reports.ts';
import { requestReview } from './figures/request-review.ts';
import { sandboxStart } from './figures/sandbox-start.ts';
import { timeout } from './figures/timeout.ts';
import { toolList } from './figures/tool-list.ts';
import { webHeap } from './figures/web-heap.ts';
import { webLive } from './figures/web-live.ts';
import { webOpen } from './figures/web-open.ts';
import { webSize } from './figures/web-size.ts';
import { webViews } from './figures/web-views.ts';
import { worktree } from './figures/worktree.ts';
import { interruption, listenForInterruption } from './interruption.ts';
import { loadNow, printTable, type Report, writeJson } from './report.ts';

const FIGURES = [
  toolList,
  coldStart,
  commandStart,
  agentStart,
  sandboxStart,
  remote,
  timeout,
  idleMemory,
  agentLoop,
  engineStart,
  firstRequest,
  manyAgents,
  bigOutput,
  outputWall,
  eventRate,
  blockedStore,
  hostileFiles,
  recovery,
  queuedRuns,
  board,
  reports,
  gatewayCall,
  gatewayList,
  gatewayMemory,
  gatewayFanIn,
  worktree,
  requestReview,
  overlap,
  codeMode,
  webSize,
  webOpen,
  webLive,
  webHeap,
  webViews,
];

const wanted = process.argv.slice(2);
const unknown = wanted.filter(name => !FIGURES.some(figure => figure.name === name));
if (unknown.length > 0) {
  console.error(
    `There is no figure ${unknown.join(', ')}. There are ${FIGURES.map(({ name }) => name).join(', ')}.`,
  );
  process.exit(2);
}
listenForInterruption();

let missed = 0;
for (const figure of FIGURES) {
  if (wanted.length > 0 && !wanted.includes(figure.name)) continue;
  const before = loadNow();
  const start = performance.now();
  const rows = await figure.measure().catch(thrown => {
    if (!interruption.aborted) throw thrown;
    process.exit(130);
  });
  const report: Report = {
    figure: figure.name,
    rows,
    seconds: (performance.now() - start) / 1000,
    load: { before, after: loadNow() },
  };
  printTable(figure, report);
  writeJson(report);
  missed += rows.filter(({ met }) => met === false).length;
}
console.log(
  missed === 0
    ? '\nEvery target is met.'
    : `\n${missed} ${missed === 1 ? 'target is' : 'targets are'} missed.`,
);
process.exit(missed === 0 ? 0 : 1);
