import { offThread } from '../../core/off-thread.ts';
import { isBinary, readWorkFile, statWorkFile } from '../files/file-stamp.ts';
import { pathText } from '../files/path-text.ts';

/** As big as what git shows: see `core.bigFileThreshold` in git.ts. */
const LARGEST_SHOWN = 8 * 1024 * 1024;
const LINK = 0o120000n;
const KIND = 0o170000n;

/** A file git does not track, as the diff that would add it. */
export async function newFileDiff(root: string, path: string): Promise<Buffer> {
  const name = pathText(path);
  const stat = await statWorkFile(root, path);
  if (!stat) return Buffer.from(`# ${name} is gone\n`);
  if (stat.isDirectory())
    return Buffer.from(`# ${name} is a repository of its own, which is not looked into\n`);
  const content = await readWorkFile(root, path, LARGEST_SHOWN);
  if (!content)
    return Buffer.from(`# ${name} is new: ${stat.size} bytes, too many to show, or not readable\n`);

  const mode = (stat.mode & KIND) === LINK ? '120000' : stat.mode & 0o100n ? '100755' : '100644';
  const head = `diff --git ${prefixed('a', name)} ${prefixed('b', name)}\nnew file mode ${mode}\n`;
  if (content.length === 0) return Buffer.from(head);
  if (isBinary(content))
    return Buffer.from(`${head}Binary files /dev/null and ${prefixed('b', name)} differ\n`);
  const { lines, body } = await offThread('new file', addedLines, content.length, content);
  const range = lines === 1 ? '+1' : `+1,${lines}`;
  return Buffer.concat([
    Buffer.from(`${head}--- /dev/null\n+++ ${prefixed('b', name)}\n@@ -0,0 ${range} @@\n`),
    body,
  ]);
}

/** The content as lines of a diff, and how many. */
export function addedLines(content: Uint8Array): { lines: number; body: Uint8Array } {
  const text = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('latin1');
  const isWhole = text.endsWith('\n');
  const lines = (isWhole ? text.slice(0, -1) : text).split('\n');
  const body = `+${lines.join('\n+')}\n${isWhole ? '' : '\\ No newline at end of file\n'}`;
  return { lines: lines.length, body: Buffer.from(body, 'latin1') };
}

const prefixed = (side: string, name: string): string =>
  name.startsWith('"') ? `"${side}/${name.slice(1)}` : `${side}/${name}`;
