import type { GitHostAccess, HostedRepository } from '../core/ports/git-host.ts';
import { SquadError } from '../schema/error.ts';
import { asGitError, type Git, type OpenGit } from './git.ts';
import { apiUrlOf, parseRemoteUrl, shownAddress } from './remote-url.ts';

/**
 * The repository of the remote `origin`. Without it, that of the only remote, or of the remote that the checked-out
 * branch tracks.
 */
export async function findRepository(
  openGit: OpenGit,
  folder: string,
  access: GitHostAccess,
): Promise<HostedRepository> {
  const git = await openGit(folder, access.env).catch(thrown => {
    throw asGitError(thrown, folder);
  });
  const remotes = remotesIn(await read(git, ['config', '--list', '-z'], folder));
  const remote = await chosen(git, remotes, folder);
  const written = remotes.urls.get(remote)!;
  const parsed = parseRemoteUrl(written, git.folder.root);
  if (!parsed)
    throw missing(
      `The remote ${remote} of ${folder} has an address that Squad cannot push to: ${shownAddress(written)}`,
      [
        'It must be an https, ssh or file address that ends in owner/repository: `git remote set-url` changes it.',
      ],
    );
  const { owner, name, url } = parsed;
  return { owner, name, url, remote, apiUrl: apiUrlOf(parsed, access.apiUrl) };
}

interface Remotes {
  /** Maps a remote to its push URL. */
  urls: Map<string, string>;
  /** Maps a branch to the remote that it tracks. */
  tracked: Map<string, string>;
}

/** Parses `git config --list -z`: key, newline, value. Git pushes to every URL of a remote; Squad uses the first. */
function remotesIn(list: string): Remotes {
  const urls = new Map<string, string>();
  const pushUrls = new Map<string, string>();
  const tracked = new Map<string, string>();
  for (const entry of list.split('\0')) {
    const [, section, name, key, value] = /^(remote|branch)\.(.+)\.([^.\n]+)\n(.*)$/s.exec(entry) ?? [];
    if (!name || !value) continue;
    if (section === 'branch' && key === 'remote') tracked.set(name, value);
    if (section === 'remote' && key === 'url' && !urls.has(name)) urls.set(name, value);
    if (section === 'remote' && key === 'pushurl' && !pushUrls.has(name)) pushUrls.set(name, value);
  }
  for (const [name, url] of pushUrls) if (urls.has(name)) urls.set(name, url);
  return { urls, tracked };
}

async function chosen(git: Git, { urls, tracked }: Remotes, folder: string): Promise<string> {
  if (urls.has('origin')) return 'origin';
  const names = [...urls.keys()];
  if (names.length === 1) return names[0]!;
  if (names.length === 0)
    throw missing(`The repository at ${folder} has no remote`, [
      'Add one, for example `git remote add origin https://github.com/OWNER/REPOSITORY.git`, then retry.',
    ]);
  // This git command exits with 1 when no branch is checked out.
  const branch = await git.run(['symbolic-ref', '--quiet', '--short', 'HEAD'], { codes: [1] });
  const upstream = tracked.get(String(branch).trim());
  if (upstream !== undefined && urls.has(upstream)) return upstream;
  throw missing(
    `The repository at ${folder} has the remotes ${names.join(', ')}, and none is called origin`,
    [
      'Name one of them origin (`git remote rename`), or let the checked-out branch track one (`git branch --set-upstream-to`).',
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
