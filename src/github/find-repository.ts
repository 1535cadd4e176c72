import type { ForgeAccess, ForgeRepository } from '../core/ports/git-host.ts';
import { SquadError } from '../schema/error.ts';
import { apiUrlOf } from './api-url.ts';
import { asGitError, type Git, type OpenGit } from './git.ts';
import { parseRemoteUrl, shownAddress } from './remote-url.ts';

/** The repository on its host: what `origin` says, or the only remote, or the one the checked-out branch follows. */
export async function findRepository(
  openGit: OpenGit,
  folder: string,
  access: ForgeAccess,
): Promise<ForgeRepository> {
  const git = await openGit(folder, access.env).catch(thrown => {
    throw asGitError(thrown, folder);
  });
  const remotes = remotesIn(await read(git, ['config', '--list', '-z'], folder));
  const remote = await chosen(git, remotes, folder);
  const written = remotes.urls.get(remote)!;
  const parsed = parseRemoteUrl(written, git.folder.root);
  if (!parsed)
    throw missing(
      `The remote ${remote} of ${folder} has an address Squad cannot push to: ${shownAddress(written)}`,
      [
        'It must be an https, ssh or file address that ends in owner/repository: `git remote set-url` changes it.',
      ],
    );
  const { owner, name, url } = parsed;
  return { owner, name, url, remote, apiUrl: apiUrlOf(parsed, access.apiUrl) };
}

interface Remotes {
  /** Name → where pushes go. */
  urls: Map<string, string>;
  /** Branch → the remote it follows. */
  followed: Map<string, string>;
}

/** From `git config --list -z`: key, line break, value. Of several values git pushes to each; the first counts here. */
function remotesIn(list: string): Remotes {
  const urls = new Map<string, string>();
  const pushUrls = new Map<string, string>();
  const followed = new Map<string, string>();
  for (const entry of list.split('\0')) {
    const [, section, name, key, value] = /^(remote|branch)\.(.+)\.([^.\n]+)\n(.*)$/s.exec(entry) ?? [];
    if (!name || !value) continue;
    if (section === 'branch' && key === 'remote') followed.set(name, value);
    if (section === 'remote' && key === 'url' && !urls.has(name)) urls.set(name, value);
    if (section === 'remote' && key === 'pushurl' && !pushUrls.has(name)) pushUrls.set(name, value);
  }
  for (const [name, url] of pushUrls) if (urls.has(name)) urls.set(name, url);
  return { urls, followed };
}

async function chosen(git: Git, { urls, followed }: Remotes, folder: string): Promise<string> {
  if (urls.has('origin')) return 'origin';
  const names = [...urls.keys()];
  if (names.length === 1) return names[0]!;
  if (names.length === 0)
    throw missing(`The repository at ${folder} has no remote`, [
      'Add one, for example `git remote add origin https://github.com/OWNER/REPOSITORY.git`, then ask again.',
    ]);
  // Exits with 1 when no branch is checked out.
  const branch = await git.run(['symbolic-ref', '--quiet', '--short', 'HEAD'], { codes: [1] });
  const upstream = followed.get(String(branch).trim());
  if (upstream !== undefined && urls.has(upstream)) return upstream;
  throw missing(
    `The repository at ${folder} has the remotes ${names.join(', ')}, and none is called origin`,
    [
      'Name one of them origin (`git remote rename`), or let the checked-out branch follow one (`git branch --set-upstream-to`).',
    ],
  );
}

const read = async (git: Git, args: string[], folder: string): Promise<string> =>
  String(
    await git.run(args).catch(thrown => {
      throw asGitError(thrown, folder);
    }),
  );

const missing = (message: string, suggestions: string[]): SquadError =>
  new SquadError('REMOTE_MISSING', message, { suggestions });
