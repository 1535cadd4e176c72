import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serveFixture } from './fixture.ts';
import { conformance } from './runner.ts';
import { serveThroughGateway } from './through-gateway.ts';

const ALL = { tools: ['*'], resources: ['*'], prompts: ['*'], instance: 'per-agent' as const };
const overHttp = async (legacyOnly: boolean) => {
  const { url, close } = await serveFixture({ legacyOnly });
  return { block: { type: 'http' as const, url, ...ALL }, close };
};

/** Ways in which the gateway reaches the reference server: as a child process or over HTTP, in either era. */
const REACHED = {
  'as a child, legacy': async () => ({
    block: { command: process.execPath, args: [join(import.meta.dirname, 'stdio-fixture.ts')], ...ALL },
    close: async () => {},
  }),
  'over HTTP, legacy': () => overHttp(true),
  'over HTTP, modern': () => overHttp(false),
};

/** Scenarios in which a server sends requests or log messages during a call. The modern era has no such messages. */
const ONLY_A_LEGACY_SERVER_CAN = [
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
  'tools-call-elicitation',
  'tools-call-sampling',
  'tools-call-with-logging',
];

/** Scenarios in which a server asks by its result. A legacy server asks during the call, where a modern client cannot answer. */
const ONLY_A_MODERN_SERVER_CAN = [
  'input-required-result-basic-elicitation',
  'input-required-result-basic-list-roots',
  'input-required-result-basic-sampling',
  'input-required-result-capability-check',
  'input-required-result-multi-round',
  'input-required-result-multiple-input-requests',
  'input-required-result-non-tool-request',
  'input-required-result-request-state',
  'input-required-result-result-type',
  'input-required-result-tampered-state',
  // Two of its 28 checks: the answers to a client that lacks a capability.
  'server-stateless',
];

describe('the official conformance suite, with the gateway in between', () => {
  it.each([
    ['2025-11-25', 'as a child, legacy', 30, []],
    ['2025-11-25', 'over HTTP, legacy', 30, []],
    ['2026-07-28', 'over HTTP, modern', 37, []],
    ['2025-11-25', 'over HTTP, modern', 30, ONLY_A_LEGACY_SERVER_CAN],
    ['2026-07-28', 'as a child, legacy', 37, ONLY_A_MODERN_SERVER_CAN],
  ] as const)(
    'revision %s, the server reached %s: passes all required scenarios, except those that the two eras cannot translate',
    { tags: ['R1', 'R6'], timeout: 180_000 },
    async (revision, how, required, impossible) => {
      const fixture = await REACHED[how]();
      const endpoint = await serveThroughGateway(fixture.block);
      const { output, scored } = await conformance(endpoint.url, revision);
      await endpoint.close();
      await fixture.close();
      const failed = scored.filter(scenario => scenario.failed > 0 || !scenario.ok || scenario.passed === 0);
      expect(failed.map(({ name }) => name).sort(), output).toEqual(impossible);
      expect(scored).toHaveLength(required);
    },
  );
});
