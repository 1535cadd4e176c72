import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Subagents } from '../support/subagents.ts';
import type { Listening } from './listen.ts';
import { serveOverStdio } from './over-stdio.ts';
import { scenarioChecks, serverScenarios } from './runner.ts';
import {
  SUBAGENT_SCENARIOS,
  TOOL_OF,
  UNSUPPORTED_CHECKS,
  UNSUPPORTED_SCENARIOS,
} from './subagent-scenarios.ts';

const SOME_TOOL = 'summarise';
const MAX_TRIES = 3;
let subagents: Subagents;
const served = new Map<string, Listening>();

beforeAll(async () => {
  subagents = await Subagents.start();
  for (const name of [SOME_TOOL, ...Object.values(TOOL_OF)]) {
    subagents.write(name);
    served.set(name, await serveOverStdio(() => subagents.squad.start(['mcp', ...subagents.args(name)])));
  }
});
afterAll(async () => {
  for (const { close } of served.values()) await close();
  await subagents[Symbol.asyncDispose]();
});

describe('the official conformance suite on `squad mcp serve`', () => {
  it.each(
    Object.entries(SUBAGENT_SCENARIOS).flatMap(([revision, names]) =>
      names.map(name => ({ revision, name })),
    ),
  )('$revision: $name', { tags: ['E1', 'R1'], timeout: 180_000 }, async ({ revision, name }) => {
    const unsupported = Object.keys(UNSUPPORTED_CHECKS[name] ?? {}).sort();
    // Some probes of the runner time out after half a second, which is too short on a busy machine.
    for (let tries = 1; ; tries++) {
      const checks = await scenarioChecks(served.get(TOOL_OF[name] ?? SOME_TOOL)!.url, name, revision);
      const notPassed = checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO');
      const ids = notPassed.map(({ id }) => id).sort();
      if (tries < MAX_TRIES && !isDeepStrictEqual(ids, unsupported)) continue;
      expect(ids, JSON.stringify(notPassed, null, 2)).toEqual(unsupported);
      expect(checks.some(({ status }) => status === 'SUCCESS')).toBe(true);
      return;
    }
  });

  it('every scenario of the suite is in one of the lists, for either revision', {
    tags: ['E1'],
  }, async () => {
    const all = await serverScenarios();
    const unsupported = Object.values(UNSUPPORTED_SCENARIOS).flat();
    const applied = Object.values(SUBAGENT_SCENARIOS).flat();
    expect([...new Set([...applied, ...unsupported])].sort()).toEqual([...all.keys()].sort());
    expect(unsupported.filter(name => applied.includes(name))).toEqual([]);
    for (const [revision, names] of Object.entries(SUBAGENT_SCENARIOS)) {
      const ofRevision = applied.filter(name => all.get(name)!.includes(revision));
      expect([...names].sort()).toEqual([...new Set(ofRevision)].sort());
    }
  });
});
