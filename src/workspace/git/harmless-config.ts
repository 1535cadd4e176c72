/** One setting of a git configuration, one character for each byte. Null: it has a name and no value, which is true. */
export interface Setting {
  key: string;
  value: string | null;
}

/** From `git config --list -z`. */
export function settingsIn(list: Buffer): Setting[] {
  const entries = list.toString('latin1').split('\0').slice(0, -1);
  return entries.map(entry => {
    const at = entry.indexOf('\n');
    return at === -1 ? { key: entry, value: null } : { key: entry.slice(0, at), value: entry.slice(at + 1) };
  });
}

/** What of a repository's configuration our git is told: nothing that names a program, a work tree or another file of settings. */
export function harmless(settings: readonly Setting[]): Setting[] {
  return settings.flatMap(({ key, value }) => {
    if (PLAIN.has(key) || NAMED.test(key)) return [{ key, value }];
    if (/^extensions\.[^.]+$/.test(key) && key !== WORKTREE_CONFIG) return [{ key, value }];
    // That there is a driver counts: what it would merge is a conflict, for somebody to merge by hand.
    return /^merge\..*\.driver$/s.test(key) ? [{ key, value: 'false' }] : [];
  });
}

/** What one work tree alone may say. */
export const harmlessInWorktree = (settings: readonly Setting[]): Setting[] =>
  harmless(settings).filter(({ key }) => !FORMAT.test(key));

export const hasWorktreeConfig = (settings: readonly Setting[]): boolean => {
  const last = settings.findLast(({ key }) => key === WORKTREE_CONFIG);
  return last !== undefined && (last.value === null || /^(true|yes|on|[1-9]\d*)$/i.test(last.value));
};

/** As a file that git reads back to the same. */
export const configText = (settings: readonly Setting[]): string =>
  settings.map(({ key, value }) => `${header(key)}\n\t${nameOf(key)}${quoted(value)}\n`).join('');

const WORKTREE_CONFIG = 'extensions.worktreeconfig';
const FORMAT = /^(extensions\.|core\.(bare|repositoryformatversion)$)/;
const NAMED = /^(remote\..+\.(url|pushurl|promisor|partialclonefilter)|branch\..+\.remote)$/s;
const PLAIN = new Set([
  ...['user.name', 'user.email', 'index.sparse'],
  ...['merge.renames', 'merge.renamelimit', 'merge.directoryrenames', 'merge.renormalize'],
  ...[
    ...['repositoryformatversion', 'bare', 'filemode', 'symlinks', 'ignorecase', 'precomposeunicode'],
    ...['protecthfs', 'protectntfs', 'trustctime', 'checkstat', 'autocrlf', 'eol', 'safecrlf'],
    ...['sparsecheckout', 'sparsecheckoutcone', 'logallrefupdates', 'sharedrepository', 'usereplacerefs'],
    ...['excludesfile', 'attributesfile'],
  ].map(name => `core.${name}`),
]);

const nameOf = (key: string): string => key.slice(key.lastIndexOf('.') + 1);

function header(key: string): string {
  const first = key.indexOf('.');
  const last = key.lastIndexOf('.');
  if (first === last) return `[${key.slice(0, first)}]`;
  return `[${key.slice(0, first)} "${key.slice(first + 1, last).replaceAll(/["\\]/g, '\\$&')}"]`;
}

const quoted = (value: string | null): string =>
  value === null ? '' : ` = "${value.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;
