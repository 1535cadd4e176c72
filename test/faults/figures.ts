import { appendFileSync } from 'node:fs';

/**
 * The goal figures for correctness, load and faults, each with the tests that reach it: `file` or `file › title`, where the
 * title may be cut off before its first `%` or `$`. A figure without such tests names what stands in the way.
 */
export type Figure = { goal: string; tests: string[] } | { goal: string; blockedBy: string };

const GATEWAY = 'test/faults/gateway.test.ts';
const PROCESSES = 'src/gateway/gateway-processes.test.ts';
const SERVER_LOAD = 'test/faults/many-servers.test.ts';

export const FIGURES = {
  R1: {
    goal: 'conformance suite, both revisions and edges: 0 unexpected failures',
    blockedBy:
      'in front of a server of the other era, 5 and 11 scenarios ask for what that era has no message for; the client leg of the suite is not run',
  },
  R2: {
    goal: '1,000,000 decisions equal to the reference; 1,000,000 things listed and usable or neither',
    tests: [
      'src/core/gateway/decide.property.test.ts › every decision is the one that the objections',
      'src/core/gateway/decide.property.test.ts › a listed tool may be called with some arguments, and a tool that may be called is listed',
      'src/gateway/access/list-and-call.property.test.ts',
    ],
  },
  R3: {
    goal: '100,000 config edits: a restriction never adds a capability',
    tests: ['src/core/gateway/decide.property.test.ts › a restriction more, a rule more or a name less'],
  },
  R4: {
    goal: '12 roles × 200 tools by a hand-written table',
    tests: ['test/attacks/confused-deputy.test.ts'],
  },
  R5: {
    goal: '100,000 tool names injective and stable',
    tests: ['src/core/gateway/tool-names.test.ts › of 100,000 pairs'],
  },
  R6: {
    goal: '12 cells of clients, upstreams and transports, all verbs',
    tests: ['test/conformance/eras.test.ts'],
  },
  R7: {
    goal: '500 recorded sessions replayed byte for byte',
    blockedBy:
      'nothing records the sessions of the real CLIs yet; test/engines runs the CLIs against the hub instead',
  },
  R8: {
    goal: '200,000 calls of 50 agents with the same ids, 30 % cancelled: 0 crossed, lost or duplicated',
    tests: [`${GATEWAY} › calls of 50 agents with the same ids and progress tokens`],
  },
  R9: {
    goal: '100,000 messages that nobody asked for: 0 delivered, all counted',
    tests: ['test/servers/hostile-gateway.test.ts › what nobody asked for'],
  },
  R10: {
    goal: '100 agents × 10 servers: 10 processes, at most 4 starting at once',
    tests: [`${SERVER_LOAD} › 100 agents that call 10 servers`],
  },
  R11: {
    goal: '1,500 calls/s for 10 min; p50 ≤ 2 ms, p99 ≤ 10 ms; RSS ≤ 200 MB',
    blockedBy:
      'npm run bench -- gateway-call measures a call beside its floor; 10 min at 1,500 calls/s need a machine of their own',
  },
  R12: {
    goal: '100 servers, 20 broken: usable ≤ 2 s, the healthy ones ready ≤ 30 s',
    tests: [`${SERVER_LOAD} › of 100 servers at a cold start`],
  },
  R13: {
    goal: '2,000 tools with 5 kB schemas: listed in ≤ 100 ms from cache, in one order',
    tests: [`${SERVER_LOAD} › 2,000 tools with 5 kB of schema`],
  },
  R14: {
    goal: '1,000 runs with stubborn grandchildren: 0 left within 10 s',
    tests: ['test/faults/orphans.test.ts'],
  },
  R15: {
    goal: 'hub killed at 500 random moments under load: no run lost or run twice, audit valid',
    tests: ['test/faults/faults.test.ts', `${GATEWAY} › kill -9 of the hub under calls`],
  },
  R16: {
    goal: '200 callers of one cold server, 1,000 rounds: one process each',
    tests: [`${SERVER_LOAD} › 200 callers of one cold server`],
  },
  R17: {
    goal: 'spawn limit held for 60 s; refusal names limit, value and lineage',
    tests: ['test/attacks/flooding.test.ts › an agent that starts agents from 50 threads'],
  },
  R18: {
    goal: '1,000 deaths of servers: error ≤ 1 s, nothing done twice, neighbours stay',
    tests: [`${GATEWAY} › servers that die at any point of a call`],
  },
  R19: {
    goal: 'stopped server: only its calls time out, the same process recovers; 2.5 s of work is no hang',
    tests: [
      `${PROCESSES} › a process that hangs is unhealthy`,
      `${PROCESSES} › a process that is busy for 2.5 s`,
    ],
  },
  R20: {
    goal: '64 streams × 50 agents, half never read: ≤ +64 MB',
    blockedBy: 'one reader that does not read is tested, not 3,200 streams',
  },
  R21: {
    goal: '10,000 abandoned connections: descriptors and sessions back to baseline ≤ 60 s',
    tests: ['test/faults/abandoned.test.ts'],
  },
  R22: {
    goal: 'ENOSPC, EIO, EROFS, short writes and slow syncs at every change of audit log and trust list, and a database that is cut off anywhere: nothing corrupt, all fails closed',
    tests: [
      'src/gateway/audit/audit-log.test.ts › at any one change loses nothing',
      'test/faults/policy-disk.test.ts › with a disk that fails at any change',
      'test/faults/policy-disk.test.ts › a change that the database cannot take is not in force, wherever its write is cut off',
    ],
  },
  R23: {
    goal: 'clock jumps ±1 h, DST, suspend: nothing ends early, nothing ends never',
    tests: [
      'test/e2e/runs/clock-jump.test.ts',
      'src/core/cost/budget.test.ts › the day of a budget is one day',
    ],
  },
  R24: {
    goal: '1,000 config edits while 50 agents call: only valid ones count',
    tests: [`${GATEWAY} › edits of the configuration under calls`],
  },
  R25: {
    goal: '10 ways a network server fails, each with its documented outcome; 401 is not asked again',
    tests: ['test/faults/network-server.test.ts'],
  },
  R26: {
    goal: 'wire fuzz, 10 min each: 0 crashes, 0 hangs > 1 s',
    blockedBy:
      'no coverage-guided fuzzer is among the dependencies; properties over random input stand in for it',
  },
  R27: {
    goal: '3,000 named bad inputs over CLI, MCP, HTTP and files: a documented code each; 0 stack traces, paths or secrets',
    tests: ['test/attacks/bad-inputs.test.ts'],
  },
  R28: {
    goal: '500 command, 300 path, 150 script, 60 regex, 40 Host and Origin, 30 address injections and every ECMA-48 family: 0 successes',
    tests: [
      'test/attacks/command-injection.test.ts',
      'test/attacks/path-traversal.test.ts',
      'test/web/hostile.test.ts',
      'test/attacks/schema-bombs.test.ts',
      'src/http/guard.test.ts',
      'test/attacks/ssrf.test.ts',
      'test/attacks/terminal-escapes.test.ts',
    ],
  },
  R29: {
    goal: '40 canaries through every feature: 0 found',
    tests: ['test/attacks/secret-canaries.test.ts'],
  },
  R30: {
    goal: 'token scan with 20 agents: 0 found, revoked ≤ 1 s',
    tests: ['test/attacks/token-scan.test.ts'],
  },
  R31: {
    goal: '25 hostile behaviours × 3 sharing modes beside 20 honest agents: 0 honest errors',
    tests: [`${GATEWAY} › every hostile behaviour beside honest agents`],
  },
  R32: {
    goal: 'every route, tool and socket has an authentication and a "cannot add an executable" test',
    tests: [
      'test/attacks/missing-authentication.test.ts › every route that is registered',
      'test/attacks/configuration-is-code.test.ts › no operation adds or edits',
      'test/attacks/configuration-is-code.test.ts › no route that is registered',
    ],
  },
  R33: {
    goal: '24 h soak: heap slope ≤ 1 MB/h, 0 lost events',
    blockedBy: 'a day of a machine that does nothing else; npm run soak does 30 minutes',
  },
  R34: {
    goal: 'same seed, same decisions and audit hashes over 100 runs on simulated time',
    tests: ['src/gateway/access/determinism.test.ts'],
  },
  R35: {
    goal: '≥ 90 % of mutants killed, 100 % branches',
    blockedBy: 'no mutation tool is among the dependencies, and no score was measured',
  },
  R36: {
    goal: 'every promise in the documents has a test',
    tests: ['test/coverage.test.ts › %s: each one names a proven test'],
  },
} satisfies Record<string, Figure>;

export type FigureId = keyof typeof FIGURES;
export const FIGURE_IDS = Object.keys(FIGURES) as FigureId[];

/** True under `npm run faults -- --figures`; the suite does a tenth. */
export const IS_WHOLE = process.env.SQUAD_FIGURES === 'whole';

/** The whole amount, or a tenth of it in the suite. `inSuite` is for amounts whose tenth takes too long or proves too little. */
export const amountOf = (whole: number, inSuite = Math.ceil(whole / 10)): number =>
  IS_WHOLE ? whole : Math.min(whole, Math.max(1, inSuite));

const WHOLE_TIMEOUT_MS = 2 * 60 * 60_000;

/** Time limit of a test whose amount comes from `amountOf`. */
export const figureTimeout = (inSuiteMs: number): number => (IS_WHOLE ? WHOLE_TIMEOUT_MS : inSuiteMs);

export interface Reached {
  reached: number;
  of: number;
  told: string;
  /** Times and memory: compared with the goal here, because no test asserts them. */
  isMet?: boolean;
}

export type Reported = Reached & { id: FigureId };

/** Prints the figure that a test reached, and reports it to `npm run faults -- --figures`. Call it after the last assertion. */
export function figure(id: FigureId, reached: Reached): void {
  console.log(figureLine({ id, ...reached }));
  const file = process.env.SQUAD_FIGURES_FILE;
  if (file) appendFileSync(file, `${JSON.stringify({ id, ...reached } satisfies Reported)}\n`);
}

export function figureLine({ id, reached, of, told, isMet }: Reported): string {
  const amount = `${reached.toLocaleString('en')} of ${of.toLocaleString('en')}`;
  return `${id}: ${amount}: ${told}${isMet === false ? ' (goal missed)' : ''}`;
}
