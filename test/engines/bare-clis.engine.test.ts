/** The harness itself with the real CLIs: what Squad's tests build on holds without Squad. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cliAt } from '../../scripts/engine-clis.ts';
import { agentHome } from './agent-home.ts';
import { bareCommand, cleanEnvironment } from './bare/command.ts';
import { startBare } from './bare/run.ts';
import { chosenClis } from './chosen-clis.ts';
import { type ModelServer, startModelServer } from './model-server/server.ts';
import { CASES } from './transcript-cases.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.close());

describe.each(chosenClis())('%s', name => {
  test('is the version the recordings are of', async () => {
    using place = agentHome();
    const command = { argv: [cliAt(name).program, '--version'], env: cleanEnvironment(place.home) };
    const { stdout } = await startBare(command, place.cwd, '').ended;
    expect(stdout).toContain(cliAt(name).version);
    expect(recording('index.json')).toContain(`"version": "${cliAt(name).version}"`);
  });

  test.each(['tool', 'mcp'])('prints the kinds of events recorded for %s', async label => {
    using place = agentHome();
    const one = CASES.find(known => known.name === label)!;
    const tag = `${name}-${label}`;
    const command = bareCommand(name, { ...place, url: server.url, ...one.options });
    const { stdout } = await startBare(command, place.cwd, one.turns[0]!.prompt(tag, place.cwd)).ended;
    expect(kinds(stdout)).toEqual(kinds(recording(`${label}.jsonl`)));
    expect(server.usage({ tag }).answers).toBe(2);
  });

  const recording = (file: string) =>
    readFileSync(join(import.meta.dirname, '..', 'fixtures', 'transcripts', name, file), 'utf8');
});

/** How often an event comes is the CLI's affair (pieces of text, notices about itself); which come is not. */
function kinds(lines: string): string[] {
  const events = lines
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line));
  return [
    ...new Set(events.map(event => [event.type, event.subtype, event.item?.type].filter(Boolean).join('/'))),
  ].sort();
}
