/** `npm run check`: finds words that this project does not use, because a standard word says the same. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** Banned words, each with the words to use instead. */
const BANNED: [RegExp, string][] = [
  [/\bat work\b/i, 'running'],
  // "go on with" is allowed in descriptions of tools, which are pinned: "Chat to go on with", "go on with next_offset",
  // "go on with get_result".
  [/(?<!Chat to )\b(go|goes|going|gone|went) on with\b(?! (next_offset|get_result)\b)/i, 'continue, resume'],
  [/\b(is|are|was|were|be|been|being) told\b/i, 'is reported, notified, logged'],
  [/\btold (of|that|apart)\b/i, 'reported, notified, distinguished'],
  [/\bmend(s|ed|ing)?\b/i, 'fix, repair'],
  [/\bput right\b/i, 'fix, repair'],
  [/\b(lay|lays|laid) down\b/i, 'create, write'],
  // 'greet' in quotes is allowed, because samples name a prompt or a tool so.
  [/(?<!['`])\bgreet\b|\bgreet(s|ed|ing)\b/i, 'handshake'],
  // `trouble` is allowed as a field of list_worktrees.
  [/\btroubles?\b(?!: (z\.|error\b))/i, 'error, problem'],
  [/\bwish(es|ed)?\b/i, 'request'],
  [/\bdepartures?\b/i, 'disconnects'],
  [/\bfuses?\b/i, 'spawn limit, rate limit'],
  [/\bforges?\b/i, 'Git host; fake, for a verb'],
  [/\bvitals\b/i, 'process stats'],
  [/\btorn\b/i, 'interrupted'],
  // `squad-former-` is allowed, because it is a file name on disk.
  [/(?<!squad-)\bformer\b/i, 'previous'],
  [/\b(MOST|LONGEST|MANY)_[A-Z]|PATIENCE|A_MOMENT/, 'MAX_X, X_TIMEOUT_MS'],
  [/\bwordsOf|[a-z]Words\b/, 'text, message, describe…'],
  [/\b(sight|lookAt|lookOf)|[a-z]Sight\b/, 'visibility; read, inspect; style'],
];

/**
 * Files that are not checked: decisions, which are never edited; pins and recorded output, which are quoted; tests
 * whose tool names the official MCP runner prescribes; and this file.
 */
const EXEMPT =
  /^(docs\/decisions\/|test\/pins\/|test\/fixtures\/|test\/conformance\/(asking|task)-tools\.ts|package-lock\.json|scripts\/check-words\.ts)|\/fixtures\/|\/corpus\//;

const files = execFileSync('git', ['ls-files', '*.ts', '*.tsx', '*.md', '*.css', '*.sh', '*.yml'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter(file => file && !EXEMPT.test(file));

const found = files.flatMap(file =>
  readFileSync(join(root, file), 'utf8')
    .split('\n')
    .flatMap((line, at) =>
      BANNED.filter(([word]) => word.test(line)).map(
        ([word, instead]) => `${file}:${at + 1}: "${word.exec(line)![0]}" → ${instead}`,
      ),
    ),
);
for (const line of found) console.error(line);
if (found.length > 0) {
  console.error(`${found.length} banned words. Use the word that git, docker or Node has for it.`);
  process.exitCode = 1;
}
