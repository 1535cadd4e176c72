import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TurnPlace } from '../testing/turn.ts';
import { refuseProjectCommands } from './project-commands.ts';

describe('a repository with settings for Gemini CLI', () => {
  const settle = (place: TurnPlace, settings: string) => {
    mkdirSync(join(place.folder, '.gemini'), { recursive: true });
    writeFileSync(join(place.folder, '.gemini/settings.json'), settings);
    return () => refuseProjectCommands(place.folder, { HOME: place.home });
  };
  const trust = (place: TurnPlace, folder: string, level: string) =>
    place.inHome('.gemini/trustedFolders.json', JSON.stringify({ [folder]: level }));

  it.each([
    '{"hooks": {"SessionStart": []}}',
    '// c\n{"tools":{"discoveryCommand" : "x"}}',
    '{"tools":{"callCommand":"x"}}',
  ])(
    'is refused when they run commands: %s',
    { tags: ['settings-that-come-with-a-repository'] },
    settings => {
      using place = new TurnPlace();
      expect(settle(place, settings)).toThrow(expect.objectContaining({ code: 'NOT_ALLOWED' }));
    },
  );

  it.each(['{"ui":{"theme":"x"}}', '{"mcpServers":{"x":{"command":"y"}}}', '{ half'])(
    'is taken when they run none: %s',
    settings => {
      using place = new TurnPlace();
      expect(settle(place, settings)).not.toThrow();
    },
  );

  it('is taken when the user told Gemini CLI to trust the folder, or one above it', () => {
    using place = new TurnPlace();
    const check = settle(place, '{"hooks":{}}');
    trust(place, place.folder, 'TRUST_FOLDER');
    expect(check).not.toThrow();
    trust(place, join(place.folder, '..'), 'TRUST_FOLDER');
    expect(check).not.toThrow();
    trust(place, join(place.folder, 'one'), 'TRUST_PARENT');
    expect(check).not.toThrow();
    trust(place, place.folder, 'DO_NOT_TRUST');
    expect(check).toThrow('hooks');
  });

  it('in a work tree made for a run is taken as in the folder of the user, as long as it is the same', () => {
    using place = new TurnPlace();
    const fork = join(place.folder, 'fork');
    const settings = join(fork, '.gemini/settings.json');
    mkdirSync(join(fork, '.gemini'), { recursive: true });
    writeFileSync(settings, '{"hooks":{}}');
    const own = join(place.folder, 'own');
    mkdirSync(join(own, '.gemini'), { recursive: true });
    writeFileSync(join(own, '.gemini/settings.json'), '{"hooks":{}}');
    const check = () => refuseProjectCommands(fork, { HOME: place.home }, { path: fork, repository: own });
    expect(check).toThrow('hooks');
    trust(place, own, 'TRUST_FOLDER');
    expect(check).not.toThrow();
    writeFileSync(settings, '{"hooks":{"SessionStart":[]}}');
    expect(check).toThrow('hooks');
  });

  it('is not there', () => {
    using place = new TurnPlace();
    expect(() => refuseProjectCommands(place.folder, {})).not.toThrow();
  });
});
