import { basename } from 'node:path';
import type { Engines } from '../core/ports/engine.ts';
import type { FoundClis } from '../core/ports/machines.ts';
import { type FoundExecutable, findExecutable } from '../process/programs/find-executable.ts';
import { cliNamed, type InstalledCli } from '../schema/engine-spec.ts';
import { SquadError } from '../schema/error.ts';
import { shellWord } from '../schema/shell-word.ts';
import type { CliProfile } from './cli-profile.ts';
import { cliProfile, cliProfiles } from './cli-profiles.ts';
import type { ProgramVersions } from './program-versions.ts';
import { savedChats } from './saved-chats/saved-chats.ts';
import { isOlder } from './version.ts';

/** Finds agent CLIs in an environment, with their versions. */
export function installedClis(versions: ProgramVersions): Omit<Engines, 'create'> {
  async function look(
    profile: CliProfile,
    command: string,
    env: Record<string, string>,
    on?: FoundClis,
  ): Promise<InstalledCli | null> {
    if (on) {
      const there = on.find(
        ({ cli, program }) => cli === profile.id && (!command.includes('/') || command === program),
      );
      return there ? { ...there, warning: warningFor(profile, there.version) } : null;
    }
    const path = pathOf(command, env);
    if (path === null) return null;
    const program = profile.resolve?.(path) ?? path;
    const version = await versions.of(program, env);
    return { cli: profile.id, program, version, warning: warningFor(profile, version) };
  }

  return {
    async find(nameOrCommand, env, on) {
      const name = basename(nameOrCommand);
      const cli = cliNamed(name);
      const profile = cliProfiles().find(({ id, programs }) => id === cli || programs.includes(name));
      if (!profile) return null;
      const commands = nameOrCommand.includes('/') ? [nameOrCommand] : profile.programs;
      for (const command of commands) {
        const found = await look(profile, command, env, on);
        if (!found) continue;
        refuseTooOld(profile, found);
        return found;
      }
      if (on) throw notOnMachine(profile);
      throw notExecutable(profile, commands, env) ?? notFound(profile, commands, env);
    },
    async refresh(spec, env, on) {
      if (spec.kind !== 'cli') return { spec, notes: [] };
      const profile = cliProfile(spec.cli);
      const cli = await look(profile, spec.program, env, on);
      if (!cli && on) throw notOnMachine(profile);
      if (!cli) throw notExecutable(profile, [spec.program], env) ?? notFound(profile, [spec.program], env);
      refuseTooOld(profile, cli);
      const { program, version, warning } = cli;
      return { spec: { ...spec, program, version }, notes: warning === null ? [] : [warning] };
    },
    async installed(env, on) {
      const found = await Promise.all(
        cliProfiles().map(async profile => {
          for (const command of profile.programs) {
            const cli = await look(profile, command, env, on);
            if (cli) return cli;
          }
          return null;
        }),
      );
      return found.filter(cli => cli !== null);
    },
    clis: () =>
      cliProfiles().map(({ id, name, install, login, versions, toolNames = {} }) => ({
        ...{ cli: id, name, install, login, toolNames },
        tested: versions?.tested ?? null,
      })),
    programs: () => cliProfiles().map(({ id, programs }) => ({ cli: id, programs })),
    savedChats: (folder, env) =>
      savedChats(
        cliProfiles().filter(({ programs }) => programs.some(command => pathOf(command, env) !== null)),
        folder,
        env,
      ),
    chatAdoption: cli => cliProfile(cli).adoption,
    copyChat: async (chat, folder, files) => cliProfile(chat.engine).copyChat?.(chat, folder, files),
    isPresent: (cli, env) =>
      cliProfiles().some(
        ({ id, programs }) => id === cli && programs.some(command => pathOf(command, env) !== null),
      ),
  };
}

function pathOf(command: string, env: Record<string, string>): string | null {
  const found = lookUp(command, env);
  return found.status === 'found' ? found.path : null;
}

function lookUp(command: string, env: Record<string, string>): FoundExecutable {
  const path = env.PATH ?? '';
  // With an empty PATH the system searches the current folder, where a repository could place a fake agent.
  if (!path && !command.includes('/')) return { status: 'not_found' };
  return findExecutable(command, { path, cwd: '/' });
}

function warningFor({ name, versions }: CliProfile, version: string | null): string | null {
  if (versions === null)
    return `${name} was never run by Squad's own tests: its profile comes from its documentation.`;
  if (version === null) return `${name} does not say which version it is; Squad knows ${versions.tested}.`;
  if (isOlder(version, versions.from)) return `${name} ${version} is too old: Squad needs ${versions.from}.`;
  if (isOlder(versions.tested, version))
    return `${name} ${version} is newer than ${versions.tested}, the newest Squad was tried with.`;
  return null;
}

function refuseTooOld({ name, versions, install }: CliProfile, { version, program }: InstalledCli): void {
  if (versions === null || version === null || !isOlder(version, versions.from)) return;
  throw new SquadError(
    'ENGINE_TOO_OLD',
    `${name} at ${program} is version ${version}; Squad needs ${versions.from} or later`,
    {
      suggestions: [`Update it: ${install}`],
    },
  );
}

function notExecutable(
  { name }: CliProfile,
  commands: readonly string[],
  env: Record<string, string>,
): SquadError | null {
  const blocked = commands
    .map(command => lookUp(command, env))
    .find(({ status }) => status === 'not_executable');
  if (blocked?.status !== 'not_executable') return null;
  return new SquadError('ENGINE_NOT_EXECUTABLE', `The program of ${name} cannot be run: ${blocked.path}`, {
    suggestions: [`chmod +x ${shellWord(blocked.path)}`],
  });
}

const notOnMachine = ({ name, install }: CliProfile): SquadError =>
  new SquadError('ENGINE_NOT_FOUND', `The program of ${name} was not found on that machine`, {
    suggestions: [
      `Install it there: ${install}`,
      '`squad machines doctor` lists what was found on the PATH of its login shell.',
    ],
  });

function notFound(
  { name, install }: CliProfile,
  commands: readonly string[],
  env: Record<string, string>,
): SquadError {
  return new SquadError(
    'ENGINE_NOT_FOUND',
    `The program of ${name} was not found: ${commands.join(' or ')}`,
    {
      suggestions: [
        `Install it: ${install}`,
        env.PATH
          ? `Squad searched the PATH that the client passed on: ${env.PATH}`
          : 'The client passed no PATH to Squad. Run `squad install CLIENT` in a terminal: it records the PATH of that terminal.',
      ],
    },
  );
}
